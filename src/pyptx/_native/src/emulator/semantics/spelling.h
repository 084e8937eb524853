// Reading a spelled instruction: its types and its modifiers, in the manual's order.
#pragma once

#include "machine/machine.h"
#include "rounding.h"

// Before a handler whose lane function is long: inlines all of it, without which the loop does not vectorise.
#define PYPTX_FLATTEN __attribute__((flatten))

namespace pyptx::emulator {

enum class Type : uint8_t {
  None,
  Pred, B8, B16, B32, B64, B128,
  U8, U16, U32, U64, S8, S16, S32, S64,
  F16, BF16, TF32, F32, F64,
  F16x2, BF16x2, F32x2, U16x2, S16x2,
};

// The type a modifier names, None if it names none.
Type type_of(std::string_view modifier);
unsigned bits_of(Type type);
inline bool is_signed(Type t) { return t >= Type::S8 && t <= Type::S64; }
inline bool is_integer(Type t) { return t >= Type::U8 && t <= Type::S64; }
inline bool is_bits(Type t) { return t >= Type::B8 && t <= Type::B128; }

// Walks over the modifiers; a spelling is understood only if `done()` holds at its end, so that an unknown
// or misplaced modifier is never ignored.
class Modifiers {
 public:
  explicit Modifiers(const Decoding& d) : list_(d.modifiers) {}

  bool take(std::string_view name) {
    if (at_ == list_.size() || list_[at_] != name) return false;
    ++at_;
    return true;
  }
  // The next modifier, consumed; "" at the end.
  std::string_view next() { return at_ == list_.size() ? std::string_view() : list_[at_++]; }
  std::string_view peek() const { return at_ == list_.size() ? std::string_view() : list_[at_]; }
  // A type, consumed if the next modifier is one.
  Type type() {
    const Type t = type_of(peek());
    if (t != Type::None) ++at_;
    return t;
  }
  // One of .rn .rz .rm .rp; `otherwise` if the next modifier is none of them.
  Rounding rounding(Rounding otherwise = Rounding::Nearest);
  bool done() const { return at_ == list_.size(); }

 private:
  const std::vector<std::string_view>& list_;
  size_t at_ = 0;
};

// A handler that applies Op to 1, 2 or 3 sources of lane type S. Op is a stateless functor.
template <class Op, class D, class S = D>
void run_unary(Warp& w, const Instruction& in, uint32_t mask) {
  unary<D, S>(w, in, mask, Op{});
}
template <class Op, class D, class S = D>
void run_binary(Warp& w, const Instruction& in, uint32_t mask) {
  binary<D, S>(w, in, mask, Op{});
}
template <class Op, class D, class S = D>
void run_ternary(Warp& w, const Instruction& in, uint32_t mask) {
  ternary<D, S>(w, in, mask, Op{});
}

}  // namespace pyptx::emulator
