// mma.sync of numbers: dense, with half of A left out (.sp), and with factors for blocks of elements (.block_scale).
//
// Sums are those of tensor_sum.h; integers are exact.
#include "mma.h"

#include <algorithm>
#include <cstring>

#include "sparsity.h"
#include "tensor_sum.h"

namespace pyptx::emulator {
namespace {

constexpr unsigned kMostRows = 16;

// Factors of blocks along k: "Block Scaling". A row's are in one lane of its quad, a column's too.
struct Scaling {
  Factor factor = nullptr;
  int least = -127;  // the exponent of the smallest normal factor
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
  Addition how;
  bool satfinite = false;
  unsigned a_slot = 0, b_slot = 0, c_slot = 0, metadata_slot = 0;
  Sparsity sparsity;
  Scaling scaling;
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

// The factors of a multiplicand, of whose lines lane `lane_of(line)` holds those of one.
template <class F>
void read_factors(Warp& w, const Instruction& in, const MmaPlan& plan, unsigned slot, unsigned byte,
                  const uint8_t (*places)[kMostK], F lane_of, Numbers* numbers) {
  const Scaling& scaling = plan.scaling;
  if (scaling.factor == nullptr) return;
  numbers->factors.resize(numbers->bits.size());
  numbers->least_factor = scaling.least;
  for (unsigned line = 0; line < numbers->count; ++line) {
    const uint32_t word = held<uint32_t>(w, in, slot)[lane_of(line)];
    for (unsigned step = 0; step < numbers->steps; ++step) {
      const unsigned along = places != nullptr ? places[line][step] : step;
      numbers->factors[numbers->at(step, line)] =
          scaling.factor(word >> 8 * (byte + along * scaling.blocks / plan.k) & 0xffu);
    }
  }
  if (plan.how.group == 0) numbers->scale();
}

template <unsigned kBits>
void read_words(Warp& w, const Instruction& in, unsigned first, const uint8_t* line_at, Numbers* numbers) {
  constexpr unsigned kPer = 32 / kBits;
  constexpr uint32_t kOnes = kBits == 32 ? ~0u : (1u << kBits % 32) - 1;
  const unsigned blocks = numbers->count / kBlockLines;
  const unsigned registers = blocks * numbers->steps / (kLineLanes * kPer);
  for (unsigned r = 0; r < registers; ++r) {
    const uint32_t* words = held<uint32_t>(w, in, first + r);
    const uint8_t* lines = line_at + r % blocks * kBlockLines;
    for (unsigned l = 0; l < kLineLanes; ++l) {
      for (unsigned e = 0; e < kPer; ++e) {
        uint32_t* step = &numbers->bits[numbers->at((r / blocks * kLineLanes + l) * kPer + e, 0)];
        for (unsigned i = 0; i < kBlockLines; ++i) step[lines[i]] = words[i * kLineLanes + l] >> kBits * e & kOnes;
      }
    }
  }
}

// A fragment's numbers, line by line in the order `line_at` of lines.
void read_fragment(Warp& w, const Instruction& in, unsigned first, const Multiplied& type, bool as_half,
                   const uint8_t* line_at, Numbers* numbers) {
  if (type.bits == 4) read_words<4>(w, in, first, line_at, numbers);
  else if (type.bits == 8) read_words<8>(w, in, first, line_at, numbers);
  else if (type.bits == 16) read_words<16>(w, in, first, line_at, numbers);
  else read_words<32>(w, in, first, line_at, numbers);
  numbers->read(type, false, as_half);
}

// Where columns are among those of a sum: the four that lanes of a quad hold in one register are next to each other.
constexpr uint8_t kColumnAt[kColumns] = {0, 4, 1, 5, 2, 6, 3, 7};
constexpr uint8_t kRowAt[kMostRows] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

bool read_places(Warp& w, const Instruction& in, const MmaPlan& plan, uint8_t (*places)[kMostK]) {
  for (unsigned row = 0; row < plan.m; ++row) {
    std::string note;
    if (find_places(plan.sparsity, held<uint32_t>(w, in, plan.metadata_slot), row, places[row], &note)) continue;
    wrong_matrix(w, in, row % kBlockLines * kLineLanes + plan.sparsity.first, note);
    return false;
  }
  return true;
}

// C of a row, and of the column that is at place `at` among those of a sum.
uint32_t addend_at(Warp& w, const Instruction& in, const MmaPlan& plan, unsigned row, unsigned at) {
  const unsigned pair = row / kBlockLines, lane = row % kBlockLines * kLineLanes + at % kLineLanes;
  const unsigned half = at / kLineLanes;
  if (plan.sum != Sum::F16) return held<uint32_t>(w, in, plan.c_slot + 2 * pair + half)[lane];
  return held<uint32_t>(w, in, plan.c_slot + pair)[lane] >> 16 * half & 0xffffu;
}

// D of a row: C, with the products added.
void add_row(Warp& w, const Instruction& in, const MmaPlan& plan, unsigned row, const uint8_t* places, TensorSum* sum,
             uint32_t* out) {
  for (unsigned i = 0; i < kColumns; ++i) out[i] = addend_at(w, in, plan, row, i);
  sum->add(row, 0, kColumns, places, plan.satfinite, 0, out);
}

// The same of all rows, column by column: a product has more rows, which vectors of the host add at once.
void add_columns(Warp& w, const Instruction& in, const MmaPlan& plan, Numbers& a, Numbers& b,
                 uint32_t (*results)[kColumns]) {
  TensorSum sum(plan.how, plan.sum, b, a);
  for (unsigned i = 0; i < kColumns; ++i) {
    uint32_t column[kMostRows];
    for (unsigned row = 0; row < plan.m; ++row) column[row] = addend_at(w, in, plan, row, i);
    sum.add(i, 0, plan.m, nullptr, plan.satfinite, 0, column);
    for (unsigned row = 0; row < plan.m; ++row) results[row][i] = column[row];
  }
}

// ---- Sums in the order of registers ----------------------------------------------------------------------

// A multiplicand of FragmentSum. It is kept with the registers' words that it was read from: products in a loop over
// tiles share them.
struct Kept {
  const Multiplied* type = nullptr;
  bool as_half = false, plain = false;
  unsigned steps = 0;
  uint32_t words[8][kLanes];
  Numbers numbers;
  SpreadRows rows;  // of A
};

// The multiplicand in the registers from slot `first` on; `kept` are those that were read before.
template <size_t kMany>
const Kept& read_kept(Warp& w, const Instruction& in, const MmaPlan& plan, bool rows, Kept (&kept)[kMany]) {
  const unsigned first = rows ? plan.a_slot : plan.b_slot, registers = (rows ? plan.b_slot : plan.c_slot) - first;
  const Multiplied* type = rows ? plan.a : plan.b;
  Kept& s = kept[slot(in, first) / (kLanes * sizeof(uint32_t)) % kMany];
  bool same = s.type == type && s.as_half == plan.how.apart && s.steps == plan.k;
  for (unsigned r = 0; r < registers && same; ++r) {
    same = std::memcmp(s.words[r], held<uint32_t>(w, in, first + r), sizeof s.words[r]) == 0;
  }
  if (same) return s;
  s.type = type;
  s.as_half = plan.how.apart;
  s.steps = plan.k;
  for (unsigned r = 0; r < registers; ++r) std::memcpy(s.words[r], held<uint32_t>(w, in, first + r), sizeof s.words[r]);
  s.numbers.resize(rows ? kMostRows : kColumns, plan.k);
  read_fragment(w, in, first, *type, plan.how.apart, rows ? kRowAt : kColumnAt, &s.numbers);
  s.plain = s.numbers.plain();
  if (s.plain && rows) s.rows.spread(s.numbers);
  return s;
}

// A product whose numbers are all plain, with sums in f32; false, and nothing is done, where they are not, or it has what
// TensorSum is for.
bool multiply_plain(Warp& w, const Instruction& in, const MmaPlan& plan, uint32_t mask) {
  if (plan.m != kMostRows || !adds_fragments(plan.how, plan.sum, plan.k)) return false;
  static thread_local Kept kept_a[4], kept_b[8];
  const Kept& a = read_kept(w, in, plan, true, kept_a);
  const Kept& b = read_kept(w, in, plan, false, kept_b);
  if (!a.plain || !b.plain) return false;
  constexpr unsigned kRegisters = kMostRows * kColumns / kLanes;
  alignas(64) float sums[kRegisters][kLanes];
  float* const places[kRegisters] = {sums[0], sums[1], sums[2], sums[3]};
  for (unsigned r = 0; r < kRegisters; ++r) {
    std::memcpy(sums[r], held<float>(w, in, plan.c_slot + r), sizeof sums[r]);
  }
  FragmentSum(plan.how, a.rows, b.numbers).add(0, places);
  for (unsigned r = 0; r < kRegisters; ++r) {
    float* d = held<float>(w, in, r);
    if (mask == kFullMask) std::memcpy(d, sums[r], sizeof sums[r]);
    for (unsigned l = 0; mask != kFullMask && l < kLanes; ++l) d[l] = (mask >> l & 1u) ? sums[r][l] : d[l];
  }
  return true;
}

void multiply(Warp& w, const Instruction& in, uint32_t mask) {
  if (!together(w, in, mask)) return;
  const auto& plan = *static_cast<const MmaPlan*>(in.plan);
  if (plan.sparsity.bits == 0 && plan.scaling.factor == nullptr && multiply_plain(w, in, plan, mask)) return;
  static thread_local Numbers a, b;
  uint8_t places[kMostRows][kMostK];
  const bool sparse = plan.sparsity.bits != 0;
  Selected of_a, of_b;
  if (!select(w, in, plan.scaling, plan.scaling.a_slot, 2, &of_a) ||
      !select(w, in, plan.scaling, plan.scaling.b_slot, 4, &of_b) || (sparse && !read_places(w, in, plan, places))) {
    return;
  }
  a.resize(plan.m, sparse ? plan.sparsity.stored : plan.k);
  b.resize(kColumns, plan.k);
  read_fragment(w, in, plan.a_slot, *plan.a, plan.how.apart, kRowAt, &a);
  read_fragment(w, in, plan.b_slot, *plan.b, plan.how.apart, kColumnAt, &b);
  read_factors(w, in, plan, plan.scaling.a_slot, of_a.byte, sparse ? places : nullptr, [&](unsigned row) {
    return row % kBlockLines * kLineLanes + 2 * of_a.thread + row / kBlockLines;
  }, &a);
  read_factors(w, in, plan, plan.scaling.b_slot, of_b.byte, nullptr, [&](unsigned at) {
    return (at % kLineLanes * 2 + at / kLineLanes) * kLineLanes + of_b.thread;
  }, &b);
  uint32_t results[kMostRows][kColumns];
  if (!sparse && plan.scaling.factor == nullptr) {
    add_columns(w, in, plan, a, b, results);
  } else {
    TensorSum sum(plan.how, plan.sum, a, b);
    for (unsigned row = 0; row < plan.m; ++row) {
      add_row(w, in, plan, row, sparse ? places[row] : nullptr, &sum, results[row]);
    }
  }
  for (unsigned row = 0; row < plan.m; ++row) {
    const unsigned pair = row / kBlockLines, quad = row % kBlockLines * kLineLanes;
    for (unsigned i = 0; i < kLineLanes; ++i) {
      if (!(mask >> (quad + i) & 1u)) continue;
      const uint32_t low = results[row][i], high = results[row][i + kLineLanes];
      if (plan.sum == Sum::F16) {
        held<uint32_t>(w, in, pair)[quad + i] = low | high << 16;
      } else {
        held<uint32_t>(w, in, 2 * pair)[quad + i] = low;
        held<uint32_t>(w, in, 2 * pair + 1)[quad + i] = high;
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
  if (kind.scaled) {
    plan->scaling.least = m.peek() == "ue4m3" ? -6 : -127;
    plan->scaling.factor = factor(m.next());
  }
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
  plan.how = addition_of(d.sm, TensorUnit::Mma, *plan.a, *plan.b, kind->scaled);
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
