#include "tensor_descriptor.h"

#include <algorithm>
#include <iterator>

namespace pyptx::emulator {
namespace {

const std::vector<TensorType> kNarrow = {
    {0, "e4m3", 0}, {1, "e5m2", 0}, {3, "e2m3", 6}, {4, "e3m2", 6}, {5, "e2m1", 4}};
const std::vector<std::pair<uint32_t, Sum>> kFloats = {{0, Sum::F16}, {1, Sum::F32}};

const TensorKind kKinds[] = {
    {"kind::f16", {{0, "f16", 0}, {1, "bf16", 0}}, kFloats, false, false, 0},
    {"kind::tf32", {{2, "tf32", 0}}, {{1, Sum::F32}}, false, false, 0},
    {"kind::f8f6f4", kNarrow, kFloats, false, true, 0},
    {"kind::i8", {{0, "u8", 0}, {1, "s8", 0}}, {{2, Sum::S32}}, true, false, 0},
    {"kind::mxf8f6f4", kNarrow, {}, false, true, 1},
    {"kind::mxf4", {{1, "e2m1", 0}}, {}, false, false, 2},
    {"kind::mxf4nvf4", {{1, "e2m1", 0}}, {}, false, false, 4},
};

uint32_t field(uint32_t bits, unsigned first, unsigned count) { return bits >> first & ((1u << count) - 1); }

bool find_type(const TensorKind& kind, uint32_t code, TensorMultiplicand* out) {
  for (const TensorType& row : kind.types) {
    if (row.code != code) continue;
    out->type = kind.in_bytes ? multiplied_in_bytes(row.name) : multiplied(row.name);
    out->packed = row.packed;
    return true;
  }
  return false;
}

std::string wrong_size(const TensorKind& kind, const TensorShape& d) {
  const bool scaled = kind.blocks != 0;
  if (d.m != 128 && (scaled || d.m != 64)) {
    return "M=" + std::to_string(d.m) + "; a CTA has " + (scaled ? "" : "64 and ") + "128";
  }
  const bool integer_step = d.n % 16 == 0 || d.n == 8 || d.n == 24;
  if (d.n != 0 && d.n <= 256 && (!kind.integers || integer_step)) return "";
  return "N=" + std::to_string(d.n) + "; there are multiples of 8 up to 256" + (kind.integers ? ", above 24 of 16" : "");
}

std::string wrong_major(const TensorMultiplicand& x, const char* what) {
  if (!x.columns) return "";
  if (x.packed != 0 || x.bits() < 8) {
    return std::string(what) + " transposed, which elements of fewer than 8 bits are not";
  }
  if (x.bits() == 32) return std::string(what) + " transposed, which of tf32 the emulator does not run";
  return "";
}

// Types, signs and majors, which all kinds have in the same places, but for B's type.
std::string read_multiplicands(const TensorKind& kind, unsigned b_bits, uint32_t bits, TensorShape* out) {
  if (!find_type(kind, field(bits, 7, 3), &out->a)) return "a type of A that the kind does not have";
  if (!find_type(kind, field(bits, 10, b_bits), &out->b)) return "a type of B that the kind does not have";
  if (field(bits, 13, 2) != 0 && kind.integers) return "negation, which integers do not have";
  out->a.sign = field(bits, 13, 1) != 0 ? -1 : 1;
  out->b.sign = field(bits, 14, 1) != 0 ? -1 : 1;
  out->a.columns = field(bits, 15, 1) != 0;
  out->b.columns = field(bits, 16, 1) != 0;
  out->n = field(bits, 17, 6) << 3;
  return "";
}

std::string read_plain(const TensorKind& kind, uint32_t bits, TensorShape* out) {
  constexpr uint32_t kReserved = 1u << 6 | 1u << 23 | 1u << 29, kElsewhere = 7u | 3u << 30;  // of .sp and .ws
  if ((bits & kReserved) != 0) return "bits in places that no field has";
  if ((bits & kElsewhere) != 0) return "fields of .sp or .ws";
  const auto sum = std::find_if(kind.sums.begin(), kind.sums.end(),
                                [&](const auto& s) { return s.first == field(bits, 4, 2); });
  if (sum == kind.sums.end()) return "a type of D that the kind does not have";
  const std::string wrong = read_multiplicands(kind, 3, bits, out);
  if (!wrong.empty()) return wrong;
  if (kind.name == "kind::f16" && out->a.type != out->b.type) return "A and B of two types";
  if (sum->second == Sum::F16 && out->a.type->name == "bf16") return "a sum of bf16 in f16";
  out->sum = sum->second;
  out->saturate = field(bits, 3, 1) != 0;
  if (out->saturate && !kind.integers) return "saturation, which integers alone have";
  out->m = field(bits, 24, 5) << 4;
  return "";
}

// Where every element of a block is multiplied by a factor.
std::string read_scaled(const TensorKind& kind, unsigned blocks, uint32_t bits, TensorShape* out) {
  const bool four = !kind.in_bytes;
  const uint32_t reserved = 3u | 1u << 3 | 1u << 6 | 7u << 24 | (four ? 1u << 12 : 1u << 31);
  if ((bits & reserved) != 0) return "bits in places that no field has";
  if (field(bits, 2, 1) != 0) return "fields of .sp";
  if (four && field(bits, 31, 1) != 0) return "K=96, which the emulator does not run";
  const std::string wrong = read_multiplicands(kind, four ? 2 : 3, bits, out);
  if (!wrong.empty()) return wrong;
  out->factor = factor(field(bits, 23, 1) != 0 ? "ue8m0" : "ue4m3");
  const bool fine = field(bits, 23, 1) != 0 || (kind.name == "kind::mxf4nvf4" && blocks == 4);
  if (!fine) return "factors of ue4m3, which " + std::string(kind.name) + " with so many does not have";
  out->b.factor_byte = field(bits, 4, 2);
  out->a.factor_byte = field(bits, 29, 2);
  if (out->a.factor_byte % blocks != 0 || out->b.factor_byte % blocks != 0) {
    return "a scale factor ID that is no multiple of " + std::to_string(blocks) + ", the factors of a row";
  }
  out->m = field(bits, 27, 2) << 7;
  return "";
}

}  // namespace

const TensorKind* tensor_kind(std::string_view name) {
  const auto found =
      std::find_if(std::begin(kKinds), std::end(kKinds), [&](const TensorKind& k) { return k.name == name; });
  return found == std::end(kKinds) ? nullptr : found;
}

std::string read_tensor_shape(const TensorKind& kind, unsigned blocks, uint32_t bits, TensorShape* out) {
  const std::string wrong = kind.blocks != 0 ? read_scaled(kind, blocks, bits, out) : read_plain(kind, bits, out);
  if (!wrong.empty()) return wrong;
  const std::string size = wrong_size(kind, *out);
  if (!size.empty()) return size;
  const std::string a = wrong_major(out->a, "A");
  if (!a.empty()) return a;
  if (out->b.columns && out->b.bits() == 8 && out->n % 16 != 0) return "B of bytes transposed with N no multiple of 16";
  return wrong_major(out->b, "B");
}

}  // namespace pyptx::emulator
