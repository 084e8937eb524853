// tcgen05.ld and tcgen05.st: the registers of a warp from and to its lanes of Tensor Memory (PTX ISA, "tcgen05.ld",
// and the figures of its shapes).
#include <algorithm>
#include <cstring>

#include "tcgen05.h"

namespace pyptx::emulator {
namespace {

struct Cell {
  unsigned row, column;  // from the instruction's address on
};

struct Shape {
  std::string_view name;
  unsigned rows, per_count;  // lanes, and registers of .x1
  unsigned wide;             // columns of .x1
  Cell (*at)(unsigned lane, unsigned reg);
};

// In 16x32bx2 the upper lanes hold a second part, which begins further right.
constexpr std::string_view kTwoParts = "16x32bx2";
constexpr Shape kShapes[] = {
    {"32x32b", 32, 1, 1, [](unsigned l, unsigned r) { return Cell{l, r}; }},
    {"16x64b", 16, 1, 2, [](unsigned l, unsigned r) { return Cell{l / 4 + 8 * (l % 2), 2 * r + l / 2 % 2}; }},
    {"16x128b", 16, 2, 4, [](unsigned l, unsigned r) { return Cell{l / 4 + 8 * (r % 2), 4 * (r / 2) + l % 4}; }},
    {"16x256b", 16, 4, 8,
     [](unsigned l, unsigned r) { return Cell{l / 4 + 8 * (r / 2 % 2), 8 * (r / 4) + 2 * (l % 4) + r % 2}; }},
    {kTwoParts, 16, 1, 1, [](unsigned l, unsigned r) { return Cell{l % 16, r}; }},
};

// ld.red: the least or the greatest of what a thread loads. The manual says nothing else of it, so of floats it is what
// redux.sync gives: NaNs lose against numbers, or win with .NaN; -0 is less than +0; .abs is of every value.
struct Reduction {
  bool there = false, largest = false, absolute = false, propagates = false;
  Type type = Type::None;
  unsigned to = 0;  // slot
};

struct MovePlan {
  const Shape* shape = nullptr;
  unsigned count = 1, registers = 1;
  bool halves = false;  // .pack::16b, .unpack::16b: two columns for a register
  uint32_t split = 0;   // of 16x32bx2: columns from one part to the other
  TensorPointer address;
  unsigned data = 0;  // slot of the first register
  Reduction reduction;

  unsigned columns() const { return shape->wide * count * (halves ? 2 : 1); }
};

const MovePlan& plan_of(const Instruction& in) { return *static_cast<const MovePlan*>(in.plan); }

// What an instruction touches: one rectangle, or two of the two parts.
struct Places {
  unsigned count = 1;
  TensorPlace at[2];
};

Places places_of(const MovePlan& plan, TensorAddress address) {
  Places places;
  places.at[0] = places.at[1] = {address.lane, plan.shape->rows, address.column, plan.columns()};
  if (plan.shape->name == kTwoParts) {
    places.count = 2;
    places.at[1].first_column += plan.split;
  }
  return places;
}

// The cells of a lane's register: f(cell, shift of its bits in the register, bits).
template <class F>
void each_part(const MovePlan& plan, TensorMemory& memory, TensorAddress address, unsigned lane, unsigned reg, F f) {
  const Cell cell = plan.shape->at(lane, reg);
  const uint32_t part = plan.shape->name == kTwoParts && lane >= 16 ? plan.split : 0;
  const uint32_t row = address.lane + cell.row;
  if (!plan.halves) {
    f(memory.at(row, address.column + part + cell.column), 0u, 32u);
    return;
  }
  for (unsigned half = 0; half < 2; ++half) {
    f(memory.at(row, address.column + part + 2 * cell.column + half), 16 * half, 16u);
  }
}

// Bits in whose order, as unsigned integers, values are.
uint32_t order_of(Type type, uint32_t bits) {
  if (type == Type::U32) return bits;
  if (type == Type::S32) return bits ^ 0x80000000u;
  return bits >> 31 != 0 ? ~bits : bits | 0x80000000u;
}

uint32_t reduced(const Reduction& r, const std::vector<uint32_t>& values) {
  bool any = false, nan = false;
  uint32_t best = 0;
  for (const uint32_t value : values) {
    const uint32_t x = r.absolute ? value & 0x7fffffffu : value;
    if (r.type == Type::F32 && (x & 0x7fffffffu) > 0x7f800000u) {
      nan = true;
      continue;
    }
    const uint32_t mine = order_of(r.type, x), others = order_of(r.type, best);
    if (!any || (r.largest ? mine > others : mine < others)) best = x;
    any = true;
  }
  return !any || (nan && r.propagates) ? 0x7fffffffu : best;
}

void reduce(Warp& w, const Instruction& in, uint32_t mask) {
  const MovePlan& plan = plan_of(in);
  std::vector<uint32_t> values(plan.registers);
  for (unsigned l = 0; l < kLanes; ++l) {
    if (!(mask >> l & 1u)) continue;
    for (unsigned r = 0; r < plan.registers; ++r) values[r] = held<uint32_t>(w, in, plan.data + r)[l];
    held<uint32_t>(w, in, plan.reduction.to)[l] = reduced(plan.reduction, values);
  }
}

void load(Warp& w, const Instruction& in, uint32_t mask, uint32_t address) {
  const MovePlan& plan = plan_of(in);
  TensorMemory& memory = tensor_memory(*w.cta);
  for (unsigned r = 0; r < plan.registers; ++r) {
    uint32_t* lanes = held<uint32_t>(w, in, plan.data + r);
    for (unsigned l = 0; l < kLanes; ++l) {
      if (!(mask >> l & 1u)) continue;
      uint32_t value = 0;
      each_part(plan, memory, tensor_address(address), l, r, [&](uint32_t& cell, unsigned shift, unsigned bits) {
        value |= (bits == 32 ? cell : cell & 0xffffu) << shift;
      });
      lanes[l] = value;
    }
  }
  if (plan.reduction.there) reduce(w, in, mask);
}

void store(Warp& w, const Instruction& in, uint32_t mask, uint32_t address, const std::vector<uint32_t>& values) {
  const MovePlan& plan = plan_of(in);
  TensorMemory& memory = tensor_memory(*w.cta);
  for (unsigned r = 0; r < plan.registers; ++r) {
    for (unsigned l = 0; l < kLanes; ++l) {
      if (!(mask >> l & 1u)) continue;
      const uint32_t value = values[r * kLanes + l];
      each_part(plan, memory, tensor_address(address), l, r, [&](uint32_t& cell, unsigned shift, unsigned bits) {
        cell = bits == 32 ? value : value >> shift & 0xffffu;
      });
    }
  }
}

// ---- Issuing ---------------------------------------------------------------------------------------------

// The address that all lanes have, in the lanes that the warp reaches; false, and a finding, for another.
bool find_address(Warp& w, const Instruction& in, uint32_t mask, uint32_t* address) {
  const MovePlan& plan = plan_of(in);
  const uint32_t* lanes = held<uint32_t>(w, in, plan.address.slot);
  const auto first = static_cast<unsigned>(__builtin_ctz(mask));
  *address = lanes[first] + plan.address.offset;
  for (unsigned l = first; l < kLanes; ++l) {
    if (!(mask >> l & 1u) || lanes[l] == lanes[first]) continue;
    wrong_tensor_memory(w, in, l, "its address is not that of lane " + std::to_string(first));
    return false;
  }
  const uint32_t lane = tensor_address(*address).lane, own = w.index % kWarpgroupWarps * kQuarterLanes;
  if (lane == own || (plan.shape->rows == 16 && lane == own + 16)) return true;
  wrong_tensor_memory(w, in, first,
                      "its address is of lane " + std::to_string(lane) + "; warp " + std::to_string(w.index) +
                          " reaches lanes " + std::to_string(own) + " to " + std::to_string(own + 31) +
                          ", and this shape begins at the first" +
                          (plan.shape->rows == 16 ? " or the sixteenth behind it" : ""));
  return false;
}

bool check_places(Warp& w, const Instruction& in, unsigned lane, const Places& places, bool is_store, bool sanitized) {
  for (unsigned i = 0; i < places.count; ++i) {
    if (!check_tensor_place(w, in, lane, *w.cta, places.at[i])) return false;
    if (!sanitized) continue;
    check_tensor(w, in, lane, *w.cta, places.at[i], is_store ? TensorUse::Store : TensorUse::Load, is_store, nullptr);
    if (!is_store) check_tensor_written(w, in, lane, *w.cta, places.at[i]);
    else note_tensor_written(*w.cta, places.at[i]);
  }
  return true;
}

bool ends_late(const Warp& w) { return w.worker->launch->completion != Completion::Eager; }

template <bool kSanitized>
void issue_load(Warp& w, const Instruction& in, uint32_t mask) {
  if (!together(w, in, mask)) return;
  const MovePlan& plan = plan_of(in);
  uint32_t address;
  if (!find_address(w, in, mask, &address)) return;
  const auto lane = static_cast<unsigned>(__builtin_ctz(mask));
  if (!check_places(w, in, lane, places_of(plan, tensor_address(address)), false, kSanitized)) return;
  if (kSanitized) hold_loaded_registers(w, in);
  if (!ends_late(w)) {
    load(w, in, mask, address);
    return;
  }
  for (unsigned r = 0; kSanitized && r < plan.registers; ++r) {
    std::memset(held<uint32_t>(w, in, plan.data + r), 0xff, kLanes * 4);
  }
  if (kSanitized && plan.reduction.there) std::memset(held<uint32_t>(w, in, plan.reduction.to), 0xff, kLanes * 4);
  tensor_memory(*w.cta).moves[w.index].loads.push_back({&in, mask, address, {}});
}

template <bool kSanitized>
void issue_store(Warp& w, const Instruction& in, uint32_t mask) {
  if (!together(w, in, mask)) return;
  const MovePlan& plan = plan_of(in);
  uint32_t address;
  if (!find_address(w, in, mask, &address)) return;
  const Places places = places_of(plan, tensor_address(address));
  const auto lane = static_cast<unsigned>(__builtin_ctz(mask));
  if (!check_places(w, in, lane, places, true, kSanitized)) return;
  TensorMemory& memory = tensor_memory(*w.cta);
  std::vector<uint32_t> values(size_t{plan.registers} * kLanes);
  for (unsigned r = 0; r < plan.registers; ++r) {
    std::memcpy(&values[size_t{r} * kLanes], held<uint32_t>(w, in, plan.data + r), kLanes * 4);
  }
  if (ends_late(w)) memory.moves[w.index].stores.push_back({&in, mask, address, std::move(values)});
  else store(w, in, mask, address, values);
}

// ---- Decoding --------------------------------------------------------------------------------------------

bool read_count(std::string_view text, unsigned* count) {
  if (text.size() < 2 || text[0] != 'x') return false;
  *count = 0;
  for (const char c : text.substr(1)) {
    if (c < '0' || c > '9' || *count > 128) return false;
    *count = *count * 10 + static_cast<unsigned>(c - '0');
  }
  return *count != 0 && *count <= 128;
}

bool bind_sources(Decoding& d, unsigned operand) {
  for (unsigned e = 0; e < d.elements(operand); ++e) {
    if (!d.bind_source(d.element(operand, e), 32, 32)) return false;
  }
  return true;
}

// .redOp{.abs}{.NaN}.type
bool read_reduction(Modifiers& m, Reduction* r) {
  r->largest = m.take("max");
  if (!r->largest && !m.take("min")) return false;
  r->absolute = m.take("abs");
  r->propagates = m.take("NaN");
  r->type = m.type();
  const bool plain = !r->absolute && !r->propagates;
  return r->type == Type::F32 || ((r->type == Type::U32 || r->type == Type::S32) && plain);
}

}  // namespace

// ld.sync.aligned.shape.num{.pack::16b}.b32 r, [taddr] {, split}; st has [taddr] {, split}, r; ld.red has redval
// behind r
Handler resolve_tensor_move(Decoding& d, Modifiers& m, bool store) {
  MovePlan plan;
  plan.reduction.there = !store && m.take("red");
  if (!m.take("sync") || !m.take("aligned")) return nullptr;
  const std::string_view name = m.next();
  for (const Shape& shape : kShapes) {
    if (shape.name == name) plan.shape = &shape;
  }
  if (plan.shape == nullptr || !read_count(m.next(), &plan.count)) return nullptr;
  const bool reduces = plan.reduction.there;
  plan.halves = !reduces && m.take(store ? "unpack::16b" : "pack::16b");
  plan.registers = plan.shape->per_count * plan.count;
  const bool parts = name == kTwoParts;
  if (reduces && plan.shape->rows != 32 && !parts) return nullptr;
  if (!(reduces ? read_reduction(m, &plan.reduction) && plan.count > 1 : m.take("b32")) || !m.done()) return nullptr;
  if (d.operands.size() != (parts ? 3u : 2u) + reduces) return nullptr;
  const unsigned address = store ? 0 : 1 + reduces, data = store ? (parts ? 2 : 1) : 0;
  if (parts) {
    const OperandView* split = d.view(store ? 1 : 2 + reduces);
    if (split->kind != OperandView::Kind::Immediate) return nullptr;
    plan.split = static_cast<uint32_t>(split->bits);
  }
  if (!bind_tensor_pointer(d, address, &plan.address) || d.elements(data) != plan.registers) return nullptr;
  plan.data = d.bound();
  if (!(store ? bind_sources(d, data) : d.loads(data))) return nullptr;
  plan.reduction.to = d.bound();
  if (reduces && !d.loads(1)) return nullptr;
  d.out->plan = d.keep(plan);
  d.out->sanitized = store ? issue_store<true> : issue_load<true>;
  return store ? issue_store<false> : issue_load<false>;
}

void finish_tensor_loads(Warp& w) {
  TensorMoves& moves = tensor_memory(*w.cta).moves[w.index];
  for (const TensorMove& move : moves.loads) load(w, *move.at, move.mask, move.address);
  moves.loads.clear();
}

void finish_tensor_stores(Warp& w) {
  TensorMoves& moves = tensor_memory(*w.cta).moves[w.index];
  for (const TensorMove& move : moves.stores) store(w, *move.at, move.mask, move.address, move.values);
  moves.stores.clear();
}

}  // namespace pyptx::emulator
