// tcgen05.mma: what it multiplies, and issuing it (PTX ISA, "tcgen05.mma", "tcgen05.mma.ws").
#include <algorithm>

#include "tcgen05_product.h"

namespace pyptx::emulator {
namespace {

struct ProductPlan {
  TensorForm form;
  TensorPointer d, a, metadata, a_factors, b_factors;
  bool a_in_memory = false, masked = false, zeroed = false;
  uint8_t a_slot = 0, b_slot = 0, idesc = 0, enable = 0, mask = 0, zeros = 0;  // slots
  int shift = 0;
};

// ---- What is multiplied ----------------------------------------------------------------------------------

// The lanes and columns of an operand in Tensor Memory that has D's lanes.
std::vector<TensorPlace> places_of(const TensorProduct& p, uint32_t column, uint32_t columns) {
  if (!p.what.halves) return {{0, kTensorLanes, column, columns}};
  std::vector<TensorPlace> places;
  for (uint32_t q = 0; q < kWarpgroupWarps; ++q) {
    places.push_back({p.d.lane + q * kQuarterLanes, kHalfLanes, column, columns});
  }
  return places;
}

// What is read of a CTA's Tensor Memory, but D: A, its metadata, and the factors.
std::vector<TensorPlace> sources_of(const TensorProduct& p) {
  std::vector<TensorPlace> places;
  if (p.a_in_memory) places = places_of(p, p.a.column, kTensorKBytes / 4);
  if (p.sparse) {
    places.push_back({0, kTensorLanes, p.metadata.column + p.what.selector, metadata_columns(p.what.a.bits())});
  }
  if (p.blocks == 0) return places;
  for (uint32_t q = 0; q < kWarpgroupWarps; ++q) {
    const uint32_t block = q * kQuarterLanes % p.what.rows() / kQuarterLanes;  // of 32 rows, that the quarter has
    places.push_back({q * kQuarterLanes, kQuarterLanes, p.a_factors.column + block, 1});
  }
  const uint32_t columns = (p.what.columns() + kQuarterLanes - 1) / kQuarterLanes;
  places.push_back({0, kTensorLanes, p.b_factors.column, columns});
  return places;
}

bool check_alignment(Warp& w, const Instruction& in, unsigned lane, const TensorProduct& p) {
  const auto wrong = [&](const std::string& note) {
    wrong_tensor_memory(w, in, lane, note);
    return false;
  };
  const bool half = p.what.halves;
  if (p.d.lane != 0 && !(half && p.d.lane == kHalfLanes)) {
    return wrong("D begins in lane " + std::to_string(p.d.lane) + "; with M=" + std::to_string(p.what.m) +
                 (half ? " lanes 0 and 16 do" : " lane 0 does"));
  }
  if (p.blocks != 0 && (p.a_factors.lane != 0 || p.b_factors.lane != 0)) return wrong("factors do not begin in lane 0");
  // The manual gives the metadata's address no rule; the selector has the lowest bit of their column.
  if (p.sparse && (p.metadata.lane != 0 || p.metadata.column % 2 != 0)) {
    return wrong("metadata begin in lane " + std::to_string(p.metadata.lane) + ", column " +
                 std::to_string(p.metadata.column) + "; they do in lane 0 of an even column");
  }
  if (!p.a_in_memory || p.a.lane == p.d.lane) return true;
  return wrong("A begins in lane " + std::to_string(p.a.lane) + ", D in lane " + std::to_string(p.d.lane));
}

bool check_zeros(Warp& w, const Instruction& in, unsigned lane, const TensorProduct& p) {
  constexpr uint64_t kReserved = 3ull << 62 | 7ull << 36;
  const ZeroColumns& z = p.zeros;
  const auto wrong = [&](const std::string& note) {
    wrong_matrix(w, in, lane, "its zero-column mask descriptor " + note);
    return false;
  };
  if ((z.bits & kReserved) != 0) return wrong("has bits in places that no field has");
  const unsigned most = std::min(p.what.most_shift, p.what.m == 32 ? 16u : 32u);
  if (z.shift() > most) {
    return wrong("shifts by " + std::to_string(z.shift()) + " columns; the instruction descriptor and M allow " +
                 std::to_string(most));
  }
  if (z.shift() != 0 && p.what.b.columns) return wrong("shifts B transposed, which the emulator does not run");
  for (unsigned part = 0; z.masks() && part < p.what.parts; ++part) {
    // What a count means that is no smaller than the span that it counts in, the manual leaves open.
    if (z.start(part) < (z.zeros_first(part) ? z.zeros() : z.used())) continue;
    return wrong("begins sub-mask " + std::to_string(part) + " behind its first span, which the emulator does not run");
  }
  return true;
}

bool find_multiplicand(Warp& w, const Instruction& in, unsigned lane, Cta& cta, uint64_t descriptor, const char* name,
                       const TensorMultiplicand& x, unsigned first, unsigned count, ChunkPlaces* places) {
  SharedMatrix matrix;
  if (!read_tensor_matrix(w, in, lane, descriptor, name, &matrix)) return false;
  const uint32_t each = kChunk * 8 / x.bits();
  const ChunkRange range =
      x.columns ? ChunkRange{0, count / each, 0, x.k()} : ChunkRange{0, x.bytes / kChunk, first, count};
  *places = find_chunks(w, in, cta, matrix, x.columns, range);
  return *places != nullptr;
}

// Descriptors hold for the shared memory of every CTA of the group.
bool find_multiplicands(Warp& w, const Instruction& in, unsigned lane, TensorProduct* p) {
  const auto& plan = *static_cast<const ProductPlan*>(in.plan);
  const uint64_t b = held<uint64_t>(w, in, plan.b_slot)[lane];
  const uint64_t a = plan.a_in_memory ? 0 : held<uint64_t>(w, in, plan.a_slot)[lane];
  for (unsigned i = 0; i < p->group.size; ++i) {
    Cta& cta = *p->group.ctas[i];
    const TensorShape& what = p->what;
    if (!find_multiplicand(w, in, lane, cta, b, "B", what.b, p->zeros.shift(), what.lines(), &p->b_places[i])) {
      return false;
    }
    if (plan.a_in_memory) continue;
    if (!find_multiplicand(w, in, lane, cta, a, "A", what.a, 0, what.rows(), &p->a_places[i])) return false;
  }
  return true;
}

// A predicate operand as a lane mask, also one that is not among the inline operands.
uint32_t enabled(Warp& w, const Instruction& in, unsigned k) {
  return *held<uint32_t>(w, in, k) ^ (0u - (in.invert >> k & 1u));
}

void read_operands(Warp& w, const Instruction& in, unsigned lane, TensorProduct* p) {
  const auto& plan = *static_cast<const ProductPlan*>(in.plan);
  p->warp = &w;
  p->at = &in;
  p->lane = lane;
  p->sm = w.worker->launch->program->sm;
  p->blocks = plan.form.blocks;
  p->sparse = plan.form.sparse;
  p->a_in_memory = plan.a_in_memory;
  p->d = address_of(w, in, plan.d, lane);
  if (plan.a_in_memory) p->a = address_of(w, in, plan.a, lane);
  if (p->sparse) p->metadata = address_of(w, in, plan.metadata, lane);
  if (p->blocks != 0) {
    p->a_factors = address_of(w, in, plan.a_factors, lane);
    p->b_factors = address_of(w, in, plan.b_factors, lane);
  }
  p->accumulates = enabled(w, in, plan.enable) >> lane & 1u;
  p->shift = plan.shift;
  for (unsigned i = 0; plan.masked && i < 4 * plan.form.ctas; ++i) {
    p->disabled[i] = held<uint32_t>(w, in, plan.mask + i)[lane];
  }
  if (plan.zeroed) p->zeros.bits = held<uint64_t>(w, in, plan.zeros)[lane];
}

bool read_product(Warp& w, const Instruction& in, unsigned lane, TensorProduct* p) {
  const auto& plan = *static_cast<const ProductPlan*>(in.plan);
  if (!find_tensor_group(w, in, lane, plan.form.ctas, &p->group)) return false;
  const uint32_t bits = held<uint32_t>(w, in, plan.idesc)[lane];
  const std::string wrong = read_tensor_shape(plan.form, bits, &p->what);
  if (!wrong.empty()) {
    wrong_matrix(w, in, lane, "its instruction descriptor has " + wrong);
    return false;
  }
  read_operands(w, in, lane, p);
  return check_alignment(w, in, lane, *p) && check_zeros(w, in, lane, *p) && find_multiplicands(w, in, lane, p);
}

bool check_places(Warp& w, const Instruction& in, unsigned lane, Cta& cta, const std::vector<TensorPlace>& places) {
  return std::all_of(places.begin(), places.end(),
                     [&](const TensorPlace& place) { return check_tensor_place(w, in, lane, cta, place); });
}

// ---- Issuing ---------------------------------------------------------------------------------------------

// Lanes that disable-output-lane leaves out are not looked at apart.
void note_result(Warp& w, const Instruction& in, unsigned lane, const TensorProduct& p, unsigned cta,
                 const Operation& op) {
  Cta& owner = *p.group.ctas[cta];
  for (const TensorPlace& place : places_of(p, p.d.column, p.what.columns())) {
    if (p.accumulates) check_tensor_written(w, in, lane, owner, place);
    check_tensor(w, in, lane, owner, place, TensorUse::Work, true, &op);
    for (uint32_t row = place.first_lane; row < place.first_lane + place.lanes; ++row) {
      if (p.disabled[4 * cta + row / 32] >> row % 32 & 1u) continue;
      note_tensor_written(owner, {row, 1, place.first_column, place.columns});
    }
  }
}

void check_product(Warp& w, const Instruction& in, unsigned lane, const TensorProduct& p, unsigned cta,
                   const Operation& op) {
  Cta& owner = *p.group.ctas[cta];
  for (const auto* places : {&p.a_places[cta], &p.b_places[cta]}) {
    if (*places != nullptr) check_product_shared(w, in, owner, **places, kChunk, lane, op);
  }
  for (const TensorPlace& place : sources_of(p)) {
    check_tensor_written(w, in, lane, owner, place);
    check_tensor(w, in, lane, owner, place, TensorUse::Work, false, &op);
  }
  note_result(w, in, lane, p, cta, op);
}

template <bool kSanitized>
void issue_product(Warp& w, const Instruction& in, uint32_t mask) {
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
    auto product = std::make_shared<TensorProduct>();
    if (!read_product(w, in, lane, product.get())) return;
    const std::vector<TensorPlace> results = places_of(*product, product->d.column, product->what.columns());
    for (unsigned i = 0; i < product->group.size; ++i) {
      Cta& cta = *product->group.ctas[i];
      if (!check_places(w, in, lane, cta, results)) return;
      if (!check_places(w, in, lane, cta, sources_of(*product))) return;
    }
    const OperationPointer op = new_operation(w, in, 1u << lane, Grouping::None);
    if (kSanitized) order_tensor_work(w, lane, *op);
    for (unsigned i = 0; kSanitized && i < product->group.size; ++i) check_product(w, in, lane, *product, i, *op);
    op->tensor = std::move(product);
    issue(w, op);
  }
}

// ---- Decoding --------------------------------------------------------------------------------------------

// {.collector::buffer::use}: whether what is multiplied is kept for the next product changes nothing here. Buffers are
// of A, or, of .ws, four of B.
void skip_collector(Modifiers& m, bool stationary) {
  for (const std::string buffer : {"a", "b0", "b1", "b2", "b3"}) {
    if ((buffer != "a") != stationary) continue;
    for (const char* use : {"fill", "use", "lastuse", "discard"}) {
      if (m.take("collector::" + buffer + "::" + use)) return;
    }
  }
}

bool bind_lanes(Decoding& d, unsigned operand, ProductPlan* plan) {
  plan->masked = true;
  plan->mask = static_cast<uint8_t>(d.bound());
  for (unsigned e = 0; e < 4 * plan->form.ctas; ++e) {
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
  const bool scaled = plan->form.kind->blocks != 0;
  if (m.take("block_scale") != scaled) return false;
  if (!scaled) return true;
  for (const VectorRow& row : kVectors) {
    if (row.kind == plan->form.kind->name && m.take(row.name)) plan->form.blocks = row.blocks;
  }
  if (plan->form.blocks == 0 && plan->form.kind->name != "kind::mxf4nvf4") plan->form.blocks = plan->form.kind->blocks;
  return plan->form.blocks != 0;
}

// disable-output-lane, or the factors, where they stand.
bool bind_between(Decoding& d, unsigned* next, ProductPlan* plan) {
  if (plan->form.blocks != 0) {
    return bind_tensor_pointer(d, (*next)++, &plan->a_factors) && bind_tensor_pointer(d, (*next)++, &plan->b_factors);
  }
  return d.elements(*next) != 4 * plan->form.ctas || bind_lanes(d, (*next)++, plan);
}

// scale-input-d, or zero-column-mask-desc of .ws, where there is one.
bool bind_last(Decoding& d, unsigned operand, ProductPlan* plan) {
  if (operand == d.operands.size()) return true;
  if (plan->form.stationary) {
    plan->zeroed = true;
    return bind_slot(d, operand, 64, &plan->zeros);
  }
  const OperandView* scale = d.view(operand);
  if (scale->kind != OperandView::Kind::Immediate || scale->bits > 15) return false;
  plan->shift = static_cast<int>(scale->bits);
  return true;
}

bool read_form(Modifiers& m, ProductPlan* plan) {
  TensorForm& form = plan->form;
  form.stationary = m.take("ws");
  form.sparse = m.take("sp");
  if (!take_tensor_group(m, &form.ctas)) return false;
  form.kind = tensor_kind(m.next());
  if (form.kind == nullptr || !read_blocks(m, plan)) return false;
  skip_collector(m, form.stationary);
  return m.done() && !(form.stationary && (form.ctas == 2 || form.blocks != 0));
}

}  // namespace

// mma{.ws}{.sp}.cta_group.kind{.block_scale{.vector}}{.collector} [d], a-desc or [a], b-desc {, [metadata]}, idesc,
// then {disable-output-lane}, enable-input-d {, scale-input-d}, or [scale-A], [scale-B], enable-input-d, or of .ws
// enable-input-d {, zero-column-mask-desc}
Handler resolve_tensor_product(Decoding& d, Modifiers& m) {
  ProductPlan plan;
  if (!read_form(m, &plan) || d.operands.size() < 5) return nullptr;
  plan.a_in_memory = d.view(1)->kind == OperandView::Kind::Address;
  if (!bind_tensor_pointer(d, 0, &plan.d)) return nullptr;
  if (!(plan.a_in_memory ? bind_tensor_pointer(d, 1, &plan.a) : bind_slot(d, 1, 64, &plan.a_slot))) return nullptr;
  if (!bind_slot(d, 2, 64, &plan.b_slot)) return nullptr;
  unsigned next = 3;
  if (plan.form.sparse && !bind_tensor_pointer(d, next++, &plan.metadata)) return nullptr;
  if (!bind_slot(d, next++, 32, &plan.idesc) || !bind_between(d, &next, &plan)) return nullptr;
  if (!bind_slot(d, next++, 1, &plan.enable) || d.operands.size() > next + 1) return nullptr;
  if (!bind_last(d, next, &plan)) return nullptr;
  d.access(true, false, kChunk);
  d.out->plan = d.keep(plan);
  d.out->sanitized = issue_product<true>;
  return issue_product<false>;
}

}  // namespace pyptx::emulator
