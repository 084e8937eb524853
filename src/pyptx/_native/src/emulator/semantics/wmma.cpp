// wmma: matrices that a warp loads, multiplies and stores by instructions (PTX ISA, "Warp Level Matrix Instructions
// using wmma").
//
// Which elements of a matrix a lane holds is not specified. Here lane l holds the l-th part of 32 equal ones, of the
// rows of A and C, or the columns of B, one after the other; its registers are filled from the first on, and those that
// are left over hold zeros. So accumulators have the same places in f16 and in f32.
//
// Sums are those of mma (mma.cpp); those of f64 are fma after fma, in the order of k, from C on.
#include <algorithm>
#include <array>
#include <cstring>

#include "access.h"
#include "floating.h"
#include "matrix.h"
#include "modifiers.h"
#include "spelling.h"
#include "tensor_sum.h"

namespace pyptx::emulator {
namespace {

struct Shape {
  unsigned m = 0, n = 0, k = 0;
};

enum class Role : uint8_t { A, B, C };

// A matrix as a warp holds it: `lines` rows (of B: columns) of `along` elements.
struct Fragment {
  unsigned lines = 0, along = 0, bits = 0;
  unsigned first = 0, registers = 0;  // its slots

  unsigned run() const { return lines * along / kLanes; }  // elements of a lane
  unsigned width() const { return bits == 64 ? 64 : 32; }
};

uint64_t get(Warp& w, const Instruction& in, const Fragment& f, unsigned lane, unsigned i) {
  if (f.bits == 64) return held<uint64_t>(w, in, f.first + i)[lane];
  const unsigned per = 32 / f.bits;
  const uint32_t word = held<uint32_t>(w, in, f.first + i / per)[lane];
  return f.bits == 32 ? word : word >> i % per * f.bits & ((1u << f.bits) - 1);
}

void set(Warp& w, const Instruction& in, const Fragment& f, unsigned lane, unsigned i, uint64_t bits) {
  if (f.bits == 64) {
    held<uint64_t>(w, in, f.first + i)[lane] = bits;
    return;
  }
  const unsigned per = 32 / f.bits, shift = i % per * f.bits;
  uint32_t& word = held<uint32_t>(w, in, f.first + i / per)[lane];
  const uint32_t mask = (f.bits == 32 ? ~0u : (1u << f.bits) - 1) << shift;
  word = (word & ~mask) | (static_cast<uint32_t>(bits) << shift & mask);
}

// ---- load and store --------------------------------------------------------------------------------------

struct MovePlan : AccessPlan {
  Fragment fragment;
  bool across = false;  // lines are next to each other in memory, not what is along them
  bool strided = false;
  uint8_t stride = 0;  // slot
};

// What all lanes must have alike.
template <class T>
bool uniform(Warp& w, const Instruction& in, uint32_t mask, const T* values, const char* what) {
  const auto first = static_cast<unsigned>(__builtin_ctz(mask));
  for (unsigned l = first; l < kLanes; ++l) {
    if (!(mask >> l & 1u) || values[l] == values[first]) continue;
    wrong_matrix(w, in, l, std::string("its ") + what + " is not that of lane " + std::to_string(first));
    return false;
  }
  return true;
}

// Where the elements of each lane are, from its i-th on.
void addresses_of(const MovePlan& plan, uint64_t start, uint64_t stride, unsigned i, Addresses* out) {
  const Fragment& f = plan.fragment;
  for (unsigned l = 0; l < kLanes; ++l) {
    const unsigned element = l * f.run() + i, line = element / f.along, at = element % f.along;
    out->at[l] = start + (plan.across ? at * stride + line : line * stride + at) * f.bits / 8;
  }
}

template <bool kSanitized, bool kStore>
void move_fragment(Warp& w, const Instruction& in, uint32_t mask) {
  if (!together(w, in, mask)) return;
  const auto& plan = *static_cast<const MovePlan*>(in.plan);
  const Fragment& f = plan.fragment;
  Addresses a;
  read_addresses(w, in, plan, a);
  const auto first = static_cast<unsigned>(__builtin_ctz(mask));
  if (!uniform(w, in, mask, a.at, "address")) return;
  uint64_t stride = plan.across ? f.lines : f.along;
  if (plan.strided) {
    const uint32_t* strides = source<uint32_t>(w, in, plan.stride);
    if (!uniform(w, in, mask, strides, "stride")) return;
    stride = strides[first];
  }
  if (kStore) memory_changed(w);
  const uint64_t start = a.at[first];
  const unsigned step = std::max(1u, 8u * plan.bytes / f.bits);
  for (unsigned i = 0; i < f.run(); i += step) {
    addresses_of(plan, start, stride, i, &a);
    Places places;
    const uint32_t good = locate<kSanitized>(w, in, plan, plan.space, a, mask, places);
    if (w.worker->launch->stop.load(std::memory_order_relaxed)) return;
    for (unsigned l = 0; l < kLanes; ++l) {
      if (!(good >> l & 1u)) continue;
      for (unsigned e = 0; e < step; ++e) {
        uint64_t bits = 0;
        if (kStore) {
          bits = get(w, in, f, l, i + e);
          std::memcpy(places.at[l], &bits, plan.bytes);
        } else {
          std::memcpy(&bits, places.at[l], plan.bytes);
          set(w, in, f, l, i + e, bits >> (step == 1 ? 0 : e * f.bits));
        }
      }
    }
  }
  const unsigned used = (f.run() * f.bits + f.width() - 1) / f.width();
  for (unsigned r = used; !kStore && r < f.registers; ++r) {
    each_lane<uint32_t>(w, in, plan.data + r, mask, [](unsigned) { return 0u; });
  }
}

// ---- mma -------------------------------------------------------------------------------------------------

constexpr unsigned kMost = 32;  // rows, columns, and elements along k that are numbers

struct MmaPlan {
  Shape shape;
  Fragment a, b, c, d;
  const Multiplied *a_type = nullptr, *b_type = nullptr;  // nullptr: f64, or single bits
  Sum sum = Sum::F32, addend = Sum::F32;
  Addition how;
  bool satfinite = false, exclusive = false;  // .xor of single bits
  Rounding rounding = Rounding::Nearest;
};

// Element `along` of a line.
uint64_t at(Warp& w, const Instruction& in, const Fragment& f, unsigned line, unsigned along) {
  const unsigned element = line * f.along + along;
  return get(w, in, f, element / f.run(), element % f.run());
}

template <class T>
using Lines = std::array<std::array<T, kMost>, kMost>;

void read_numbers(Warp& w, const Instruction& in, const Fragment& f, const Multiplied& type, Numbers* numbers) {
  numbers->resize(f.lines, f.along);
  for (unsigned line = 0; line < f.lines; ++line) {
    for (unsigned k = 0; k < f.along; ++k) {
      numbers->bits[numbers->at(k, line)] = static_cast<uint32_t>(at(w, in, f, line, k));
    }
  }
  numbers->read(type, false);
}

// Where C and D differ, sums are in f32: ptxas converts C before, or D after.
uint32_t converted(Sum from, Sum to, uint32_t bits) {
  return from == to ? bits : rounded(to, false, addend(from, bits));
}

Lines<double> values_of(Warp& w, const Instruction& in, const Fragment& f) {
  Lines<double> values{};
  for (unsigned line = 0; line < f.lines; ++line) {
    for (unsigned k = 0; k < f.along; ++k) {
      values[line][k] = bits_as<double>(at(w, in, f, line, k));
    }
  }
  return values;
}

// Calls f(row, column, bits of C) for each element that a lane of `mask` holds, and puts the bits that it gives there.
template <class F>
void each_sum(Warp& w, const Instruction& in, uint32_t mask, const MmaPlan& plan, F f) {
  std::array<uint64_t, kMost * kMost> results{};
  const unsigned run = plan.d.run();
  for (unsigned e = 0; e < plan.shape.m * plan.shape.n; ++e) {
    const unsigned row = e / plan.shape.n, column = e % plan.shape.n;
    results[e] = f(row, column, at(w, in, plan.c, row, column));
  }
  for (unsigned e = 0; e < plan.shape.m * plan.shape.n; ++e) {
    if (mask >> e / run & 1u) set(w, in, plan.d, e / run, e % run, results[e]);
  }
}

void multiply(Warp& w, const Instruction& in, uint32_t mask) {
  if (!together(w, in, mask)) return;
  const auto& plan = *static_cast<const MmaPlan*>(in.plan);
  static thread_local Numbers a, b;
  read_numbers(w, in, plan.a, *plan.a_type, &a);
  read_numbers(w, in, plan.b, *plan.b_type, &b);
  const Sum type = plan.sum == plan.addend ? plan.sum : Sum::F32;
  TensorSum sum(plan.how, type, a, b);
  uint32_t words[kMost];
  each_sum(w, in, mask, plan, [&](unsigned row, unsigned column, uint64_t) -> uint64_t {
    if (column == 0) {
      for (unsigned n = 0; n < plan.shape.n; ++n) {
        words[n] = converted(plan.addend, type, static_cast<uint32_t>(at(w, in, plan.c, row, n)));
      }
      sum.add(row, 0, plan.shape.n, nullptr, plan.satfinite, 0, words);
    }
    return converted(type, plan.sum, words[column]);
  });
}

void multiply_doubles(Warp& w, const Instruction& in, uint32_t mask) {
  if (!together(w, in, mask)) return;
  const auto& plan = *static_cast<const MmaPlan*>(in.plan);
  const Lines<double> a = values_of(w, in, plan.a), b = values_of(w, in, plan.b);
  each_sum(w, in, mask, plan, [&](unsigned row, unsigned column, uint64_t c) {
    double sum = bits_as<double>(c);
    for (unsigned k = 0; k < plan.shape.k; ++k) {
      sum = directed64<FusedMultiplyAdd>(plan.rounding, a[row][k], b[column][k], sum);
    }
    return bits_as<uint64_t>(sum);
  });
}

void count_bits(Warp& w, const Instruction& in, uint32_t mask) {
  if (!together(w, in, mask)) return;
  const auto& plan = *static_cast<const MmaPlan*>(in.plan);
  each_sum(w, in, mask, plan, [&](unsigned row, unsigned column, uint64_t c) -> uint64_t {
    uint32_t sum = static_cast<uint32_t>(c);
    for (unsigned k = 0; k < plan.shape.k; ++k) {
      const uint64_t x = at(w, in, plan.a, row, k), y = at(w, in, plan.b, column, k);
      sum += static_cast<uint32_t>(plan.exclusive ? x ^ y : x & y);
    }
    return sum;
  });
}

// ---- Decoding --------------------------------------------------------------------------------------------

struct ShapeRow {
  std::string_view name;
  Shape shape;
};
constexpr ShapeRow kShapes[] = {
    {"m16n16k16", {16, 16, 16}}, {"m8n32k16", {8, 32, 16}}, {"m32n8k16", {32, 8, 16}}, {"m16n16k8", {16, 16, 8}},
    {"m8n8k4", {8, 8, 4}},       {"m8n8k32", {8, 8, 32}},   {"m8n8k128", {8, 8, 128}},
};

bool read_shape(std::string_view name, Shape* shape) {
  for (const ShapeRow& row : kShapes) {
    if (row.name != name) continue;
    *shape = row.shape;
    return true;
  }
  return false;
}

const Multiplied* type_named(std::string_view name) {
  return name == "e4m3" || name == "e5m2" || name == "e2m1" ? nullptr : multiplied(name);
}

// The shape that elements of so many bits are multiplied in.
bool fits(const Shape& s, std::string_view type, unsigned bits) {
  if (type == "tf32") return s.k == 8;
  return bits == 64 ? s.k == 4 : bits == 4 ? s.k == 32 : bits == 1 ? s.k == 128 : s.k == 16;
}

unsigned bits_named(std::string_view type) {
  if (type == "b1") return 1;
  if (type == "f64") return 64;
  if (type == "f32" || type == "s32") return 32;
  const Multiplied* known = type_named(type);
  return known == nullptr ? 0 : known->bits;
}

// A matrix's fragment; multiplicands of f16 have eight registers in every shape.
Fragment fragment_of(const Shape& s, Role role, std::string_view type) {
  Fragment f;
  f.bits = bits_named(type);
  f.lines = role == Role::B ? s.n : s.m;
  f.along = role == Role::C ? s.n : s.k;
  f.registers = std::max(1u, f.run() * std::min(f.bits, 32u) / 32);
  if (f.bits == 64) f.registers = f.run();
  if (type == "f16" && role != Role::C) f.registers = 8;
  return f;
}

bool bind(Decoding& d, unsigned operand, Fragment* f, bool write) {
  f->first = d.bound();
  if (d.elements(operand) != f->registers) return false;
  for (unsigned e = 0; e < f->registers; ++e) {
    const OperandView* v = d.element(operand, e);
    const unsigned width = f->width();
    if (!(write ? d.bind_destination(v, width, width) : d.bind_source(v, width, width))) return false;
  }
  return true;
}

bool is_sum(std::string_view type) { return type == "f16" || type == "f32" || type == "s32" || type == "f64"; }

// load.{a,b,c}.sync.aligned.layout.shape{.ss}.type r, [p] {, stride}; store.d has the operands the other way round.
Handler resolve_move(Decoding& d, Modifiers& m, bool store) {
  MovePlan plan;
  const Role role = store || m.peek() == "c" ? Role::C : m.peek() == "a" ? Role::A : Role::B;
  const std::string_view letter = m.next();
  if (store ? letter != "d" : letter != "a" && letter != "b" && letter != "c") return nullptr;
  if (!m.take("sync") || !m.take("aligned")) return nullptr;
  const bool row = m.take("row");
  Shape shape;
  if ((!row && !m.take("col")) || !read_shape(m.next(), &shape)) return nullptr;
  plan.across = role == Role::B ? row : !row;
  plan.space = m.take("global") ? Space::Global : m.take("shared") || m.take("shared::cta") ? Space::Shared : Space::Generic;
  const std::string_view type = m.next();
  if (!m.done() || bits_named(type) == 0) return nullptr;
  if (role == Role::C ? !is_sum(type) : type == "f32" || type == "s32" || !fits(shape, type, bits_named(type))) return nullptr;
  if (role == Role::C && (type == "f64") != (shape.k == 4)) return nullptr;
  plan.fragment = fragment_of(shape, role, type);
  if (plan.fragment.bits < 8 && plan.across) return nullptr;
  const size_t operands = d.operands.size();
  if (operands < 2 || operands > 3) return nullptr;
  const unsigned address = store ? 0 : 1;
  if (plan.space == Space::Generic && d.operands[address].space == 0) plan.space = Space::Shared;
  plan.access = store ? Access::Store : Access::Load;
  plan.bytes = plan.element = plan.fragment.bits < 8 ? 4 : static_cast<uint8_t>(plan.fragment.bits / 8);
  if (!bind_address(d, address, &plan)) return nullptr;
  plan.strided = operands == 3;
  plan.stride = static_cast<uint8_t>(d.bound());
  if (plan.strided && !d.source(2, 32)) return nullptr;
  if (!bind(d, 1 - address, &plan.fragment, !store)) return nullptr;
  plan.data = static_cast<uint8_t>(plan.fragment.first);
  note_access(d, plan);
  d.out->plan = d.keep(plan);
  d.out->sanitized = store ? move_fragment<true, true> : move_fragment<true, false>;
  return store ? move_fragment<false, true> : move_fragment<false, false>;
}

Handler finish_mma(Decoding& d, MmaPlan& plan, const std::string_view (&types)[4], Handler handler) {
  plan.a = fragment_of(plan.shape, Role::A, types[1]);
  plan.b = fragment_of(plan.shape, Role::B, types[2]);
  plan.c = fragment_of(plan.shape, Role::C, types[3]);
  plan.d = fragment_of(plan.shape, Role::C, types[0]);
  if (d.operands.size() != 4 || !bind(d, 0, &plan.d, true) || !bind(d, 1, &plan.a, false) ||
      !bind(d, 2, &plan.b, false) || !bind(d, 3, &plan.c, false)) {
    return nullptr;
  }
  d.out->plan = d.keep(plan);
  return handler;
}

// mma.op.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32
Handler resolve_bits(Decoding& d, Modifiers& m) {
  MmaPlan plan;
  plan.exclusive = m.next() == "xor";
  if (!m.take("popc") || !m.take("sync") || !m.take("aligned") || !m.take("row") || !m.take("col")) return nullptr;
  if (!read_shape(m.next(), &plan.shape) || plan.shape.k != 128) return nullptr;
  if (!m.take("s32") || !m.take("b1") || !m.take("b1") || !m.take("s32") || !m.done()) return nullptr;
  return finish_mma(d, plan, {"s32", "b1", "b1", "s32"}, count_bits);
}

// mma.sync.aligned.alayout.blayout.shape and the types: of D and C where A and B are f16, else of D, A, B and C.
Handler resolve_mma(Decoding& d, Modifiers& m) {
  if (m.peek() == "xor" || m.peek() == "and") return resolve_bits(d, m);
  MmaPlan plan;
  if (!m.take("sync") || !m.take("aligned")) return nullptr;
  const bool rows = m.take("row");
  if ((!rows && !m.take("col"))) return nullptr;
  const bool columns = m.take("col");
  if ((!columns && !m.take("row")) || !read_shape(m.next(), &plan.shape)) return nullptr;
  plan.rounding = m.rounding();
  std::string_view types[4] = {m.next(), m.next(), "", ""};
  if (m.done()) {
    types[3] = types[1];
    types[1] = types[2] = "f16";
  } else {
    types[2] = m.next();
    types[3] = m.next();
  }
  plan.satfinite = m.take("satfinite");
  if (!m.done() || !fits(plan.shape, types[1], bits_named(types[1]))) return nullptr;
  if (types[1] == "f64") return finish_mma(d, plan, types, multiply_doubles);
  plan.a_type = type_named(types[1]);
  plan.b_type = type_named(types[2]);
  if (plan.a_type == nullptr || plan.b_type == nullptr || plan.a_type->bits != plan.b_type->bits ||
      !read_sum(types[0], &plan.sum) || !read_sum(types[3], &plan.addend)) {
    return nullptr;
  }
  plan.how = addition_of(d.sm, TensorUnit::Mma, *plan.a_type, *plan.b_type, false);
  return finish_mma(d, plan, types, multiply);
}

}  // namespace

Handler resolve_wmma(Decoding& d) {
  if (d.opcode != "wmma") return nullptr;
  Modifiers m(d);
  if (m.take("load")) return resolve_move(d, m, false);
  if (m.take("store")) return resolve_move(d, m, true);
  return m.take("mma") ? resolve_mma(d, m) : nullptr;
}

}  // namespace pyptx::emulator
