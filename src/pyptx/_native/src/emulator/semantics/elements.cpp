#include "elements.h"

namespace pyptx::emulator {
namespace {

double e4m3(uint32_t b) { return small_float(b & 0xffu, 4, 3, Specials::OneNan); }
double e5m2(uint32_t b) { return small_float(b & 0xffu, 5, 2, Specials::Infinities); }
double s8(uint32_t b) { return static_cast<double>(static_cast<int8_t>(b)); }
double u8(uint32_t b) { return static_cast<double>(b & 0xffu); }
double s4(uint32_t b) { return static_cast<double>(static_cast<int32_t>(b << 28) >> 28); }
double u4(uint32_t b) { return static_cast<double>(b & 0xfu); }
double e2m1(uint32_t b) { return small_float(b & 0xfu, 2, 1, Specials::None); }
double e3m2(uint32_t b) { return small_float(b & 0x3fu, 3, 2, Specials::None); }
double e2m3(uint32_t b) { return small_float(b & 0x3fu, 2, 3, Specials::None); }
double e2m1_in_byte(uint32_t b) { return e2m1(b >> 2); }
double f16(uint32_t b) { return small_float(b & 0xffffu, 5, 10, Specials::Infinities); }
double bf16(uint32_t b) { return static_cast<double>(bits_as<float>(b << 16)); }
double tf32(uint32_t b) { return static_cast<double>(bits_as<float>(b & 0xffffe000u)); }

// Numbers of up to a byte.
template <double (*kValue)(uint32_t)>
void of_bytes(const uint32_t* bits, float* out, size_t count) {
  struct Table {
    float at[256];
    Table() {
      for (uint32_t b = 0; b < 256; ++b) at[b] = static_cast<float>(kValue(b));
    }
  };
  static const Table table;
  for (size_t i = 0; i < count; ++i) out[i] = table.at[bits[i] & 0xffu];
}

// An e4m3, whose exponents are 120 less than those of f32, or as a fraction of its smallest normal number.
void of_e4m3(const uint32_t* bits, float* out, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const uint32_t size = bits[i] & 0x7fu;
    const auto tiny = bits_as<uint32_t>(static_cast<float>(static_cast<int32_t>(size)) * 0x1p-9f);
    const uint32_t number = (size < 8 ? tiny : (size << 20) + (120u << 23)) | (bits[i] & 0x80u) << 24;
    out[i] = bits_as<float>(size == 0x7fu ? 0x7fc00000u : number);
  }
}

// An f16 moved to the place of an f32, whose exponents are 112 more.
void of_halves(const uint32_t* bits, float* out, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const uint32_t size = bits[i] & 0x7fffu;
    const uint32_t number = bits_as<uint32_t>(bits_as<float>(size << 13) * 0x1p112f);
    const uint32_t special = 0x7f800000u | size << 13;
    out[i] = bits_as<float>((size >= 0x7c00u ? special : number) | (bits[i] & 0x8000u) << 16);
  }
}

void of_bf16(const uint32_t* bits, float* out, size_t count) {
  for (size_t i = 0; i < count; ++i) out[i] = bits_as<float>(bits[i] << 16);
}

void of_tf32(const uint32_t* bits, float* out, size_t count) {
  for (size_t i = 0; i < count; ++i) out[i] = bits_as<float>(bits[i] & 0xffffe000u);
}

constexpr Multiplied kMultiplied[] = {
    {"f16", 16, f16, -14, of_halves},       {"bf16", 16, bf16, -126, of_bf16}, {"tf32", 32, tf32, -126, of_tf32},
    {"e4m3", 8, e4m3, -6, of_e4m3},  {"e5m2", 8, e5m2, -14, of_bytes<e5m2>}, {"s8", 8, s8, 0, of_bytes<s8>},
    {"u8", 8, u8, 0, of_bytes<u8>},         {"s4", 4, s4, 0, of_bytes<s4>},    {"u4", 4, u4, 0, of_bytes<u4>},
    {"e2m1", 4, e2m1, 0, of_bytes<e2m1>},
};

// e2m1 is in bits 2 to 5 of its byte.
constexpr Multiplied kInBytes[] = {
    {"e3m2", 8, e3m2, -2, of_bytes<e3m2>},
    {"e2m3", 8, e2m3, 0, of_bytes<e2m3>},
    {"e2m1", 8, e2m1_in_byte, 0, of_bytes<e2m1_in_byte>},
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
