// A program image, decoded: instructions with handlers and operand offsets, and what a launch must set up.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "liveness.h"
#include "machine.h"
#include "special.h"
#include "subscripts.h"

namespace pyptx::emulator {

constexpr uint32_t kNoRegister = 0xffffffffu;
constexpr uint32_t kMaxInstructions = 1u << 22;

struct RegisterSlot {
  uint32_t offset;  // in a warp's registers
  uint8_t width;
};

// A register that the core fills when a warp starts, so that handlers read a plain register.
struct Preload {
  enum class Kind : uint8_t { Special, SharedSymbol, GlobalSymbol, FrameSymbol };
  Kind kind;
  Special special;    // Kind::Special
  uint64_t value;     // symbols: byte offset in their space, or in the frame of the function that runs
  uint32_t register_; // its number, beyond the image's registers
};

struct Parameter {
  std::string name;
  uint32_t offset, size;
  bool tensor;
  uint32_t element;  // of a tensor map or a texture: bytes of its tensor's elements; otherwise 0
};

// Frame: local memory of a function, which every call of it has anew.
enum class VariableSpace : uint8_t { Shared, Local, Const, Global, Frame };

struct Variable {
  std::string name;
  VariableSpace space;
  uint32_t offset, size, align;
  std::string initial;
};

// An address in the initial value of a constant or global variable.
struct Relocation {
  enum class Of : uint8_t { Variable = 1, GenericVariable = 2, Function = 3 };
  uint32_t variable, offset;  // where it is
  uint8_t bytes, shift;       // so many of its bytes, from this bit on
  Of of;
  uint32_t index;  // of the variable or function
  int64_t addend;
};

// A parameter or a result of a function: a register, or bytes of its frame.
struct Formal {
  bool in_register;
  uint32_t at;    // the register's number, or the offset in the frame
  uint32_t size;  // bytes; of a predicate 0
};

// A function of CUDA's device runtime, which has no body in PTX.
enum class System : uint8_t { None, Print, Assert, Allocate, Free };

struct Function {
  System does = System::None;
  std::string name;
  uint32_t first, end;  // its instructions
  uint32_t frame;       // bytes of its frame
  uint32_t first_register, end_register;  // its registers
  bool recursive;  // it may be called while it runs, so its registers are kept at each call
  std::vector<Formal> results, parameters;

  // Whether it is the system's, which has no instructions.
  bool system() const { return first == end; }
};

// The address of a function: in no window, so that nothing is loaded from it.
constexpr uint64_t kFunctionWindow = 0x5000000000000000ull;
constexpr uint64_t function_address(uint32_t index) { return kFunctionWindow + 16 * (uint64_t{index} + 1); }

class Program {
 public:
  // Throws std::runtime_error with the whole message for a corrupt image, or one with instructions that are
  // not emulated.
  // Where `whole`, every register has a place of its own, for who looks at registers behind the last instruction.
  static std::unique_ptr<Program> read(const void* image, size_t bytes, bool whole = false);

  std::string name, target;
  unsigned sm = 0;
  uint64_t hash = 0;  // of the image's bytes
  std::vector<Parameter> params;
  std::vector<Variable> variables;
  std::vector<Relocation> relocations;
  std::vector<Function> functions;  // before the kernel, each before those that call it where that can be
  uint32_t entry = 0;               // the kernel's first instruction
  uint32_t kernel_frame = 0;        // bytes of its local memory; what functions have lies behind
  std::vector<Instruction> code;  // one more than the image has: the end of the body returns
  std::vector<std::string> text;  // PTX of each instruction, for findings
  // Of each instruction; only registers that may be read before they are written stay in it, because nothing
  // else needs tracking.
  std::vector<Uses> uses;
  std::vector<std::unique_ptr<Subscripts>> subscripts;  // by instruction; none at all where no index is known
  std::unordered_map<uint32_t, uint32_t> used_bytes;  // of loads whose other bytes do not matter, as bits; by instruction
  std::vector<RegisterSlot> registers;  // the image's, then the preloads'
  std::vector<Preload> preloads;
  // Per instruction: a branch; a load or an atomic that may see what another cluster stored.
  std::vector<uint8_t> branches, polls;
  std::vector<uint8_t> ignored;  // per instruction: a test of an mbarrier whose result nothing uses; empty if there is none
  bool asynchronous = false;  // it has mbarriers or asynchronous operations
  bool allocates = false;     // it calls malloc
  bool reads_reserved = false, reads_environment = false;  // %reserved_smem_offset_1 and the like; %envreg1
  bool communicates = false;  // it has atomics or strong accesses that may reach global memory
  std::vector<uint32_t> tracked;  // registers that may be read before they are written
  // Multiplications of a warpgroup, by instruction, and the registers that they use: these have numbers of their own,
  // in `held` is which they are, and in `touches` which of them each other instruction uses.
  std::unordered_map<uint32_t, std::unique_ptr<Held>> products;
  std::vector<uint32_t> held;
  std::vector<std::vector<uint32_t>> touches;
  uint32_t image_registers = 0;
  uint32_t file_bytes = 0;  // a warp's registers, with preloads, sinks and the true predicate
  uint32_t true_predicate = 0;
  uint32_t sink = 0;  // a place 512 bytes long for results that are thrown away
  uint32_t param_bytes = 0;
  uint32_t space_bytes[4] = {0, 0, 0, 0};  // by VariableSpace
  // The smallest access to shared (and local) and to global memory, in bytes: accesses are aligned to their
  // size, so shadows need no finer cells.
  uint32_t shared_granule = 16, global_granule = 16;
  uint32_t widest_global = 1;  // the largest, in bytes
  std::vector<uint8_t> constants;  // the const space

  const uint8_t* pool() const { return pool_; }
  uint32_t intern(uint64_t bits, unsigned width);  // offset of a broadcast immediate, kPoolBit set
  void* keep_bytes(size_t size);
  void access(bool shared, bool global, uint32_t bytes);  // a memory instruction reports its size
  size_t instructions() const { return code.size() - 1; }
  bool ignores_test(const Instruction& in) const { return !ignored.empty() && ignored[in.index] != 0; }
  // The function that an instruction belongs to, nullptr for the kernel.
  const Function* function_of(uint32_t instruction) const;

 private:
  friend class ImageReader;
  // register_file.cpp. Each register has a place of its own but for those with lifetimes.
  void lay_out_registers(const std::vector<Lifetime>& lifetimes);
  // Lays them out anew, but for those in `apart`, and tells instructions. `more` are operands that are not inline.
  void share_registers(std::vector<Lifetime> lifetimes, const std::vector<uint8_t>& apart,
                       const std::vector<std::pair<uint32_t*, size_t>>& more);
  void find_tracked(std::vector<uint32_t> at_start);
  void find_ignored(const std::vector<Flow>& flow);
  void track_moves(std::vector<uint8_t>& keep);
  void find_held();

  std::vector<std::unique_ptr<uint8_t[]>> kept_;
  std::vector<uint8_t> pool_bytes_;
  uint8_t* pool_ = nullptr;
  std::unordered_map<uint64_t, uint32_t> interned_[3];
};

// What the instruction moves without looking at it; `registers` are those of the image.
// `local` says that the program has local memory.
Moved moved_by(const Decoding& d, uint32_t registers, bool local);

Uses::Role role_of(const Decoding& d);

// 64-bit hash of bytes, the key of registered source lines.
uint64_t content_hash(const void* bytes, size_t size);

}  // namespace pyptx::emulator
