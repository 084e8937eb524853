// PTX ISA, "Extended-Precision Integer Arithmetic Instructions": the carry flag CC.CF is a bit per lane.
#include "spelling.h"

namespace pyptx::emulator {

namespace {

constexpr uint32_t kCarryIn = 1, kCarryOut = 2, kSubtract = 4, kHigh = 8;  // of Instruction::detail

template <class U>
struct Sum {
  U value;
  bool carry;
};

template <class U>
Sum<U> add_carry(U a, U b, bool in) {
  const U first = a + b, value = first + U(in);
  return {value, first < a || value < first};
}

// Stores a value and, if asked for, the flag in the lanes of the mask.
template <class U, class F>
void with_carry(Warp& w, const Instruction& in, uint32_t mask, F f) {
  U* d = destination<U>(w, in, 0);
  const uint32_t flags = in.detail & kCarryIn ? registers(w).carry : 0;
  uint32_t out = 0;
  for (unsigned l = 0; l < kLanes; ++l) {
    const Sum<U> sum = f(l, (flags >> l & 1) != 0);
    if (!(mask >> l & 1)) continue;
    d[l] = sum.value;
    out |= uint32_t(sum.carry) << l;
  }
  if (in.detail & kCarryOut) registers(w).carry = (registers(w).carry & ~mask) | out;
}

// a - b is a + ~b + 1, and the flag is the carry of that sum, set where nothing was borrowed: what the
// hardware does, and what shows only where additions and subtractions are mixed in one chain.
template <class U>
void sum(Warp& w, const Instruction& in, uint32_t mask) {
  const U *a = source<U>(w, in, 1), *b = source<U>(w, in, 2);
  const bool subtract = in.detail & kSubtract;
  const bool first = subtract && !(in.detail & kCarryIn);
  with_carry<U>(w, in, mask, [=](unsigned l, bool carry) {
    return add_carry<U>(a[l], subtract ? U(~b[l]) : b[l], carry || first);
  });
}

template <class T, class Wide>
void mad(Warp& w, const Instruction& in, uint32_t mask) {
  using U = std::make_unsigned_t<T>;
  const T *a = source<T>(w, in, 1), *b = source<T>(w, in, 2);
  const U* c = source<U>(w, in, 3);
  const unsigned shift = in.detail & kHigh ? 8 * sizeof(T) : 0;
  with_carry<U>(w, in, mask, [=](unsigned l, bool carry) {
    return add_carry<U>(U((Wide(a[l]) * Wide(b[l])) >> shift), c[l], carry);
  });
}

Handler sum_of(Decoding& d, Type t) {
  if (!is_integer(t) || bits_of(t) < 32 || !d.shape(bits_of(t), bits_of(t), 2)) return nullptr;
  return bits_of(t) == 32 ? sum<uint32_t> : sum<uint64_t>;
}

Handler mad_of(Decoding& d, Type t) {
  if (!is_integer(t) || bits_of(t) < 32 || !d.shape(bits_of(t), bits_of(t), 3)) return nullptr;
  switch (t) {
    case Type::U32: return mad<uint32_t, uint64_t>;
    case Type::S32: return mad<int32_t, int64_t>;
    case Type::U64: return mad<uint64_t, uint128>;
    default: return mad<int64_t, __int128>;
  }
}

}  // namespace

// add.cc, addc{.cc}, sub.cc, subc{.cc}, mad{.hi,.lo}.cc, madc{.hi,.lo}{.cc}
Handler resolve_extended(Decoding& d) {
  const bool in = d.opcode == "addc" || d.opcode == "subc" || d.opcode == "madc";
  const bool subtract = d.opcode == "sub" || d.opcode == "subc";
  const bool multiply = d.opcode == "mad" || d.opcode == "madc";
  if (!in && !subtract && !multiply && d.opcode != "add") return nullptr;
  Modifiers m(d);
  const bool high = multiply && m.take("hi");
  if (multiply && !high && !m.take("lo")) return nullptr;
  const bool out = m.take("cc");
  if (!in && !out) return nullptr;
  const Type t = m.type();
  if (!m.done()) return nullptr;
  d.out->detail =
      (in ? kCarryIn : 0) | (out ? kCarryOut : 0) | (subtract ? kSubtract : 0) | (high ? kHigh : 0);
  return multiply ? mad_of(d, t) : sum_of(d, t);
}

}  // namespace pyptx::emulator
