// Registers and predicates that are read before they are written.
//
// A bit for each lane of a register says that all of it has a value. Compilers join registers of which a part never gets
// one, as where a structure has padding, and take them apart again; so instructions that only move bytes (machine/moved.cpp)
// move on which of them have values, and what computes with a byte that has none is the finding. Copies of structures go
// through local memory too, so a load there moves on what has no value.
#include <algorithm>
#include <cstring>

#include "definedness.h"
#include "machine/product.h"
#include "machine/warp.h"
#include "semantics/access.h"
#include "shadow_cells.h"

namespace pyptx::emulator {
namespace {

constexpr uint32_t kAll = 0xffff;  // bytes of the widest register

uint32_t bytes_of(const Warp& w, uint32_t r) { return std::max(program_of(w).registers[r].width / 8u, 1u); }

uint32_t first_bytes(uint32_t count) { return (1u << count) - 1; }

// The bytes of a register that have no value, as bits.
uint32_t missing_of(const Warp& w, uint32_t r, unsigned lane) {
  if (r == Moved::kHasValue || (w.defined[r] >> lane & 1u)) return 0;
  const auto found = w.partly.find(r);
  const uint32_t missing = found == w.partly.end() ? 0 : found->second.missing[lane];
  return missing != 0 ? missing : first_bytes(bytes_of(w, r));
}

void set_missing(Warp& w, uint32_t r, unsigned lane, uint32_t missing) {
  if (r == Moved::kHasValue) return;
  missing &= first_bytes(bytes_of(w, r));
  if (missing == 0) {
    w.defined[r] |= 1u << lane;
    return;
  }
  w.defined[r] &= ~(1u << lane);
  w.partly[r].missing[lane] = static_cast<uint16_t>(missing);
}

// A register has what came from another one.
void set_origin(Warp& w, uint32_t r, uint32_t from) {
  if (r == Moved::kHasValue || from == Moved::kHasValue) return;
  const auto found = w.partly.find(from);
  if (found == w.partly.end() || found->second.load == kNone) return;
  const Partly origin = found->second;
  Partly& to = w.partly[r];
  to.load = origin.load;
  to.address = origin.address;
  to.bytes = origin.bytes;
}

// Byte k of the result is byte selector & 7 of the two registers, or its sign.
uint32_t permuted(uint32_t missing, uint32_t selector) {
  uint32_t result = 0;
  for (unsigned k = 0; k < 4; ++k) result |= (missing >> (selector >> (4 * k) & 7u) & 1u) << k;
  return result;
}

uint32_t cut(const Moved& m, uint32_t missing) {
  const uint32_t kept = missing & first_bytes(m.kept);
  const bool extended = m.sign && (kept >> (m.kept - 1) & 1u);
  return extended ? kept | (kAll & ~first_bytes(m.kept)) : kept;
}

void move_lane(Warp& w, const Instruction& in, const Moved& m, unsigned lane) {
  uint32_t from[4] = {};
  for (size_t k = 0; k < m.from.size(); ++k) {
    from[k] = missing_of(w, m.from[k], lane);
    for (const uint32_t to : m.to) {
      if (from[k] != 0) set_origin(w, to, m.from[k]);
    }
  }
  switch (m.kind) {
    case Moved::Kind::Join: {
      uint32_t joined = 0;
      for (size_t k = 0; k < m.from.size(); ++k) joined |= (from[k] & first_bytes(m.bytes)) << (k * m.bytes);
      return set_missing(w, m.to[0], lane, joined);
    }
    case Moved::Kind::Split:
      for (size_t k = 0; k < m.to.size(); ++k) set_missing(w, m.to[k], lane, from[0] >> (k * m.bytes));
      return;
    case Moved::Kind::Permute:
      return set_missing(w, m.to[0], lane, permuted((from[0] & 0xf) | from[1] << 4, source<uint32_t>(w, in, 3)[lane]));
    case Moved::Kind::Cut:
      return set_missing(w, m.to[0], lane, cut(m, from[0]));
    default:
      return;
  }
}

// Of what a load of local memory brought, the load is the finding.
void report_register(Warp& w, const Instruction& in, uint32_t r, uint32_t lanes) {
  const bool predicate = program_of(w).registers[r].width == 1;
  const auto lane = static_cast<unsigned>(__builtin_ctz(lanes));
  const auto partly = w.partly.find(r);
  if (partly != w.partly.end() && partly->second.load != kNone && partly->second.missing[lane] != 0) {
    const Partly& origin = partly->second;
    for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
      report_uninitialised(w, program_of(w).code[origin.load], Space::Local, origin.address,
                           static_cast<unsigned>(__builtin_ctz(rest)), origin.bytes);
    }
  } else {
    report(w, predicate ? Kind::UnassignedPredicate : Kind::UninitialisedRegister, site_of(w, in, lane),
           (predicate ? "%p" : "%r") + std::to_string(r));
  }
  w.defined[r] |= lanes;
}

// The lanes whose addresses are in local memory.
uint32_t local_lanes(Warp& w, const Instruction& in, uint32_t mask) {
  const auto& plan = *static_cast<const AccessPlan*>(in.plan);
  if (plan.space == Space::Local) return mask;
  Addresses a;
  read_addresses(w, in, plan, a);
  uint32_t local = 0;
  for (uint32_t rest = plan.space == Space::Generic ? mask : 0; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
    if (space_of(a.at[lane]) == Space::Local) local |= 1u << lane;
  }
  return local;
}

// A register that is stored has a value somewhere, but for copies to local memory.
void check_stored(Warp& w, const Instruction& in, const Moved& m, uint32_t r, uint32_t mask) {
  uint32_t none = 0;
  for (uint32_t rest = mask & ~w.defined[r]; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
    const uint32_t all = first_bytes(std::min<uint32_t>(bytes_of(w, r), m.bytes));
    if ((missing_of(w, r, lane) & all) == all) none |= 1u << lane;
  }
  if (none != 0 && m.local) none &= ~local_lanes(w, in, none);
  if (none != 0) report_register(w, in, r, none);
}

void check_moved(Warp& w, const Instruction& in, const Moved& m, uint32_t mask) {
  if (m.kind == Moved::Kind::Store) {
    for (const uint32_t r : m.from) {
      if (r != Moved::kHasValue) check_stored(w, in, m, r, mask);
    }
    return;
  }
  uint32_t all = ~0u;  // of Load, whose handler tells what has no value
  for (const uint32_t r : m.from) all &= r == Moved::kHasValue ? ~0u : w.defined[r];
  for (const uint32_t r : m.to) {
    if (r != Moved::kHasValue) w.defined[r] |= mask & all;
  }
  for (uint32_t rest = mask & ~all; rest != 0; rest &= rest - 1) {
    move_lane(w, in, m, static_cast<unsigned>(__builtin_ctz(rest)));
  }
}

}  // namespace

bool load_missing(Warp& w, const Instruction& in, uint64_t address, unsigned lane, uint32_t bytes, const uint8_t* cells,
                  uint32_t shift) {
  const Program& program = program_of(w);
  if (w.defined == nullptr || in.index >= program.uses.size()) return false;
  const Moved& m = program.uses[in.index].moved;
  if (m.kind != Moved::Kind::Load) return false;
  for (size_t e = 0; e < m.to.size(); ++e) {
    if (m.to[e] == Moved::kHasValue) continue;
    uint32_t missing = 0;
    for (uint32_t b = 0; b < m.bytes; ++b) missing |= (cells[(e * m.bytes + b) >> shift] == 0 ? 1u : 0u) << b;
    if (missing == 0) continue;
    if (m.sign && (missing >> (m.bytes - 1) & 1u)) missing |= kAll & ~first_bytes(m.bytes);
    set_missing(w, m.to[e], lane, missing);
    Partly& partly = w.partly[m.to[e]];
    partly.load = in.index;
    partly.address = address;
    partly.bytes = bytes;
  }
  return true;
}

void store_missing(Warp& w, const Instruction& in, unsigned lane, uint32_t bytes, uint8_t* cells, uint32_t shift) {
  const Program& program = program_of(w);
  if (w.defined == nullptr || in.index >= program.uses.size()) return;
  const Moved& m = program.uses[in.index].moved;
  if (m.kind != Moved::Kind::Store) return;
  const auto has_value = [&](uint32_t r) { return r == Moved::kHasValue || (w.defined[r] >> lane & 1u); };
  if (std::all_of(m.from.begin(), m.from.end(), has_value)) return;
  for (uint32_t cell = 0; cell < bytes >> shift; ++cell) {
    bool none = true;  // of the cell's bytes has a value
    for (uint32_t b = cell << shift; b < (cell + 1) << shift; ++b) {
      none &= (missing_of(w, m.from[b / m.bytes], lane) >> (b % m.bytes) & 1u) != 0;
    }
    if (none) cells[cell] = 0;
  }
}

void check_returned(Warp& w, const Instruction& call, uint32_t r, unsigned lane) {
  if (w.defined == nullptr || (w.defined[r] >> lane & 1u)) return;
  const auto partly = w.partly.find(r);
  if (partly == w.partly.end() || partly->second.load == kNone || partly->second.missing[lane] == 0) return;
  report_register(w, call, r, 1u << lane);
}

void check_registers(Warp& w, const Instruction& in, uint32_t active) {
  const Program& program = program_of(w);
  if (in.index >= program.uses.size()) return;
  const Uses& uses = program.uses[in.index];
  const bool moves = uses.moved.kind != Moved::Kind::None;
  if (uses.sources.empty() && uses.destinations.empty() && !moves && w.held.empty()) return;
  uint32_t guard;
  std::memcpy(&guard, w.base[0] + in.guard, sizeof guard);
  const uint32_t mask = active & (guard ^ in.guard_invert);
  if (!w.held.empty() && mask != 0 && !program.touches[in.index].empty()) check_held_registers(w, in);
  if (w.defined == nullptr) return;
  const auto check = [&](uint32_t r, uint32_t lanes) {
    const RegisterSlot& slot = program.registers[r];
    const uint32_t need = slot.width == 1 && slot.offset == in.guard ? active : lanes;
    const uint32_t missing = need & ~w.defined[r];
    if (__builtin_expect(missing != 0, 0)) report_register(w, in, r, missing);
  };
  for (const uint32_t r : uses.sources) check(r, mask);
  for (const uint32_t r : uses.conditional) check(r, mask & predicate(w, in, 0));
  if (moves) check_moved(w, in, uses.moved, mask);
  for (const uint32_t r : uses.destinations) w.defined[r] |= mask;
}

}  // namespace pyptx::emulator
