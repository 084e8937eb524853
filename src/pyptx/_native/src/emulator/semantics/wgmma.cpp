// wgmma: multiplications of a warpgroup, their descriptors, fences and groups (PTX ISA, "Asynchronous Warpgroup Level
// Matrix Instructions").
//
// Sums are those of tensor_sum.h.
#include <algorithm>
#include <cstring>

#include "access.h"
#include "matrix.h"
#include "modifiers.h"
#include "multiplicand.h"
#include "shared_matrix.h"
#include "sparsity.h"
#include "spelling.h"
#include "tensor_sum.h"

namespace pyptx::emulator {
namespace {

// kKBytes: of A's rows. Where half of A is left out, B's columns have twice as many.
constexpr unsigned kWarpRows = 16, kKBytes = 32, kWordsOfK = kKBytes / 4;

struct ProductPlan {
  unsigned n = 0, k = 0;
  const Multiplied *a = nullptr, *b = nullptr;  // nullptr: single bits
  Sum sum = Sum::F32;
  Addition how;
  bool satfinite = false, in_registers = false;
  bool a_columns = false, b_columns = false;  // MN-major: along M or N values are next to each other
  double a_sign = 1, b_sign = 1;
  unsigned a_slot = 0, d_slot = 0, registers = 0;
  unsigned metadata_slot = 0;
  Sparsity sparsity;

  bool sparse() const { return sparsity.bits != 0; }
  unsigned stored() const { return sparse() ? k / 2 : k; }  // elements of A's rows
};

const ProductPlan& plan_of(const Instruction& in) { return *static_cast<const ProductPlan*>(in.plan); }

constexpr uint64_t kReserved = 0x3ff1c000c000c000ull;

// "Matrix Descriptor Format".
SharedMatrix read_descriptor(uint64_t bits) {
  constexpr uint32_t kSwizzles[] = {0, 3, 2, 1};
  return read_matrix(bits, kSwizzles[bits >> 62]);
}

// ---- Multiplying -----------------------------------------------------------------------------------------

uint32_t bits_at(const uint8_t* place, unsigned bytes) {
  uint32_t bits = 0;
  std::memcpy(&bits, place, bytes);
  return bits;
}

// Columns of B are in the order in which registers of a quad have them: even ones of eight, then odd ones.
struct ColumnOrder {
  static unsigned at(unsigned n) { return (n & ~7u) | (n & 1u) << 2 | (n & 7u) >> 1; }
  static unsigned line(unsigned at) { return (at & ~7u) | (at & 3u) << 1 | (at & 7u) >> 2; }
};

template <class Order>
void load_numbers(const Cta& cta, const std::vector<uint32_t>& places, const Multiplied& type, bool columns,
                  bool negated, Numbers* numbers) {
  const LineRange all{0, numbers->count};
  if (type.bits == 8) load_rows<uint8_t, Order>(cta, places, all, numbers);  // MN-major are 16 bits alone
  else if (type.bits == 32) load_rows<uint32_t, Order>(cta, places, all, numbers);
  else if (columns) load_columns<uint16_t, Order>(cta, places, all, numbers);
  else load_rows<uint16_t, Order>(cta, places, all, numbers);
  numbers->read(type, negated);
}

// B with the bytes that it was read from.
struct KeptColumns {
  const Multiplied* type = nullptr;
  bool columns = false, negated = false;
  std::vector<uint8_t> bytes;
  Numbers numbers;
};

bool same_bytes(const uint8_t* shared, const std::vector<uint32_t>& places, const std::vector<uint8_t>& bytes) {
  if (bytes.size() != places.size() * kChunk) return false;
  for (size_t i = 0; i < places.size(); ++i) {
    if (std::memcmp(shared + places[i], &bytes[i * kChunk], kChunk) != 0) return false;
  }
  return true;
}

// Warpgroups that share a tile, and loops over one, multiply by the same columns again.
Numbers& load_b(const Part& part, const ProductPlan& plan) {
  constexpr unsigned kKept = 8;
  static thread_local KeptColumns all[kKept];
  const std::vector<uint32_t>& places = *part.b_places;
  const uint8_t* shared = part.warp->cta->shared;
  KeptColumns& kept = all[places[0] / kKBytes % kKept];
  const bool negated = plan.b_sign < 0;
  const bool same = kept.type == plan.b && kept.columns == plan.b_columns && kept.negated == negated &&
                    kept.numbers.count == plan.n && kept.numbers.steps == plan.k;
  if (same && same_bytes(shared, places, kept.bytes)) return kept.numbers;
  kept.type = plan.b;
  kept.columns = plan.b_columns;
  kept.negated = negated;
  kept.bytes.resize(places.size() * kChunk);
  for (size_t i = 0; i < places.size(); ++i) std::memcpy(&kept.bytes[i * kChunk], shared + places[i], kChunk);
  kept.numbers.resize(plan.n, plan.k);
  load_numbers<ColumnOrder>(*part.warp->cta, places, *plan.b, plan.b_columns, negated, &kept.numbers);
  return kept.numbers;
}

void load_a(const Part& part, const ProductPlan& plan, Numbers* a) {
  a->resize(kWarpRows, plan.stored());
  if (!plan.in_registers) {
    load_numbers<LineOrder>(*part.warp->cta, *part.a_places, *plan.a, plan.a_columns, plan.a_sign < 0, a);
    return;
  }
  for (unsigned k = 0; k < plan.stored(); ++k) {
    for (unsigned row = 0; row < kWarpRows; ++row) {
      a->bits[a->at(k, row)] = element(*part.warp, *part.at, plan.a_slot, kWarpRows, plan.a->bits, row, k);
    }
  }
  a->read(*plan.a, plan.a_sign < 0);
}

// Row by row the sums of single bits: how many of A and B are both one.
std::vector<uint32_t> count_bits(const Part& part, const ProductPlan& plan) {
  const uint8_t* shared = part.warp->cta->shared;
  const auto word = [&](const std::vector<uint32_t>& places, unsigned line, unsigned k) {
    return bits_at(shared + places[line * 2 + k / 4] + k % 4 * 4, 4);
  };
  std::vector<uint32_t> sums(size_t{kWarpRows} * plan.n);
  for (unsigned row = 0; row < kWarpRows; ++row) {
    for (unsigned k = 0; k < kWordsOfK; ++k) {
      const uint32_t a = plan.in_registers ? element(*part.warp, *part.at, plan.a_slot, kWarpRows, 32, row, k)
                                           : word(*part.a_places, row, k);
      for (unsigned n = 0; n < plan.n; ++n) {
        const auto ones = static_cast<uint32_t>(__builtin_popcount(a & word(*part.b_places, n, k)));
        sums[row * plan.n + ColumnOrder::at(n)] += ones;
      }
    }
  }
  return sums;
}

bool same_accumulators(const Instruction& a, const Instruction& b) {
  const ProductPlan &p = plan_of(a), &q = plan_of(b);
  if (&a == &b || p.registers != q.registers) return &a == &b;
  const uint32_t* mine = (a.more != nullptr ? a.more : a.operand) + p.d_slot;
  const uint32_t* other = (b.more != nullptr ? b.more : b.operand) + q.d_slot;
  return std::memcmp(mine, other, p.registers * sizeof *mine) == 0;
}

// The part of a multiplication under way that has the accumulators of `part` and is the next after it, or, without
// one, before all that are later.
Part* next_part(Warp& w, const Operation* after, const Instruction& in) {
  bool behind = after == nullptr;
  for (const Pending& p : w.products) {
    Part* other = p.operation->product->part_of(w);
    if (behind && p.operation->stage != Stage::Done && same_accumulators(*other->at, in)) return other;
    behind |= p.operation.get() == after;
  }
  return nullptr;
}

void save_sums(Part& part) {
  const ProductPlan& plan = plan_of(*part.at);
  part.sums.resize(size_t{plan.registers} * kLanes);
  for (unsigned i = 0; i < plan.registers; ++i) {
    std::memcpy(&part.sums[size_t{i} * kLanes], held<uint32_t>(*part.warp, *part.at, plan.d_slot + i), kLanes * 4);
  }
}

// Hidden ones to the registers, or where the next multiplication has them.
void deliver_sums(const Operation& op, Part& part) {
  const ProductPlan& plan = plan_of(*part.at);
  Part* next = next_part(*part.warp, &op, *part.at);
  if (next != nullptr) {
    next->sums = std::move(part.sums);
    return;
  }
  for (unsigned i = 0; i < plan.registers; ++i) {
    std::memcpy(held<uint32_t>(*part.warp, *part.at, plan.d_slot + i), &part.sums[size_t{i} * kLanes], kLanes * 4);
  }
  part.sums.clear();
}

// Where a part's accumulators are while it is multiplied, 32 lanes of each.
struct Accumulators {
  uint32_t* at[128];
};

void find_accumulators(Part& part, Accumulators* sums) {
  const ProductPlan& plan = plan_of(*part.at);
  for (unsigned i = 0; i < plan.registers; ++i) {
    sums->at[i] = part.hidden ? &part.sums[size_t{i} * kLanes] : held<uint32_t>(*part.warp, *part.at, plan.d_slot + i);
  }
}

// What lanes that are not of the part's mask hold of them, to be put there again.
std::vector<uint32_t> kept_sums(const Part& part, const Accumulators& sums) {
  std::vector<uint32_t> kept;
  for (unsigned i = 0; part.mask != kFullMask && i < plan_of(*part.at).registers; ++i) {
    kept.insert(kept.end(), sums.at[i], sums.at[i] + kLanes);
  }
  return kept;
}

void put_back(const Part& part, const std::vector<uint32_t>& kept, const Accumulators& sums) {
  for (size_t i = 0; i < kept.size(); ++i) {
    if (!(part.mask >> i % kLanes & 1u)) sums.at[i / kLanes][i % kLanes] = kept[i];
  }
}

// The accumulators of a row, `columns` from `first` on: of each eight two registers have four each, in the lanes of a
// quad, or one has two in each of them.
template <bool kStore>
void move_row(const ProductPlan& plan, const Accumulators& sums, unsigned row, unsigned first, unsigned columns,
              uint32_t* words) {
  const unsigned quad = row % kBlockLines * kLineLanes, pair = row / kBlockLines;
  if (plan.sum != Sum::F16) {
    uint32_t* const* held = sums.at + first / 2 + 2 * pair;
    for (unsigned n = 0; n < columns; n += kBlockLines, held += 4) {
      for (unsigned half = 0; half < 2; ++half) {
        uint32_t *of = words + n + half * kLineLanes, *lanes = held[half] + quad;
        if (kStore) std::memcpy(lanes, of, kLineLanes * 4);
        else std::memcpy(of, lanes, kLineLanes * 4);
      }
    }
    return;
  }
  for (unsigned n = 0; n < columns; n += kBlockLines) {
    const unsigned at = (first + n) / kBlockLines * 2 + pair;
    for (unsigned half = 0; half < 2; ++half) {
      uint32_t* of = words + n + half * kLineLanes;
      uint32_t* held = sums.at[at] + quad;
      for (unsigned i = 0; i < kLineLanes; ++i) {
        const uint32_t other = held[i] & ~(0xffffu << 16 * half);
        if (kStore) held[i] = other | of[i] << 16 * half;
        else of[i] = held[i] >> 16 * half & 0xffffu;
      }
    }
  }
}

// The same of plain numbers, eight columns at once: their sums are in four registers, and stay there.
void accumulate_fragments(const ProductPlan& plan, const Accumulators& sums, bool accumulates, const Numbers& a,
                          const Numbers& b) {
  SpreadRows rows;
  rows.spread(a);
  FragmentSum sum(plan.how, rows, b);
  constexpr unsigned kRegisters = 4;
  for (unsigned at = 0; at < plan.registers; at += kRegisters) {
    float* places[kRegisters];
    for (unsigned i = 0; i < kRegisters; ++i) {
      places[i] = reinterpret_cast<float*>(sums.at[at + i]);
      if (!accumulates) std::fill_n(places[i], kLanes, 0.0f);
    }
    sum.add(at / kRegisters * kBlockLines, places);
  }
}

// Row by row. So many columns at once, that B's stay in the host's first cache while rows take turns.
void accumulate_rows(const Part& part, const Accumulators& sums, Numbers& a, Numbers& b) {
  const ProductPlan& plan = plan_of(*part.at);
  TensorSum sum(plan.how, plan.sum, a, b);
  const unsigned tile = plan.sparse() ? plan.n : 64;
  for (unsigned first = 0; first < plan.n; first += tile) {
    const unsigned columns = std::min(tile, plan.n - first);
    for (unsigned row = 0; row < a.count; ++row) {
      uint32_t words[256];
      uint8_t places[kMostK];
      std::string note;
      if (plan.sparse()) find_places(plan.sparsity, part.metadata.data(), row, places, &note);  // known to have a meaning
      if (part.accumulates) move_row<false>(plan, sums, row, first, columns, words);
      else std::fill(words, words + columns, 0u);
      sum.add(row, first, columns, plan.sparse() ? places : nullptr, plan.satfinite, 0, words);
      move_row<true>(plan, sums, row, first, columns, words);
    }
  }
}

void accumulate_bits(const Part& part, const Accumulators& sums) {
  const ProductPlan& plan = plan_of(*part.at);
  const std::vector<uint32_t> counts = count_bits(part, plan);
  for (unsigned row = 0; row < kWarpRows; ++row) {
    uint32_t words[256] = {};
    if (part.accumulates) move_row<false>(plan, sums, row, 0, plan.n, words);
    for (unsigned n = 0; n < plan.n; ++n) words[n] += counts[row * plan.n + n];
    move_row<true>(plan, sums, row, 0, plan.n, words);
  }
}

// Adds the products of a warp's rows to the accumulators that its lanes hold, or puts them there.
void accumulate(Part& part, Numbers* b) {
  static thread_local Numbers a;
  const ProductPlan& plan = plan_of(*part.at);
  Accumulators sums;
  find_accumulators(part, &sums);
  const std::vector<uint32_t> kept = kept_sums(part, sums);
  if (plan.a == nullptr) {
    accumulate_bits(part, sums);
  } else {
    load_a(part, plan, &a);
    const bool plain = a.plain() && b->plain() && !plan.sparse();
    if (plain && adds_fragments(plan.how, plan.sum, plan.k)) {
      accumulate_fragments(plan, sums, part.accumulates, a, *b);
    } else {
      accumulate_rows(part, sums, a, *b);
    }
  }
  put_back(part, kept, sums);
}

// ---- Issuing ---------------------------------------------------------------------------------------------

// A 64-bit operand that all lanes must have alike.
bool read_uniform(Warp& w, const Instruction& in, uint32_t mask, unsigned k, const char* what, uint64_t* value) {
  const uint64_t* lanes = source<uint64_t>(w, in, k);
  const auto first = static_cast<unsigned>(__builtin_ctz(mask));
  *value = lanes[first];
  for (unsigned l = first; l < kLanes; ++l) {
    if (!(mask >> l & 1u) || lanes[l] == *value) continue;
    wrong_matrix(w, in, l, std::string("its descriptor of ") + what + " is not that of lane " + std::to_string(first));
    return false;
  }
  if ((*value & kReserved) == 0) return true;
  char text[96];
  std::snprintf(text, sizeof text, "the descriptor of %s, 0x%016llx, has bits in places that no field has", what,
                static_cast<unsigned long long>(*value));
  wrong_matrix(w, in, first, text);
  return false;
}

// The metadata as they are now: the manual lets their register be used again at once.
bool read_metadata(Warp& w, const Instruction& in, const ProductPlan& plan, Part* part) {
  const uint32_t* words = held<uint32_t>(w, in, plan.metadata_slot);
  part->metadata.assign(words, words + kLanes);
  for (unsigned row = 0; row < kWarpRows; ++row) {
    uint8_t places[kMostK];
    std::string note;
    if (find_places(plan.sparsity, words, row, places, &note)) continue;
    wrong_matrix(w, in, row % kBlockLines * kLineLanes + plan.sparsity.first, note);
    return false;
  }
  return true;
}

// The part of this multiplication that another warp has issued already.
const Part* other_part(const Warp& w) {
  const Warpgroup& group = w.cta->warpgroups[w.index / kWarpgroupWarps];
  const uint32_t ahead = w.products_issued - group.issued;
  if (w.products_issued < group.issued || ahead >= group.open.size() || group.open[ahead] == nullptr) return nullptr;
  return &group.open[ahead]->product->parts[0];
}

bool read_part(Warp& w, const Instruction& in, uint32_t mask, Part* part) {
  const ProductPlan& plan = plan_of(in);
  const uint32_t accumulates = predicate(w, in, 0) & mask;
  if (accumulates != 0 && accumulates != mask) {
    wrong_matrix(w, in, 0, "scale-d holds in some lanes and not in others");
    return false;
  }
  *part = Part();
  part->warp = &w;
  part->at = &in;
  part->mask = mask;
  part->accumulates = accumulates != 0;
  if (plan.sparse() && !read_metadata(w, in, plan, part)) return false;
  const auto find = [&](bool columns, uint32_t first, uint32_t count, uint32_t bytes, uint64_t bits,
                        ChunkPlaces* places) {
    const ChunkRange range = columns ? ChunkRange{first / kBlockLines, count / kBlockLines, 0, bytes / 2}
                                     : ChunkRange{0, bytes / kChunk, first, count};
    *places = find_chunks(w, in, *w.cta, read_descriptor(bits), columns, range);
    return *places != nullptr;
  };
  if (!read_uniform(w, in, mask, 1, "B", &part->b)) return false;
  const Part* other = other_part(w);
  if (other != nullptr && other->at == &in && other->b == part->b) {  // all warps read the same B
    part->b_places = other->b_places;
  } else if (!find(plan.b_columns, 0, plan.n, plan.sparse() ? 2 * kKBytes : kKBytes, part->b, &part->b_places)) {
    return false;
  }
  if (plan.in_registers) return true;
  const uint32_t row = w.index % kWarpgroupWarps * kWarpRows;
  return read_uniform(w, in, mask, plan.a_slot, "A", &part->a) &&
         find(plan.a_columns, row, kWarpRows, kKBytes, part->a, &part->a_places);
}

// The accumulators' registers make no sense until the multiplication ends.
void hide_sums(Warp& w, Part& part) {
  const ProductPlan& plan = plan_of(*part.at);
  part.hidden = true;
  if (next_part(w, nullptr, *part.at) != nullptr) return;  // an earlier one hands its values on
  save_sums(part);
  for (unsigned i = 0; i < plan.registers; ++i) {
    std::memset(held<uint32_t>(w, *part.at, plan.d_slot + i), 0xff, kLanes * 4);
  }
}

template <bool kSanitized>
void issue_part(Warp& w, const Instruction& in, uint32_t mask) {
  if (!together(w, in, mask)) return;
  const uint32_t warpgroup = w.index / kWarpgroupWarps;
  if ((warpgroup + 1) * kWarpgroupWarps > w.cta->warps.size()) {
    wrong_matrix(w, in, 0, "a warpgroup has four warps, and the last of this CTA has " +
                               std::to_string(w.cta->warps.size() % kWarpgroupWarps));
    return;
  }
  Part part;
  if (!read_part(w, in, mask, &part)) return;
  if (kSanitized) {
    check_product_registers(w, in);
    if (w.worker->launch->completion != Completion::Eager) hide_sums(w, part);
  }
  const OperationPointer op = join_product(w, in, std::move(part));
  if (kSanitized) {
    order_product(w, *op);
    const Part &mine = *op->product->part_of(w), &first = op->product->parts[0];
    ProductRead* read = first.at == &in && first.b == mine.b ? &op->product->b_read : nullptr;
    if (mine.a_places != nullptr) check_product_shared(w, in, *w.cta, *mine.a_places, kChunk, 0, *op);
    check_product_shared(w, in, *w.cta, *mine.b_places, kChunk, 0, *op, read);
  }
  issue_products(*w.cta, warpgroup);
}

// ---- Fences and groups -----------------------------------------------------------------------------------

template <bool kSanitized>
void fence(Warp& w, const Instruction& in, uint32_t mask) {
  if (together(w, in, mask) && kSanitized) order_registers(w);
}

void commit_group(Warp& w, const Instruction& in, uint32_t mask) {
  if (!together(w, in, mask)) return;
  ++w.product_groups;
  w.product_place = {0, 0};
}

void wait_group(Warp& w, const Instruction& in, uint32_t mask) {
  if (!together(w, in, mask)) return;
  const auto but = static_cast<uint32_t>(in.immediate);
  if (!finish_products(w, but)) block(w, mask, in.index + 1, {Wait::Kind::Products, but, &in});
}

// ---- Decoding --------------------------------------------------------------------------------------------

// The number behind a letter, taken off the text; 0 where there is none.
unsigned take_number(std::string_view& text, char letter) {
  if (text.empty() || text[0] != letter) return 0;
  text.remove_prefix(1);
  unsigned value = 0;
  while (!text.empty() && text[0] >= '0' && text[0] <= '9' && value < 1000) {
    value = value * 10 + static_cast<unsigned>(text[0] - '0');
    text.remove_prefix(1);
  }
  return value;
}

// m64nNkK
bool read_shape(std::string_view name, ProductPlan* plan) {
  const unsigned m = take_number(name, 'm');
  plan->n = take_number(name, 'n');
  plan->k = take_number(name, 'k');
  return name.empty() && m == 64 && plan->n % kBlockLines == 0 && plan->n >= 8 && plan->n <= 256;
}

// {.satfinite}.dtype.atype.btype{.and.popc}
bool read_types(Modifiers& m, bool sparse, ProductPlan* plan) {
  plan->satfinite = m.take("satfinite");
  if (!read_sum(m.next(), &plan->sum)) return false;
  unsigned bits = 1;
  if (m.take("b1")) {
    if (!m.take("b1") || !m.take("and") || !m.take("popc") || plan->sum != Sum::S32) return false;
  } else {
    plan->a = multiplied(m.next());
    plan->b = multiplied(m.next());
    if (plan->a == nullptr || plan->b == nullptr || plan->a->bits != plan->b->bits) return false;
    bits = plan->a->bits;
    if (sparse) plan->sparsity.bits = bits;
  }
  return m.done() && bits != 4 && plan->stored() == kKBytes * 8 / bits;
}

bool read_number(const OperandView* v, uint64_t least, uint64_t most, uint64_t* value) {
  if (v == nullptr || v->kind != OperandView::Kind::Immediate) return false;
  *value = v->bits & 0xffffffffu;
  return *value == least || *value == most;
}

// imm-scale-a, imm-scale-b {, imm-trans-a} {, imm-trans-b}: the operands from k on.
bool read_numbers(const Decoding& d, unsigned k, ProductPlan* plan) {
  const unsigned transposes = plan->a != nullptr && plan->a->bits == 16 ? (plan->in_registers ? 1 : 2) : 0;
  if (plan->sum == Sum::S32) return d.operands.size() == k;
  if (d.operands.size() != k + 2 + transposes) return false;
  uint64_t scale_a, scale_b, a_columns = 0, b_columns = 0;
  if (!read_number(d.view(k), 1, 0xffffffffu, &scale_a) || !read_number(d.view(k + 1), 1, 0xffffffffu, &scale_b)) return false;
  if (transposes == 2 && !read_number(d.view(k + 2), 0, 1, &a_columns)) return false;
  if (transposes != 0 && !read_number(d.view(k + 1 + transposes), 0, 1, &b_columns)) return false;
  plan->a_sign = scale_a == 1 ? 1 : -1;
  plan->b_sign = scale_b == 1 ? 1 : -1;
  plan->a_columns = a_columns != 0;
  plan->b_columns = b_columns != 0;
  return true;
}

// sp-meta, sp-sel
bool bind_metadata(Decoding& d, unsigned k, ProductPlan* plan) {
  const OperandView* selector = d.view(k + 1);
  plan->sparsity.stored = plan->stored();
  plan->metadata_slot = d.bound();
  return d.source(k, 32) && selector != nullptr && selector->kind == OperandView::Kind::Immediate &&
         select_lanes(&plan->sparsity, selector->bits);
}

// scale-d is bound first, then B, the metadata, A and the accumulators, of which there may be many.
Handler resolve_product(Decoding& d, Modifiers& m) {
  ProductPlan plan;
  const bool sparse = m.take("sp");
  if (!m.take("sync") || !m.take("aligned") || !read_shape(m.next(), &plan)) return nullptr;
  if (!read_types(m, sparse, &plan) || sparse != plan.sparse()) return nullptr;
  if (plan.a != nullptr) plan.how = addition_of(d.sm, TensorUnit::Wgmma, *plan.a, *plan.b, false);
  plan.registers = plan.n / (plan.sum == Sum::F16 ? 4 : 2);
  plan.in_registers = d.elements(1) == 4;
  const unsigned scale = sparse ? 5 : 3;  // the operand scale-d
  if (d.operands.size() <= scale || d.elements(0) != plan.registers) return nullptr;
  if (!read_numbers(d, scale + 1, &plan)) return nullptr;
  if (!d.source(scale, 1) || !d.source(2, 64) || (sparse && !bind_metadata(d, 3, &plan))) return nullptr;
  plan.a_slot = d.bound();
  if (!(plan.in_registers ? d.inputs(1) : d.source(1, 64))) return nullptr;
  plan.d_slot = d.bound();
  if (!d.accumulators(0)) return nullptr;
  d.access(true, false, kChunk);
  d.out->detail = plan.n << 16 | plan.k;
  d.out->plan = d.keep(plan);
  d.out->sanitized = issue_part<true>;
  return issue_part<false>;
}

}  // namespace

void perform_product(Product& product, Operation& op) {
  const Part* before = nullptr;
  Numbers* b = nullptr;
  for (Part& part : product.parts) {
    const ProductPlan& plan = plan_of(*part.at);
    const bool shared = before != nullptr && before->at == part.at && before->b_places == part.b_places;
    if (plan.a != nullptr && !shared) b = &load_b(part, plan);
    before = &part;
    accumulate(part, b);
    if (part.hidden) deliver_sums(op, part);
  }
}

Handler resolve_warpgroup(Decoding& d) {
  if (d.opcode != "wgmma") return nullptr;
  Modifiers m(d);
  if (m.take("mma_async")) return resolve_product(d, m);
  if (d.spelling == "wgmma.fence.sync.aligned" && d.operands.empty()) {
    d.out->sanitized = fence<true>;
    return fence<false>;
  }
  if (d.spelling == "wgmma.commit_group.sync.aligned" && d.operands.empty()) return commit_group;
  const OperandView* but = d.view(0);
  if (d.spelling != "wgmma.wait_group.sync.aligned" || d.operands.size() != 1 ||
      but->kind != OperandView::Kind::Immediate) {
    return nullptr;
  }
  d.out->immediate = static_cast<int64_t>(std::min<uint64_t>(but->bits, 0x7fffffff));
  return wait_group;
}

}  // namespace pyptx::emulator
