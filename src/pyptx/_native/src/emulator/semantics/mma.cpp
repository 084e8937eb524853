// mma.sync of numbers: dense, with half of A left out (.sp), and with factors for blocks of elements (.block_scale).
//
// The manual leaves the order in which mma adds open. Here products, which are exact, and C are added in double
// precision, in the order of k and C last, and the sum is rounded once, to nearest even. Integers are exact.
#include "mma.h"

#include <bitset>

#include "sparsity.h"

namespace pyptx::emulator {
namespace {

constexpr unsigned kMostRows = 16;

// Factors of blocks along k: "Block Scaling". A row's are in one lane of its quad, a column's too.
struct Scaling {
  Factor factor = nullptr;
  unsigned blocks = 1;
  unsigned a_slot = 0, b_slot = 0;  // the factors; behind them byte-id and thread-id
};

// Where an instruction finds them: the first byte, and which lanes of a quad. For A these are the pairs of lanes.
struct Selected {
  unsigned byte = 0, thread = 0;
};

struct MmaPlan {
  unsigned m = 0, k = 0;
  const Multiplied *a = nullptr, *b = nullptr;
  Sum sum = Sum::F32;
  bool satfinite = false;
  unsigned a_slot = 0, b_slot = 0, c_slot = 0, metadata_slot = 0;
  Sparsity sparsity;
  Scaling scaling;
};

// A row of A, or a column of B: its values along k, and which of them there are.
struct Line {
  double value[kMostK];
  std::bitset<kMostK> there;
};

// byte-id and thread-id, which all lanes must have alike; false, and a finding, for what is none.
bool select(Warp& w, const Instruction& in, const Scaling& s, unsigned slot, unsigned threads, Selected* selected) {
  if (s.factor == nullptr) return true;
  const uint16_t *bytes = held<uint16_t>(w, in, slot + 1), *lanes = held<uint16_t>(w, in, slot + 2);
  for (unsigned l = 0; l < kLanes; ++l) {
    const bool alike = bytes[l] == bytes[0] && lanes[l] == lanes[0];
    if (alike && bytes[0] < 4 && bytes[0] % s.blocks == 0 && lanes[0] < threads) continue;
    wrong_matrix(w, in, l,
                 "byte-id " + std::to_string(bytes[l]) + " and thread-id " + std::to_string(lanes[l]) +
                     " select no factors, or others than lane 0 does; of " + std::to_string(s.blocks) +
                     " factors byte-id is a multiple below 4, and thread-id is below " + std::to_string(threads));
    return false;
  }
  *selected = {bytes[0], lanes[0]};
  return true;
}

double scale(Warp& w, const Instruction& in, const MmaPlan& plan, unsigned slot, unsigned lane, unsigned byte,
             unsigned along) {
  if (plan.scaling.factor == nullptr) return 1;
  const unsigned block = along * plan.scaling.blocks / plan.k;
  return plan.scaling.factor(held<uint32_t>(w, in, slot)[lane] >> 8 * (byte + block) & 0xffu);
}

bool load_row(Warp& w, const Instruction& in, const MmaPlan& plan, const Selected& selected, unsigned row, Line* line) {
  const Sparsity& sparse = plan.sparsity;
  const unsigned stored = sparse.bits != 0 ? sparse.stored : plan.k;
  uint8_t places[kMostK];
  std::string note;
  if (sparse.bits != 0 && !find_places(sparse, held<uint32_t>(w, in, plan.metadata_slot), row, places, &note)) {
    wrong_matrix(w, in, row % kBlockLines * kLineLanes + sparse.first, note);
    return false;
  }
  line->there.reset();
  for (unsigned e = 0; e < stored; ++e) {
    const unsigned k = sparse.bits != 0 ? places[e] : e;
    const unsigned lane = row % kBlockLines * kLineLanes + 2 * selected.thread + row / kBlockLines;
    const double value = plan.a->value(element(w, in, plan.a_slot, plan.m, plan.a->bits, row, e)) *
                         scale(w, in, plan, plan.scaling.a_slot, lane, selected.byte, k);
    line->value[k] = line->there[k] ? line->value[k] + value : value;
    line->there.set(k);
  }
  return true;
}

void load_column(Warp& w, const Instruction& in, const MmaPlan& plan, const Selected& selected, unsigned column,
                 Line* line) {
  const unsigned lane = column * kLineLanes + selected.thread;
  for (unsigned k = 0; k < plan.k; ++k) {
    line->value[k] = plan.b->value(element(w, in, plan.b_slot, kColumns, plan.b->bits, column, k)) *
                     scale(w, in, plan, plan.scaling.b_slot, lane, selected.byte, k);
  }
}

double product(const MmaPlan& plan, const Line& row, const Line& column) {
  double sum = 0;
  for (unsigned k = 0; k < plan.k; ++k) {
    if (row.there[k]) sum += row.value[k] * column.value[k];
  }
  return sum;
}

void multiply(Warp& w, const Instruction& in, uint32_t mask) {
  if (!together(w, in, mask)) return;
  const auto& plan = *static_cast<const MmaPlan*>(in.plan);
  Line a[kMostRows], b[kColumns];
  Selected of_a, of_b;
  if (!select(w, in, plan.scaling, plan.scaling.a_slot, 2, &of_a) ||
      !select(w, in, plan.scaling, plan.scaling.b_slot, 4, &of_b)) {
    return;
  }
  for (unsigned i = 0; i < plan.m; ++i) {
    if (!load_row(w, in, plan, of_a, i, &a[i])) return;
  }
  for (unsigned j = 0; j < kColumns; ++j) load_column(w, in, plan, of_b, j, &b[j]);
  const bool half = plan.sum == Sum::F16;
  for (unsigned l = 0; l < kLanes; ++l) {
    if (!(mask >> l & 1u)) continue;
    for (unsigned p = 0; p < plan.m / kBlockLines; ++p) {
      uint32_t sums[2];
      for (unsigned j = 0; j < 2; ++j) {
        const unsigned row = p * kBlockLines + l / kLineLanes, column = l % kLineLanes * 2 + j;
        const uint32_t c = held<uint32_t>(w, in, plan.c_slot + (half ? p : 2 * p + j))[l];
        const double sum = product(plan, a[row], b[column]) + addend(plan.sum, half ? c >> 16 * j : c);
        sums[j] = rounded(plan.sum, plan.satfinite, sum);
      }
      if (half) {
        held<uint32_t>(w, in, p)[l] = sums[0] | sums[1] << 16;
      } else {
        held<uint32_t>(w, in, 2 * p)[l] = sums[0];
        held<uint32_t>(w, in, 2 * p + 1)[l] = sums[1];
      }
    }
  }
}

// ---- Decoding --------------------------------------------------------------------------------------------

// How elements of a kind are held, and with how many factors of a row.
struct KindRow {
  std::string_view name;
  bool in_bytes;
  unsigned blocks;  // without .scale_vec, 0 where it has to be given
  bool scaled;
};
constexpr KindRow kKinds[] = {
    {"", false, 1, false},
    {"kind::f8f6f4", true, 1, false},
    {"kind::mxf8f6f4", true, 1, true},
    {"kind::mxf4", false, 2, true},
    {"kind::mxf4nvf4", false, 0, true},
};

constexpr Modifier kBlocks[] = {{"scale_vec::1X", 1}, {"scale_vec::2X", 2}, {"scale_vec::4X", 4}};

const KindRow* read_kind(Modifiers& m) {
  for (const KindRow& kind : kKinds) {
    if (!kind.name.empty() && m.take(kind.name)) return &kind;
  }
  return &kKinds[0];
}

// {.block_scale{.scale_vec}}
bool read_blocks(Modifiers& m, const KindRow& kind, MmaPlan* plan) {
  if (m.take("block_scale") != kind.scaled) return false;
  plan->scaling.blocks = kind.blocks;
  uint32_t blocks;
  if (kind.scaled && read_modifier(m.peek(), kBlocks, 3, &blocks)) {
    m.next();
    plan->scaling.blocks = blocks;
  }
  return plan->scaling.blocks != 0;
}

// {.satfinite}.dtype.atype.btype.ctype{.stype}
bool read_types(Modifiers& m, const KindRow& kind, MmaPlan* plan) {
  plan->satfinite = m.take("satfinite");
  const std::string_view sum = m.next();
  const auto type = kind.in_bytes ? multiplied_in_bytes : multiplied;
  plan->a = type(m.next());
  plan->b = type(m.next());
  if (plan->a == nullptr || plan->b == nullptr || plan->a->bits != plan->b->bits) return false;
  if (m.next() != sum || !read_sum(sum, &plan->sum)) return false;
  if (kind.scaled) plan->scaling.factor = factor(m.next());
  return m.done() && kind.scaled == (plan->scaling.factor != nullptr);
}

// e, f
bool bind_metadata(Decoding& d, unsigned k, MmaPlan* plan) {
  const OperandView* selector = d.view(k + 1);
  plan->metadata_slot = d.bound();
  return d.source(k, 32) && selector != nullptr && selector->kind == OperandView::Kind::Immediate &&
         select_lanes(&plan->sparsity, selector->bits);
}

// scale-data, {byte-id, thread-id}
bool bind_scale(Decoding& d, unsigned k, unsigned* slot) {
  *slot = d.bound();
  return d.source(k, 32) && bind_registers(d, k + 1, 2, 16, false);
}

bool bind_operands(Decoding& d, MmaPlan* plan) {
  const bool sparse = plan->sparsity.bits != 0, scaled = plan->scaling.factor != nullptr;
  const unsigned stored = sparse ? plan->k / 2 : plan->k, line = stored * plan->a->bits;
  if (line != 128 && (line != 256 || plan->m == kBlockLines)) return false;
  if (d.operands.size() != 4u + (sparse ? 2 : 0) + (scaled ? 4 : 0)) return false;
  const unsigned of_a = line / 128 * plan->m / kBlockLines, of_b = line / 128 * plan->k / stored;
  const unsigned sums = plan->m / kBlockLines * (plan->sum == Sum::F16 ? 1 : 2);
  plan->a_slot = sums;
  plan->b_slot = sums + of_a;
  plan->c_slot = plan->b_slot + of_b;
  if (!bind_registers(d, 0, sums, 32, true) || !bind_registers(d, 1, of_a, 32, false) ||
      !bind_registers(d, 2, of_b, 32, false) || !bind_registers(d, 3, sums, 32, false)) {
    return false;
  }
  plan->sparsity.stored = stored;
  if (sparse && !bind_metadata(d, 4, plan)) return false;
  const unsigned scales = sparse ? 6 : 4;
  return !scaled ||
         (bind_scale(d, scales, &plan->scaling.a_slot) && bind_scale(d, scales + 2, &plan->scaling.b_slot));
}

Handler resolve_numbers(Decoding& d, Modifiers& m, const MmaShape& shape, bool sparse, bool ordered) {
  MmaPlan plan;
  plan.m = shape.m;
  plan.k = shape.k;
  const KindRow* kind = read_kind(m);
  if (!read_blocks(m, *kind, &plan) || !read_types(m, *kind, &plan)) return nullptr;
  if (sparse) plan.sparsity.bits = plan.a->bits;
  plan.sparsity.ordered = ordered;
  if (!bind_operands(d, &plan)) return nullptr;
  d.out->plan = d.keep(plan);
  return multiply;
}

}  // namespace

bool read_shape(std::string_view name, MmaShape* shape) {
  constexpr MmaShape kShapes[] = {
      {"m16n8k4", 16, 4},   {"m16n8k8", 16, 8},   {"m16n8k16", 16, 16},   {"m16n8k32", 16, 32}, {"m16n8k64", 16, 64},
      {"m8n8k4", 8, 4},     {"m8n8k16", 8, 16},   {"m8n8k32", 8, 32},     {"m8n8k128", 8, 128}, {"m16n8k128", 16, 128},
      {"m16n8k256", 16, 256},
  };
  for (const MmaShape& known : kShapes) {
    if (known.name != name) continue;
    *shape = known;
    return true;
  }
  return false;
}

bool bind_registers(Decoding& d, unsigned operand, unsigned count, unsigned width, bool write) {
  if (d.elements(operand) != count) return false;
  for (unsigned e = 0; e < count; ++e) {
    const OperandView* v = d.element(operand, e);
    if (!(write ? d.bind_destination(v, width, width) : d.bind_source(v, width, width))) return false;
  }
  return true;
}

Handler resolve_mma(Decoding& d) {
  Modifiers m(d);
  const bool ordered = m.take("sp::ordered_metadata"), sparse = ordered || m.take("sp");
  MmaShape shape;
  if (!m.take("sync") || !m.take("aligned") || !read_shape(m.next(), &shape)) return nullptr;
  const bool a_rows = m.take("row");
  if (!a_rows && !m.take("col")) return nullptr;
  const bool b_columns = m.take("col");
  if (!b_columns && !m.take("row")) return nullptr;
  if (sparse) return a_rows && b_columns ? resolve_numbers(d, m, shape, true, ordered) : nullptr;
  if (d.last() == "f64") return a_rows && b_columns ? resolve_mma_doubles(d, m, shape) : nullptr;
  if (d.last() == "popc") return a_rows && b_columns ? resolve_mma_bits(d, m, shape) : nullptr;
  if (shape.name == "m8n8k4") return resolve_mma_quad_pairs(d, m, !a_rows, !b_columns);
  return a_rows && b_columns ? resolve_numbers(d, m, shape, false, false) : nullptr;
}

}  // namespace pyptx::emulator
