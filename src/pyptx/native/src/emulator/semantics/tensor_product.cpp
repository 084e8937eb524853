// tcgen05.mma of .kind::f16, tf32, f8f6f4 and i8 by one CTA (PTX ISA, "tcgen05.mma", "Instruction descriptor", "Data
// Path Layout Organization").
//
// The manual leaves the order and the precision of the additions open. Here they are those of mma (mma.cpp): exact
// products are added in double precision, in the order of k and D last, and the sum is rounded once, to nearest even.
#include <algorithm>
#include <cstring>

#include "tensor_core.h"

namespace pyptx::emulator {
namespace {

constexpr unsigned kKBytes = 32;  // of a row of A, or a column of B, with elements of fewer than 8 bits in bytes
constexpr unsigned kHalfLanes = 16;

// ---- What is multiplied ----------------------------------------------------------------------------------

struct TypeRow {
  uint32_t code;
  std::string_view name;
  unsigned packed;  // bits, where elements in shared memory are closer together than in a byte each
};
struct KindRow {
  std::string_view name;
  std::vector<TypeRow> types;
  std::vector<std::pair<uint32_t, Sum>> sums;
  bool integers;
};

const KindRow kKinds[] = {
    {"kind::f16", {{0, "f16", 0}, {1, "bf16", 0}}, {{0, Sum::F16}, {1, Sum::F32}}, false},
    {"kind::tf32", {{2, "tf32", 0}}, {{1, Sum::F32}}, false},
    {"kind::f8f6f4",
     {{0, "e4m3", 0}, {1, "e5m2", 0}, {3, "e2m3", 6}, {4, "e3m2", 6}, {5, "e2m1", 4}},
     {{0, Sum::F16}, {1, Sum::F32}},
     false},
    {"kind::i8", {{0, "u8", 0}, {1, "s8", 0}}, {{2, Sum::S32}}, true},
};

struct Multiplicand {
  const Multiplied* type = nullptr;
  unsigned packed = 0;
  bool columns = false;  // MN-major
  double sign = 1;

  unsigned bytes() const { return type->bits / 8; }
  unsigned k() const { return kKBytes / bytes(); }
};

// What an instruction descriptor says.
struct Described {
  unsigned m = 0, n = 0;
  Sum sum = Sum::F32;
  bool saturate = false;
  Multiplicand a, b;
};

bool find_type(const KindRow& kind, uint32_t code, Multiplicand* out) {
  for (const TypeRow& row : kind.types) {
    if (row.code != code) continue;
    out->type = kind.name == "kind::f8f6f4" ? multiplied_in_bytes(row.name) : multiplied(row.name);
    out->packed = row.packed;
    return true;
  }
  return false;
}

// "" for a shape that there is.
std::string wrong_shape(const KindRow& kind, const Described& d) {
  if (d.m != 64 && d.m != 128) return "M=" + std::to_string(d.m) + "; a CTA has 64 and 128";
  const bool integer_step = d.n % 16 == 0 || d.n == 8 || d.n == 24;
  const unsigned step = d.m == 128 ? 16 : 8;
  if (d.n >= step && d.n <= 256 && d.n % step == 0 && (!kind.integers || integer_step)) return "";
  return "N=" + std::to_string(d.n) + " with M=" + std::to_string(d.m) + "; there are multiples of " +
         std::to_string(step) + " up to 256" + (kind.integers && step == 8 ? ", above 24 of 16" : "");
}

std::string wrong_major(const Multiplicand& x, const char* what) {
  if (!x.columns) return "";
  if (x.packed != 0) return std::string(what) + " transposed, which elements of fewer than 8 bits are not";
  if (x.type->bits == 32) return std::string(what) + " transposed, which of tf32 the emulator does not run";
  return "";
}

// The fields of an instruction descriptor; what is wrong with it, "" if nothing is.
std::string describe(const KindRow& kind, uint32_t bits, Described* out) {
  constexpr uint32_t kReserved = 1u << 6 | 1u << 23 | 1u << 29, kElsewhere = 7u | 3u << 30;  // of .sp and .ws
  if ((bits & kReserved) != 0) return "bits in places that no field has";
  if ((bits & kElsewhere) != 0) return "fields of .sp or .ws";
  const auto sum = std::find_if(kind.sums.begin(), kind.sums.end(),
                                [&](const auto& s) { return s.first == (bits >> 4 & 3u); });
  if (sum == kind.sums.end()) return "a type of D that the kind does not have";
  if (!find_type(kind, bits >> 7 & 7u, &out->a)) return "a type of A that the kind does not have";
  if (!find_type(kind, bits >> 10 & 7u, &out->b)) return "a type of B that the kind does not have";
  if (kind.name == "kind::f16" && out->a.type != out->b.type) return "A and B of two types";
  if (sum->second == Sum::F16 && out->a.type->name == "bf16") return "a sum of bf16 in f16";
  out->sum = sum->second;
  out->saturate = (bits >> 3 & 1u) != 0;
  if (out->saturate && !kind.integers) return "saturation, which integers alone have";
  if ((bits >> 13 & 3u) != 0 && kind.integers) return "negation, which integers do not have";
  out->a.sign = (bits >> 13 & 1u) != 0 ? -1 : 1;
  out->b.sign = (bits >> 14 & 1u) != 0 ? -1 : 1;
  out->a.columns = (bits >> 15 & 1u) != 0;
  out->b.columns = (bits >> 16 & 1u) != 0;
  out->n = (bits >> 17 & 0x3fu) << 3;
  out->m = (bits >> 24 & 0x1fu) << 4;
  const std::string shape = wrong_shape(kind, *out);
  if (!shape.empty()) return shape;
  const std::string a = wrong_major(out->a, "A");
  if (!a.empty()) return a;
  if (out->b.columns && out->b.type->bits == 8 && out->n % 16 != 0) {
    return "B of bytes transposed with N no multiple of 16";
  }
  return wrong_major(out->b, "B");
}

// ---- Multiplying -----------------------------------------------------------------------------------------

struct Product : TensorWork {
  Cta* cta = nullptr;
  Described what;
  TensorAddress d{}, a{};
  bool a_in_memory = false;  // in Tensor Memory
  std::vector<uint32_t> a_places, b_places;  // in shared memory
  bool accumulates = false;
  int shift = 0;  // D is divided by 2 ** shift
  uint32_t disabled[4] = {};  // lanes that are not written

  unsigned lane_of(unsigned row) const {
    return what.m == 128 ? row : d.lane + row / kHalfLanes * kQuarterLanes + row % kHalfLanes;
  }
  void perform() override;
};

uint32_t bits_at(const uint8_t* place, unsigned bytes) {
  uint32_t bits = 0;
  std::memcpy(&bits, place, bytes);
  return bits;
}

// Element e of a chunk of 16 bytes. Closer elements stand in its first bytes.
double value_at(const uint8_t* chunk, unsigned e, const Multiplicand& x) {
  if (x.packed == 0) return x.sign * x.type->value(bits_at(chunk + e * x.bytes(), x.bytes()));
  const unsigned first = e * x.packed;
  const uint32_t bits = bits_at(chunk + first / 8, 2) >> first % 8 & ((1u << x.packed) - 1);
  return x.sign * x.type->value(x.packed == 4 ? bits << 2 : bits);  // where a byte alone has it
}

// A multiplicand's values, K by K: those of `count` rows of A, or columns of B.
std::vector<double> shared_values(const Cta& cta, const std::vector<uint32_t>& places, const Multiplicand& x,
                                  unsigned count) {
  const unsigned each = kChunk / x.bytes();
  const size_t chunks = (x.columns ? count : x.k()) / each;
  std::vector<double> values(size_t{x.k()} * count);
  for (size_t i = 0; i < places.size(); ++i) {
    const size_t line = i / chunks, first = i % chunks * each;
    for (unsigned e = 0; e < each; ++e) {
      const size_t k = x.columns ? line : first + e, at = x.columns ? first + e : line;
      values[k * count + at] = value_at(cta.shared + places[i], e, x);
    }
  }
  return values;
}

// A in Tensor Memory: row by row in the lanes, elements beside each other in the columns.
std::vector<double> memory_values(TensorMemory& memory, const Product& p) {
  const Multiplicand& x = p.what.a;
  const unsigned per = 4 / x.bytes();
  std::vector<double> values(size_t{x.k()} * p.what.m);
  for (unsigned row = 0; row < p.what.m; ++row) {
    for (unsigned k = 0; k < x.k(); ++k) {
      const uint8_t* cell = reinterpret_cast<const uint8_t*>(&memory.at(p.lane_of(row), p.a.column + k / per));
      values[size_t{k} * p.what.m + row] = x.sign * x.type->value(bits_at(cell + k % per * x.bytes(), x.bytes()));
    }
  }
  return values;
}

void Product::perform() {
  TensorMemory& memory = tensor_memory(*cta);
  const size_t m = what.m, n = what.n;
  const std::vector<double> left =
      a_in_memory ? memory_values(memory, *this) : shared_values(*cta, a_places, what.a, what.m);
  const std::vector<double> right = shared_values(*cta, b_places, what.b, what.n);
  std::vector<double> sums(n);
  for (unsigned row = 0; row < what.m; ++row) {
    const unsigned lane = lane_of(row);
    if (disabled[lane / 32] >> lane % 32 & 1u) continue;
    std::fill(sums.begin(), sums.end(), 0.0);
    for (size_t k = 0; k < what.a.k(); ++k) {
      const double value = left[k * m + row];
      const double* column = &right[k * n];
      for (size_t i = 0; i < n; ++i) sums[i] += value * column[i];
    }
    for (unsigned i = 0; i < what.n; ++i) {
      uint32_t& cell = memory.at(lane, d.column + i);
      const double before = accumulates ? std::ldexp(addend(what.sum, cell), -shift) : 0.0;
      cell = rounded(what.sum, what.saturate, accumulates ? sums[i] + before : sums[i]);
    }
  }
}

// ---- Issuing ---------------------------------------------------------------------------------------------

struct ProductPlan {
  const KindRow* kind = nullptr;
  TensorPointer d, a;
  bool a_in_memory = false, masked = false;
  uint8_t a_slot = 0, b_slot = 0, idesc = 0, enable = 0, mask = 0;  // slots
  int shift = 0;
};

// The lanes and columns of an operand in Tensor Memory.
std::vector<TensorPlace> places_of(const Product& p, uint32_t column, uint32_t columns) {
  if (p.what.m == 128) return {{0, kTensorLanes, column, columns}};
  std::vector<TensorPlace> places;
  for (uint32_t q = 0; q < kWarpgroupWarps; ++q) {
    places.push_back({p.d.lane + q * kQuarterLanes, kHalfLanes, column, columns});
  }
  return places;
}

bool find_multiplicand(Warp& w, const Instruction& in, unsigned lane, uint64_t descriptor, const char* name,
                       const Multiplicand& x, unsigned count, std::vector<uint32_t>* places) {
  SharedMatrix matrix;
  if (!read_tensor_matrix(w, in, lane, descriptor, name, &matrix)) return false;
  const uint32_t each = kChunk / x.bytes();
  const ChunkRange range =
      x.columns ? ChunkRange{0, count / each, 0, x.k()} : ChunkRange{0, kKBytes / kChunk, 0, count};
  return find_chunks(w, in, matrix, x.columns, range, places);
}

bool check_alignment(Warp& w, const Instruction& in, unsigned lane, const Product& p) {
  const bool half = p.what.m == 64;
  if (p.d.lane != 0 && !(half && p.d.lane == kHalfLanes)) {
    wrong_tensor_memory(w, in, lane, "D begins in lane " + std::to_string(p.d.lane) + "; with M=" +
                                         std::to_string(p.what.m) + (half ? " lanes 0 and 16 do" : " lane 0 does"));
    return false;
  }
  if (!p.a_in_memory || p.a.lane == p.d.lane) return true;
  wrong_tensor_memory(w, in, lane,
                      "A begins in lane " + std::to_string(p.a.lane) + ", D in lane " + std::to_string(p.d.lane));
  return false;
}

bool read_product(Warp& w, const Instruction& in, unsigned lane, Product* p) {
  const auto& plan = *static_cast<const ProductPlan*>(in.plan);
  const uint32_t bits = held<uint32_t>(w, in, plan.idesc)[lane];
  const std::string wrong = describe(*plan.kind, bits, &p->what);
  if (!wrong.empty()) {
    wrong_matrix(w, in, lane, "its instruction descriptor has " + wrong);
    return false;
  }
  p->cta = w.cta;
  p->a_in_memory = plan.a_in_memory;
  p->d = address_of(w, in, plan.d, lane);
  if (plan.a_in_memory) p->a = address_of(w, in, plan.a, lane);
  p->accumulates = predicate(w, in, plan.enable) >> lane & 1u;
  p->shift = plan.shift;
  for (unsigned i = 0; plan.masked && i < 4; ++i) p->disabled[i] = held<uint32_t>(w, in, plan.mask + i)[lane];
  if (!check_alignment(w, in, lane, *p)) return false;
  const uint64_t b = held<uint64_t>(w, in, plan.b_slot)[lane];
  if (!find_multiplicand(w, in, lane, b, "B", p->what.b, p->what.n, &p->b_places)) return false;
  if (plan.a_in_memory) return true;
  const uint64_t a = held<uint64_t>(w, in, plan.a_slot)[lane];
  return find_multiplicand(w, in, lane, a, "A", p->what.a, p->what.m, &p->a_places);
}

// Lanes that disable-output-lane leaves out are not looked at apart.
void note_result(Warp& w, const Instruction& in, unsigned lane, const Product& p, const Operation& op) {
  TensorMemory& memory = tensor_memory(*w.cta);
  for (const TensorPlace& place : places_of(p, p.d.column, p.what.n)) {
    if (p.accumulates) check_tensor_written(w, in, lane, place);
    check_tensor(w, in, lane, place, TensorUse::Work, true, &op);
    for (uint32_t row = place.first_lane; row < place.first_lane + place.lanes; ++row) {
      if (p.disabled[row / 32] >> row % 32 & 1u) continue;
      std::fill_n(memory.written.begin() + static_cast<ptrdiff_t>(row * kTensorColumns + place.first_column),
                  place.columns, uint8_t{1});
    }
  }
}

template <bool kSanitized>
void issue_product(Warp& w, const Instruction& in, uint32_t mask) {
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
    auto product = std::make_shared<Product>();
    if (!read_product(w, in, lane, product.get())) return;
    const std::vector<TensorPlace> of_a =
        product->a_in_memory ? places_of(*product, product->a.column, kKBytes / 4) : std::vector<TensorPlace>();
    for (const TensorPlace& place : places_of(*product, product->d.column, product->what.n)) {
      if (!check_tensor_place(w, in, lane, place)) return;
    }
    for (const TensorPlace& place : of_a) {
      if (!check_tensor_place(w, in, lane, place)) return;
    }
    const OperationPointer op = new_operation(w, in, 1u << lane, Grouping::None);
    if (kSanitized) {
      order_tensor_work(w, lane, *op);
      for (const auto* places : {&product->a_places, &product->b_places}) {
        for (const uint32_t at : *places) check_copy_shared(w, in, *w.cta, at, kChunk, lane, false, true, *op);
      }
      for (const TensorPlace& place : of_a) {
        check_tensor_written(w, in, lane, place);
        check_tensor(w, in, lane, place, TensorUse::Work, false, op.get());
      }
      note_result(w, in, lane, *product, *op);
    }
    op->tensor = std::move(product);
    issue(w, op);
  }
}

// ---- Decoding --------------------------------------------------------------------------------------------

// {.collector::a::use}: whether what is multiplied is kept for the next product changes nothing here.
void skip_collector(Modifiers& m) {
  for (const char* use : {"fill", "use", "lastuse", "discard"}) {
    if (m.take("collector::a::" + std::string(use))) return;
  }
}

bool bind_lanes(Decoding& d, unsigned operand, ProductPlan* plan) {
  plan->masked = true;
  plan->mask = static_cast<uint8_t>(d.bound());
  for (unsigned e = 0; e < 4; ++e) {
    if (!d.bind_source(d.element(operand, e), 32, 32)) return false;
  }
  return true;
}

bool bind_slot(Decoding& d, unsigned operand, unsigned width, uint8_t* slot) {
  *slot = static_cast<uint8_t>(d.bound());
  return d.source(operand, width);
}

}  // namespace

// mma.cta_group.kind{.collector} [d], a-desc or [a], b-desc, idesc {, disable-output-lane}, enable-input-d {, scale}
Handler resolve_tensor_product(Decoding& d, Modifiers& m) {
  ProductPlan plan;
  if (!m.take("cta_group::1")) return nullptr;
  for (const KindRow& kind : kKinds) {
    if (m.take(kind.name)) plan.kind = &kind;
  }
  skip_collector(m);
  if (plan.kind == nullptr || !m.done() || d.operands.size() < 5) return nullptr;
  plan.a_in_memory = d.view(1)->kind == OperandView::Kind::Address;
  if (!bind_tensor_pointer(d, 0, &plan.d)) return nullptr;
  if (!(plan.a_in_memory ? bind_tensor_pointer(d, 1, &plan.a) : bind_slot(d, 1, 64, &plan.a_slot))) return nullptr;
  if (!bind_slot(d, 2, 64, &plan.b_slot) || !bind_slot(d, 3, 32, &plan.idesc)) return nullptr;
  unsigned next = 4;
  if (d.elements(next) == 4 && !bind_lanes(d, next++, &plan)) return nullptr;
  if (!bind_slot(d, next++, 1, &plan.enable)) return nullptr;
  if (next < d.operands.size()) {
    const OperandView* scale = d.view(next++);
    if (scale->kind != OperandView::Kind::Immediate || scale->bits > 15) return nullptr;
    plan.shift = static_cast<int>(scale->bits);
  }
  if (next != d.operands.size()) return nullptr;
  d.access(true, false, kChunk);
  d.out->plan = d.keep(plan);
  d.out->sanitized = issue_product<true>;
  return issue_product<false>;
}

}  // namespace pyptx::emulator
