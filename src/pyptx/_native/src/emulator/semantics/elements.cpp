#include "elements.h"

namespace pyptx::emulator {
namespace {

constexpr Multiplied kMultiplied[] = {
    {"f16", 16, [](uint32_t b) { return small_float(b, 5, 10, Specials::Infinities); }},
    {"bf16", 16, [](uint32_t b) { return static_cast<double>(bits_as<float>(b << 16)); }},
    {"tf32", 32, [](uint32_t b) { return static_cast<double>(bits_as<float>(b & 0xffffe000u)); }},
    {"e4m3", 8, [](uint32_t b) { return small_float(b, 4, 3, Specials::OneNan); }},
    {"e5m2", 8, [](uint32_t b) { return small_float(b, 5, 2, Specials::Infinities); }},
    {"s8", 8, [](uint32_t b) { return static_cast<double>(static_cast<int8_t>(b)); }},
    {"u8", 8, [](uint32_t b) { return static_cast<double>(b); }},
    {"s4", 4, [](uint32_t b) { return static_cast<double>(static_cast<int32_t>(b << 28) >> 28); }},
    {"u4", 4, [](uint32_t b) { return static_cast<double>(b); }},
    {"e2m1", 4, [](uint32_t b) { return small_float(b, 2, 1, Specials::None); }},
};

// e2m1 is in bits 2 to 5 of its byte.
constexpr Multiplied kInBytes[] = {
    {"e3m2", 8, [](uint32_t b) { return small_float(b & 0x3fu, 3, 2, Specials::None); }},
    {"e2m3", 8, [](uint32_t b) { return small_float(b & 0x3fu, 2, 3, Specials::None); }},
    {"e2m1", 8, [](uint32_t b) { return small_float(b >> 2 & 0xfu, 2, 1, Specials::None); }},
};

double ue8m0(uint32_t bits) {
  return bits == 0xffu ? std::nan("") : std::ldexp(1.0, static_cast<int>(bits) - 127);
}

double ue4m3(uint32_t bits) { return small_float(bits & 0x7fu, 4, 3, Specials::OneNan); }

}  // namespace

const Multiplied* multiplied(std::string_view name) {
  for (const Multiplied& type : kMultiplied) {
    if (type.name == name) return &type;
  }
  return nullptr;
}

const Multiplied* multiplied_in_bytes(std::string_view name) {
  for (const Multiplied& type : kInBytes) {
    if (type.name == name) return &type;
  }
  return name == "e4m3" || name == "e5m2" ? multiplied(name) : nullptr;
}

Factor factor(std::string_view name) { return name == "ue8m0" ? ue8m0 : name == "ue4m3" ? ue4m3 : nullptr; }

bool read_sum(std::string_view name, Sum* sum) {
  *sum = name == "f16" ? Sum::F16 : name == "f32" ? Sum::F32 : Sum::S32;
  return *sum != Sum::S32 || name == "s32";
}

uint16_t to_half(double x) {
  const uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  if (x != x) return 0x7fff;
  const double size = std::fabs(x);
  if (size >= 65520.0) return sign | 0x7c00;
  const int exponent = size < 0x1p-14 ? -14 : std::ilogb(size);
  const auto digits = static_cast<uint32_t>(std::nearbyint(std::ldexp(size, 10 - exponent)));
  // A carry out of the digits raises the exponent by itself; subnormals have exponent field 0.
  return static_cast<uint16_t>(sign | ((static_cast<uint32_t>(exponent + 14) << 10) + digits));
}

uint32_t rounded(Sum type, bool satfinite, double sum) {
  if (type == Sum::F16) return to_half(sum);
  if (type == Sum::F32) return bits_as<uint32_t>(canonical(static_cast<float>(sum)));
  if (satfinite) sum = std::fmin(std::fmax(sum, -2147483648.0), 2147483647.0);
  return static_cast<uint32_t>(static_cast<int64_t>(sum));
}

double addend(Sum type, uint32_t bits) {
  if (type == Sum::F16) return small_float(bits & 0xffffu, 5, 10, Specials::Infinities);
  return type == Sum::F32 ? static_cast<double>(bits_as<float>(bits)) : static_cast<double>(static_cast<int32_t>(bits));
}

}  // namespace pyptx::emulator
