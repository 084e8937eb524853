#include "tcgen05_descriptor.h"

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

// Table "Various combinations of .kind and shapes".
std::string wrong_rows(const TensorForm& form, unsigned m) {
  struct Row {
    bool stationary, scaled;
    unsigned ctas;
    std::vector<unsigned> rows;
    const char* note;
  };
  static const Row kRows[] = {
      {true, false, 1, {32, 64, 128}, ".ws has 32, 64 and 128"},
      {false, false, 1, {64, 128}, "a CTA has 64 and 128"},
      {false, false, 2, {128, 256}, "a pair of CTAs has 128 and 256"},
      {false, true, 1, {128}, "a CTA has 128"},
      {false, true, 2, {128, 256}, "a pair of CTAs has 128 and 256"},
  };
  const bool scaled = form.kind->blocks != 0;
  if (scaled && form.sparse && form.ctas == 2 && m == 128) return "M=128; a pair of CTAs has 256 of a sparse A";
  for (const Row& row : kRows) {
    if (row.stationary != form.stationary || row.scaled != scaled || row.ctas != form.ctas) continue;
    if (std::count(row.rows.begin(), row.rows.end(), m) == 0) return "M=" + std::to_string(m) + "; " + row.note;
  }
  return "";
}

std::string wrong_columns(const TensorForm& form, unsigned n) {
  const std::string prefix = "N=" + std::to_string(n) + "; ";
  if (form.stationary) {
    const bool fits = n == 64 || n == 128 || (n == 256 && !form.sparse);
    return fits ? "" : prefix + (form.sparse ? ".ws has 64 and 128 of a sparse A" : ".ws has 64, 128 and 256");
  }
  const unsigned step = form.ctas == 1 ? 8 : form.kind->integers ? 32 : 16;
  const bool split = form.ctas == 1 && form.kind->integers;  // larger steps above 24
  const bool fits = n != 0 && n <= 256 && n % step == 0 && (!split || n % 16 == 0 || n <= 24);
  if (fits) return "";
  return prefix + "there are multiples of " + std::to_string(step) + " up to 256" + (split ? ", above 24 of 16" : "");
}

// How D lies in the lanes.
void set_data_path(const TensorForm& form, TensorShape* out) {
  const bool spread = form.stationary || (form.ctas == 2 && !form.sparse);
  if (out->rows() == 128) return;
  if (spread) out->parts = 128 / out->rows();
  else out->halves = true;
}

// What a sparse A has beside its fields. Where its metadata lie with 64 rows in a CTA, and what else a selector
// selects, only figures show.
std::string wrong_sparsity(const TensorForm& form, const TensorShape& d) {
  if (d.halves) return "M=" + std::to_string(d.m) + " of a sparse A, which the emulator does not run";
  const bool selects = d.a.bits() >= 16;
  if (d.selector == 0 || (selects && d.selector == 1)) return "";
  if (!selects) return "a sparsity selector, which " + std::string(form.kind->name) + " does not have";
  return "sparsity selector " + std::to_string(d.selector) + ", which the emulator does not run";
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

std::string wrong_fields(const TensorForm& form, bool sparse, uint32_t reserved, uint32_t elsewhere, uint32_t bits) {
  if ((bits & reserved) != 0) return "bits in places that no field has";
  if (sparse != form.sparse) return sparse ? "fields of .sp" : "no bit that A is sparse, which .sp says";
  return (bits & elsewhere) != 0 ? "fields of .sp or .ws" : "";
}

std::string read_plain(const TensorForm& form, uint32_t bits, TensorShape* out) {
  const TensorKind& kind = *form.kind;
  const uint32_t elsewhere = (form.sparse ? 0 : 3u) | (form.stationary ? 0 : 3u << 30);
  std::string wrong = wrong_fields(form, field(bits, 2, 1) != 0, 1u << 6 | 1u << 23 | 1u << 29, elsewhere, bits);
  if (!wrong.empty()) return wrong;
  const auto sum = std::find_if(kind.sums.begin(), kind.sums.end(),
                                [&](const auto& s) { return s.first == field(bits, 4, 2); });
  if (sum == kind.sums.end()) return "a type of D that the kind does not have";
  wrong = read_multiplicands(kind, 3, bits, out);
  if (!wrong.empty()) return wrong;
  if (kind.name == "kind::f16" && out->a.type != out->b.type) return "A and B of two types";
  if (sum->second == Sum::F16 && out->a.type->name == "bf16") return "a sum of bf16 in f16";
  out->sum = sum->second;
  out->saturate = field(bits, 3, 1) != 0;
  if (out->saturate && !kind.integers) return "saturation, which integers alone have";
  out->m = field(bits, 24, 5) << 4;
  out->selector = field(bits, 0, 2);
  const unsigned shift = field(bits, 30, 2);
  out->most_shift = shift == 0 ? 0 : 4u << shift;
  return "";
}

// Where every element of a block is multiplied by a factor.
std::string read_scaled(const TensorForm& form, uint32_t bits, TensorShape* out) {
  const TensorKind& kind = *form.kind;
  const unsigned blocks = form.blocks;
  const bool four = !kind.in_bytes;
  const uint32_t reserved = 3u | 1u << 3 | 1u << 6 | 7u << 24 | (four ? 1u << 12 : 1u << 31);
  std::string wrong = wrong_fields(form, field(bits, 2, 1) != 0, reserved, 0, bits);
  if (!wrong.empty()) return wrong;
  if (four && field(bits, 31, 1) != 0) return "K=96, which the emulator does not run";
  wrong = read_multiplicands(kind, four ? 2 : 3, bits, out);
  if (!wrong.empty()) return wrong;
  out->factor = factor(field(bits, 23, 1) != 0 ? "ue8m0" : "ue4m3");
  out->least_factor = field(bits, 23, 1) != 0 ? -127 : -6;
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

std::string read_tensor_shape(const TensorForm& form, uint32_t bits, TensorShape* out) {
  std::string wrong = form.kind->blocks != 0 ? read_scaled(form, bits, out) : read_plain(form, bits, out);
  if (wrong.empty()) wrong = wrong_rows(form, out->m);
  if (wrong.empty()) wrong = wrong_columns(form, out->n);
  if (wrong.empty()) wrong = wrong_major(out->a, "A");
  if (wrong.empty()) wrong = wrong_major(out->b, "B");
  if (!wrong.empty()) return wrong;
  out->ctas = form.ctas;
  if (form.sparse) out->b.bytes = 2 * kTensorKBytes;
  set_data_path(form, out);
  if (out->b.columns && out->b.bits() == 8 && out->lines() % 16 != 0) {
    return "B of bytes transposed with N no multiple of " + std::to_string(16 * form.ctas);
  }
  return form.sparse ? wrong_sparsity(form, *out) : "";
}

}  // namespace pyptx::emulator
