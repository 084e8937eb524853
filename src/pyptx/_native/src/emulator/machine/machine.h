// What the semantics of an instruction sees: registers, a decoded instruction, and how to bind operands.
//
// A warp's registers are a structure of arrays: a register of width w bits is 32 consecutive lanes of w bits
// (128-bit lanes are 16 bytes), a predicate is one uint32_t with a bit per lane. Operands of a decoded
// instruction are byte offsets; the top bit says whether they count from the warp's registers or from the
// program's pool of broadcast immediates, so a handler reads either without a branch.
//
// To add an instruction: write a handler, and return it from the chapter's resolve function after binding
// the operands in the order in which the handler reads them. A resolve function returns nullptr for what is
// not its own, for what is not emulated, and when a binding fails; the caller undoes partial bindings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <vector>

namespace pyptx::emulator {

constexpr unsigned kLanes = 32;
constexpr uint32_t kFullMask = 0xffffffffu;
constexpr uint32_t kPoolBit = 0x80000000u;
constexpr unsigned kInlineOperands = 10;

struct Warp;
struct Instruction;
class Decoding;
__extension__ typedef unsigned __int128 uint128;

// Runs one instruction in the lanes of `mask`, which is never empty: the active lanes whose guard holds.
// Lanes outside the mask keep their destinations, but may be computed (and must then not trap).
using Handler = void (*)(Warp& warp, const Instruction& instruction, uint32_t mask);

struct Instruction {
  Handler handler;    // with the checks that are always on
  Handler sanitized;  // also with the sanitizer's; the same function where there is nothing to check
  int64_t immediate;  // byte offset of an address operand; otherwise free for the semantics
  // Bound operands, in the order of the bind calls. More than kInlineOperands go to `more`.
  uint32_t operand[kInlineOperands];
  uint32_t guard;         // byte offset of the guard predicate, or of a predicate that is always true
  uint32_t guard_invert;  // exclusive-ored to the guard: 0 or all ones
  uint32_t invert;        // bit k: predicate operand k is negated
  uint32_t target;        // index of the instruction a label operand stands before
  uint32_t index;         // position in the program
  uint32_t detail;        // free for the semantics (a table, a comparison, packed options)
  const uint32_t* more;   // all bound operands, also those that are inline
  const void* plan;       // free for the semantics; owned by the program (see Decoding::keep)
};

// What an ALU handler may touch. The rest of a warp's state is in warp.h.
struct WarpRegisters {
  // base[0]: this warp's registers. base[1]: the program's immediates, never written.
  uint8_t* base[2] = {nullptr, nullptr};
  uint32_t carry = 0;  // CC.CF, one bit per lane
};

// warp.h derives the warp from this, and asserts that the cast is right, so that handlers of the ALU chapters need only this header.
inline WarpRegisters& registers(Warp& warp) { return reinterpret_cast<WarpRegisters&>(warp); }

template <class T>
inline const T* source(Warp& warp, const Instruction& in, unsigned k) {
  const uint32_t at = in.operand[k];
  return reinterpret_cast<const T*>(registers(warp).base[at >> 31] + (at & ~kPoolBit));
}

template <class T>
inline T* destination(Warp& warp, const Instruction& in, unsigned k) {
  return reinterpret_cast<T*>(registers(warp).base[0] + in.operand[k]);
}

// A predicate operand as a lane mask, negation applied.
inline uint32_t predicate(Warp& warp, const Instruction& in, unsigned k) {
  uint32_t value;
  const uint32_t at = in.operand[k];
  std::memcpy(&value, registers(warp).base[at >> 31] + (at & ~kPoolBit), sizeof value);
  return value ^ (0u - ((in.invert >> k) & 1u));
}

// Writes the lanes of `mask` of a predicate destination.
inline void set_predicate(Warp& warp, const Instruction& in, unsigned k, uint32_t mask, uint32_t value) {
  uint32_t* p = destination<uint32_t>(warp, in, k);
  *p = (*p & ~mask) | (value & mask);
}

#define PYPTX_EACH_LANE(l) _Pragma("GCC ivdep") for (unsigned l = 0; l < ::pyptx::emulator::kLanes; ++l)

// d[l] = f(l) in the lanes of `mask`, for the destination bound as operand k. f is called for every lane.
template <class D, class F>
inline __attribute__((always_inline)) void each_lane(Warp& warp, const Instruction& in, unsigned k,
                                                     uint32_t mask, F f) {
  D* d = destination<D>(warp, in, k);
  if (__builtin_expect(mask == kFullMask, 1)) {
    PYPTX_EACH_LANE(l) d[l] = f(l);
  } else {
    PYPTX_EACH_LANE(l) {
      const D value = f(l);
      d[l] = ((mask >> l) & 1u) ? value : d[l];
    }
  }
}

// The common shapes: destination operand 0, sources operands 1, 2, 3 of lane type S (S = D by default).
template <class D, class S = D, class F>
inline __attribute__((always_inline)) void unary(Warp& w, const Instruction& in, uint32_t mask, F f) {
  const S* a = source<S>(w, in, 1);
  each_lane<D>(w, in, 0, mask, [=](unsigned l) { return static_cast<D>(f(a[l])); });
}
template <class D, class S = D, class F>
inline __attribute__((always_inline)) void binary(Warp& w, const Instruction& in, uint32_t mask, F f) {
  const S* a = source<S>(w, in, 1);
  const S* b = source<S>(w, in, 2);
  each_lane<D>(w, in, 0, mask, [=](unsigned l) { return static_cast<D>(f(a[l], b[l])); });
}
template <class D, class S = D, class F>
inline __attribute__((always_inline)) void ternary(Warp& w, const Instruction& in, uint32_t mask, F f) {
  const S* a = source<S>(w, in, 1);
  const S* b = source<S>(w, in, 2);
  const S* c = source<S>(w, in, 3);
  each_lane<D>(w, in, 0, mask, [=](unsigned l) { return static_cast<D>(f(a[l], b[l], c[l])); });
}

// Bit l of the result is f(l); vectorised through bytes.
template <class F>
inline __attribute__((always_inline)) uint32_t lane_mask(F f) {
  alignas(32) uint8_t bytes[kLanes];
  PYPTX_EACH_LANE(l) bytes[l] = f(l) ? 1 : 0;
  uint32_t mask = 0;
  for (unsigned g = 0; g < 4; ++g) {
    uint64_t eight;
    std::memcpy(&eight, bytes + 8 * g, 8);
    mask |= static_cast<uint32_t>((eight * 0x0102040810204080ull) >> 56) << (8 * g);
  }
  return mask;
}

// One operand as the image has it. Registers, immediates and sinks can be bound; constant special registers
// and symbols already are registers here (the core fills them when a warp starts).
struct OperandView {
  enum class Kind : uint8_t { Register, Immediate, Special, Address, Label, Negated, Sink, Pair, Vector, Part };
  Kind kind = Kind::Sink;
  unsigned width = 0;      // bits of the register (1: predicate) or of the immediate as written
  uint32_t reg = 0;        // Register, Negated, Part: register number. Address: base register
  uint64_t bits = 0;       // Immediate: bit pattern, integers sign-extended to 64 bits. Part: what is selected
  int64_t offset = 0;      // Address: byte offset. Part: 1 if it is negated
  uint32_t target = 0;     // Label
  bool has_base = true;    // Address: false for an absolute one (`offset` is the address)
  uint8_t space = 0xff;    // Address: space of the variable that is its base (as in the image), 0xff none
  uint32_t variable = 0xffffffffu;  // Address: the variable's or the parameter's number
  std::string_view special;         // Special: name of a register that changes while a warp runs
  uint32_t function = 0xffffffffu;  // Immediate: the function whose address it is
  std::vector<OperandView> elements;  // Pair, Vector
};

class Program;

// Registers of an asynchronous instruction: of a multiplication of a warpgroup, or those that a load from Tensor Memory
// brings.
struct Held {
  std::vector<uint32_t> accumulators, inputs, loads;
};

// One instruction while it is resolved. Each bind call appends to Instruction::operand in call order, checks
// the operand's kind and width, and returns false if it does not fit.
class Decoding {
 public:
  std::string_view spelling;                // "fma.rn.f32"
  std::string_view opcode;                  // "fma"
  std::vector<std::string_view> modifiers;  // "rn", "f32"; a "::" stays inside its token
  std::vector<OperandView> operands;        // as in the image; vectors and pairs nested
  unsigned sm = 0;                          // 90 for sm_90a
  Instruction* out = nullptr;

  Decoding(Program& program, Instruction& instruction);

  bool has(std::string_view modifier) const;
  // The k-th modifier counted from the end ("f32" of fma.rn.f32 is last(0)), "" if there is none.
  std::string_view last(unsigned k = 0) const;

  // A register of exactly `width` bits, or an immediate (broadcast at `width`, cut to it), or a sink for a
  // destination. `width` 1 is a predicate; a predicate source may be negated, and an immediate is 0 or not.
  bool source(unsigned operand, unsigned width) { return bind_source(view(operand), width, width); }
  bool destination(unsigned operand, unsigned width) {
    return bind_destination(view(operand), width, width);
  }
  // The same where PTX lets a register be wider than the type (ld, st, cvt): any width from `least` to
  // `most` is accepted, and bound_width() of the slot tells which; immediates are broadcast at `least`,
  // sinks count as `least`.
  bool bind_source(const OperandView* v, unsigned least, unsigned most);
  bool bind_destination(const OperandView* v, unsigned least, unsigned most);
  unsigned bound_width(unsigned slot) const { return widths_[slot]; }
  unsigned bound() const { return static_cast<unsigned>(widths_.size()); }

  // Destination operand 0 of `dst_width` bits and exactly `sources` sources of `src_width` bits.
  bool shape(unsigned dst_width, unsigned src_width, unsigned sources);

  // Element e of a pair or a vector operand, nullptr if there is none. For an operand that is not a pair or
  // a vector, element 0 is the operand itself.
  const OperandView* element(unsigned operand, unsigned e) const;
  // Elements of a vector or pair operand; 1 for a plain one, 0 if the operand is absent.
  unsigned elements(unsigned operand) const;

  const OperandView* view(unsigned operand) const {
    return operand < operands.size() ? &operands[operand] : nullptr;
  }

  // Memory that lives as long as the program, for Instruction::plan. T is trivially destructible.
  template <class T>
  const T* keep(const T& value) {
    void* place = keep_bytes(sizeof(T));
    return new (place) T(value);
  }

  void* keep_array(size_t bytes) { return keep_bytes(bytes); }

  // Registers that stay with an asynchronous multiplication: the operand's elements, read and written as accumulators
  // (read where the predicate holds that is bound first), or only read.
  bool accumulators(unsigned operand);
  bool inputs(unsigned operand);
  // Registers that are written once a load from Tensor Memory has been waited for.
  bool loads(unsigned operand);
  const Held& held() const { return held_; }
  const std::vector<uint32_t>& conditional_sources() const { return held_.accumulators; }

  // Tells the sanitizer's shadow how small this instruction's accesses are, in bytes.
  void access(bool shared, bool global, unsigned bytes);

  // What is being read: its functions and its registers are known, its instructions are not.
  const Program& program() const { return program_; }

  // Undoes all bindings; the caller of the resolve functions uses it between chapters.
  void reset();

  const std::vector<uint32_t>& bound_sources() const { return sources_; }
  const std::vector<uint32_t>& bound_destinations() const { return destinations_; }
  const std::vector<uint32_t>& slots() const { return slots_; }

 private:
  void append(uint32_t offset, unsigned width, bool inverted);
  void* keep_bytes(size_t size);

  Program& program_;
  std::vector<uint32_t> slots_;
  std::vector<uint8_t> widths_;
  std::vector<uint32_t> sources_, destinations_;  // register numbers, for definedness
  Held held_;
};

// One per chapter of the manual, in semantics/<chapter>.cpp.
Handler resolve_integer(Decoding& d);
Handler resolve_extended(Decoding& d);
Handler resolve_float(Decoding& d);
Handler resolve_half(Decoding& d);
Handler resolve_compare(Decoding& d);
Handler resolve_logic(Decoding& d);
Handler resolve_video(Decoding& d);
Handler resolve_move(Decoding& d);  // mov (also pack and unpack), cvt, cvt.pack, prmt
// These set Instruction::sanitized themselves where it differs.
Handler resolve_special(Decoding& d);  // mov from a special register that changes (clocks)
Handler resolve_mbarrier(Decoding& d);
Handler resolve_copy(Decoding& d);  // cp.async, cp.async.bulk, st.async, red.async
Handler resolve_tensor_map(Decoding& d);  // tensormap.replace, tensormap.cp_fenceproxy
Handler resolve_memory(Decoding& d);
Handler resolve_texture(Decoding& d);  // tex, tld4, txq, istypep, suld, sust, sured, suq
// Whether an instruction is one of those that read or write textures or surfaces.
bool reads_texels(std::string_view opcode);
Handler resolve_sync(Decoding& d);
Handler resolve_warpgroup(Decoding& d);  // wgmma
Handler resolve_wmma(Decoding& d);
Handler resolve_tensor_core(Decoding& d);  // tcgen05
Handler resolve_warp(Decoding& d);
Handler resolve_call(Decoding& d);  // call, and ret in a function
Handler resolve_control(Decoding& d);

}  // namespace pyptx::emulator
