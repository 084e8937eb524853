// tcgen05.mma by one CTA (PTX ISA, "tcgen05.mma", "Data Path Layout Organization", "Block Scaling").
//
// Factors of blocks are read from the quarter of the lanes that a row of D is in: there row i of A, or column i of B,
// has its own in lane i % 32 of column i / 32, so copies of them are in all quarters.
//
// The manual leaves the order and the precision of the additions open. Here they are those of mma (mma.cpp): exact
// products are added in double precision, in the order of k and D last, and the sum is rounded once, to nearest even.
#include <algorithm>
#include <cstring>

#include "tensor_core.h"
#include "tensor_descriptor.h"

namespace pyptx::emulator {
namespace {

constexpr unsigned kHalfLanes = 16;

// ---- Multiplying -----------------------------------------------------------------------------------------

struct Product : TensorWork {
  Cta* cta = nullptr;
  TensorShape what;
  TensorAddress d{}, a{}, a_factors{}, b_factors{};
  unsigned blocks = 0;       // factors of a row
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

using Values = std::vector<double>;  // K by K

// An element of so many bits of memory, from a bit on that leaves it in one or two bytes, or begins one.
uint32_t element_at(const uint8_t* place, unsigned first, unsigned bits) {
  if (bits >= 8) return bits_at(place + first / 8, bits / 8);
  return bits_at(place + first / 8, first % 8 + bits > 8 ? 2 : 1) >> first % 8 & ((1u << bits) - 1);
}

// Element e of a chunk of 16 bytes. Packed ones stand in its first bytes; e2m1 is then where a byte of its own has it.
double value_at(const uint8_t* chunk, unsigned e, const TensorMultiplicand& x) {
  const unsigned bits = x.packed != 0 ? x.packed : x.bits();
  const uint32_t value = element_at(chunk, e * bits, bits);
  return x.sign * x.type->value(x.packed == 4 ? value << 2 : value);
}

// A multiplicand's values: those of `count` rows of A, or columns of B.
Values shared_values(const Cta& cta, const std::vector<uint32_t>& places, const TensorMultiplicand& x, unsigned count) {
  const unsigned each = kChunk * 8 / x.bits();
  const size_t chunks = (x.columns ? count : x.k()) / each;
  Values values(size_t{x.k()} * count);
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
Values memory_values(TensorMemory& memory, const Product& p) {
  const TensorMultiplicand& x = p.what.a;
  Values values(size_t{x.k()} * p.what.m);
  for (unsigned row = 0; row < p.what.m; ++row) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(&memory.at(p.lane_of(row), p.a.column));
    for (unsigned k = 0; k < x.k(); ++k) {
      values[size_t{k} * p.what.m + row] = x.sign * x.type->value(element_at(bytes, k * x.bits(), x.bits()));
    }
  }
  return values;
}

// Lines `first` to `end` of `count`, with the factors that a quarter of the lanes has of them.
void scale(TensorMemory& memory, const Product& p, const TensorMultiplicand& x, TensorAddress factors, unsigned quarter,
           unsigned first, unsigned end, size_t count, Values* values) {
  for (unsigned line = first; line < end; ++line) {
    const uint32_t word =
        memory.at(quarter * kQuarterLanes + line % kQuarterLanes, factors.column + line / kQuarterLanes);
    for (unsigned k = 0; k < x.k(); ++k) {
      const unsigned byte = x.factor_byte + k * p.blocks / x.k();
      (*values)[k * count + line] *= p.what.factor(word >> 8 * byte & 0xffu);
    }
  }
}

// The sums of a row of A with the columns of B.
void add_row(const TensorShape& what, const Values& left, const Values& right, unsigned row, Values* sums) {
  sums->assign(what.n, 0.0);
  for (size_t k = 0; k < what.a.k(); ++k) {
    const double value = left[k * what.m + row];
    const double* column = &right[k * what.n];
    for (size_t n = 0; n < what.n; ++n) (*sums)[n] += value * column[n];
  }
}

void Product::perform() {
  TensorMemory& memory = tensor_memory(*cta);
  Values left = a_in_memory ? memory_values(memory, *this) : shared_values(*cta, a_places, what.a, what.m);
  const Values plain = shared_values(*cta, b_places, what.b, what.n);
  Values right = plain, sums;
  for (unsigned row = 0; row < what.m; ++row) {
    const unsigned lane = lane_of(row), quarter = lane / kQuarterLanes;
    if (blocks != 0 && lane % kQuarterLanes == 0) {
      scale(memory, *this, what.a, a_factors, quarter, row, row + kQuarterLanes, what.m, &left);
      right = plain;
      scale(memory, *this, what.b, b_factors, quarter, 0, what.n, what.n, &right);
    }
    if (disabled[quarter] >> lane % kQuarterLanes & 1u) continue;
    add_row(what, left, right, row, &sums);
    for (unsigned n = 0; n < what.n; ++n) {
      uint32_t& cell = memory.at(lane, d.column + n);
      const double before = accumulates ? std::ldexp(addend(what.sum, cell), -shift) : 0.0;
      cell = rounded(what.sum, what.saturate, accumulates ? sums[n] + before : sums[n]);
    }
  }
}

// ---- Issuing ---------------------------------------------------------------------------------------------

struct ProductPlan {
  const TensorKind* kind = nullptr;
  unsigned blocks = 0;
  TensorPointer d, a, a_factors, b_factors;
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
                       const TensorMultiplicand& x, unsigned count, std::vector<uint32_t>* places) {
  SharedMatrix matrix;
  if (!read_tensor_matrix(w, in, lane, descriptor, name, &matrix)) return false;
  const uint32_t each = kChunk * 8 / x.bits();
  const ChunkRange range =
      x.columns ? ChunkRange{0, count / each, 0, x.k()} : ChunkRange{0, kTensorKBytes / kChunk, 0, count};
  return find_chunks(w, in, matrix, x.columns, range, places);
}

bool check_alignment(Warp& w, const Instruction& in, unsigned lane, const Product& p) {
  const bool half = p.what.m == 64;
  if (p.d.lane != 0 && !(half && p.d.lane == kHalfLanes)) {
    wrong_tensor_memory(w, in, lane, "D begins in lane " + std::to_string(p.d.lane) + "; with M=" +
                                         std::to_string(p.what.m) + (half ? " lanes 0 and 16 do" : " lane 0 does"));
    return false;
  }
  if (p.blocks != 0 && (p.a_factors.lane != 0 || p.b_factors.lane != 0)) {
    wrong_tensor_memory(w, in, lane, "factors do not begin in lane 0");
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
  const std::string wrong = read_tensor_shape(*plan.kind, plan.blocks, bits, &p->what);
  if (!wrong.empty()) {
    wrong_matrix(w, in, lane, "its instruction descriptor has " + wrong);
    return false;
  }
  p->cta = w.cta;
  p->a_in_memory = plan.a_in_memory;
  p->d = address_of(w, in, plan.d, lane);
  if (plan.a_in_memory) p->a = address_of(w, in, plan.a, lane);
  p->blocks = plan.blocks;
  if (plan.blocks != 0) {
    p->a_factors = address_of(w, in, plan.a_factors, lane);
    p->b_factors = address_of(w, in, plan.b_factors, lane);
  }
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

// What is read of Tensor Memory, but D: A, and the factors.
std::vector<TensorPlace> sources_of(const Product& p) {
  std::vector<TensorPlace> places;
  if (p.a_in_memory) places = places_of(p, p.a.column, kTensorKBytes / 4);
  if (p.blocks == 0) return places;
  for (uint32_t q = 0; q < kWarpgroupWarps; ++q) {
    places.push_back({q * kQuarterLanes, kQuarterLanes, p.a_factors.column + q, 1});
  }
  const uint32_t columns = (p.what.n + kQuarterLanes - 1) / kQuarterLanes;
  places.push_back({0, kTensorLanes, p.b_factors.column, columns});
  return places;
}

template <bool kSanitized>
void issue_product(Warp& w, const Instruction& in, uint32_t mask) {
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
    auto product = std::make_shared<Product>();
    if (!read_product(w, in, lane, product.get())) return;
    const std::vector<TensorPlace> sources = sources_of(*product);
    for (const TensorPlace& place : places_of(*product, product->d.column, product->what.n)) {
      if (!check_tensor_place(w, in, lane, place)) return;
    }
    for (const TensorPlace& place : sources) {
      if (!check_tensor_place(w, in, lane, place)) return;
    }
    const OperationPointer op = new_operation(w, in, 1u << lane, Grouping::None);
    if (kSanitized) {
      order_tensor_work(w, lane, *op);
      for (const auto* places : {&product->a_places, &product->b_places}) {
        for (const uint32_t at : *places) check_copy_shared(w, in, *w.cta, at, kChunk, lane, false, true, *op);
      }
      for (const TensorPlace& place : sources) {
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

// {.block_scale{.scale_vectorsize}}: how many factors of a row.
struct VectorRow {
  std::string_view kind, name;
  unsigned blocks;
};
constexpr VectorRow kVectors[] = {
    {"kind::mxf8f6f4", "scale_vec::1X", 1}, {"kind::mxf8f6f4", "block32", 1},       {"kind::mxf4", "scale_vec::2X", 2},
    {"kind::mxf4", "block32", 2},           {"kind::mxf4nvf4", "scale_vec::2X", 2}, {"kind::mxf4nvf4", "block32", 2},
    {"kind::mxf4nvf4", "scale_vec::4X", 4}, {"kind::mxf4nvf4", "block16", 4},
};

bool read_blocks(Modifiers& m, ProductPlan* plan) {
  const bool scaled = plan->kind->blocks != 0;
  if (m.take("block_scale") != scaled) return false;
  if (!scaled) return true;
  for (const VectorRow& row : kVectors) {
    if (row.kind == plan->kind->name && m.take(row.name)) plan->blocks = row.blocks;
  }
  if (plan->blocks == 0 && plan->kind->name != "kind::mxf4nvf4") plan->blocks = plan->kind->blocks;
  return plan->blocks != 0;
}

// disable-output-lane, or the factors, where they stand.
bool bind_between(Decoding& d, unsigned* next, ProductPlan* plan) {
  if (plan->blocks != 0) {
    return bind_tensor_pointer(d, (*next)++, &plan->a_factors) && bind_tensor_pointer(d, (*next)++, &plan->b_factors);
  }
  return d.elements(*next) != 4 || bind_lanes(d, (*next)++, plan);
}

}  // namespace

// mma.cta_group.kind{.block_scale{.vector}}{.collector} [d], a-desc or [a], b-desc, idesc, then {disable-output-lane},
// enable-input-d {, scale-input-d}, or [scale-A], [scale-B], enable-input-d
Handler resolve_tensor_product(Decoding& d, Modifiers& m) {
  ProductPlan plan;
  if (!m.take("cta_group::1")) return nullptr;
  plan.kind = tensor_kind(m.next());
  if (plan.kind == nullptr || !read_blocks(m, &plan)) return nullptr;
  skip_collector(m);
  if (!m.done() || d.operands.size() < 5) return nullptr;
  plan.a_in_memory = d.view(1)->kind == OperandView::Kind::Address;
  if (!bind_tensor_pointer(d, 0, &plan.d)) return nullptr;
  if (!(plan.a_in_memory ? bind_tensor_pointer(d, 1, &plan.a) : bind_slot(d, 1, 64, &plan.a_slot))) return nullptr;
  if (!bind_slot(d, 2, 64, &plan.b_slot) || !bind_slot(d, 3, 32, &plan.idesc)) return nullptr;
  unsigned next = 4;
  if (!bind_between(d, &next, &plan) || !bind_slot(d, next++, 1, &plan.enable)) return nullptr;
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
