// Calls of functions: call, and ret in a function.
//
// A lane in a function has a frame in its local memory behind the frame of its caller, and remembers where it
// was called from. Registers of functions are registers of the warp like all others, as a lane is in one call
// of a function at a time; of a function that may be called while it runs, a call keeps them for its end.
// Functions lie before what calls them, so lanes that are still in a function run before those that have left.
#include <algorithm>

#include "print.h"
#include "sanitizer/definedness.h"

namespace pyptx::emulator {
namespace {

constexpr uint32_t kNoFunction = 0xffffffffu;
constexpr size_t kDeepest = 1u << 14;  // calls of functions without frames nest no deeper

// What a call passes or where it puts a result: a register, a constant, or memory whose address is in one.
struct Passed {
  uint32_t slot;     // as in Instruction::operand
  uint32_t number;   // of the register in the image, for a destination; otherwise kNoRegister
  uint8_t width;     // bits of a register, 1 for a predicate; of memory 64, of the address
  bool memory;
};

struct CallPlan {
  uint32_t function;  // kNoFunction: the address is in `slot`
  uint32_t slot;
  uint32_t frame;  // bytes of the caller's frame
  uint32_t parameter_count, result_count, listed_count;
  const Passed* parameters;
  const Passed* results;
  const uint32_t* listed;  // functions that an indirect call may reach; none for any
};

const CallPlan& plan_of(const Instruction& in) { return *static_cast<const CallPlan*>(in.plan); }

uint8_t* slot_at(Warp& w, uint32_t slot) { return w.base[slot >> 31] + (slot & ~kPoolBit); }

uint32_t local_bytes(const Warp& w) { return program_of(w).space_bytes[static_cast<size_t>(VariableSpace::Local)]; }

uint8_t* local_at(Warp& w, unsigned lane, uint64_t address) {
  return w.cta->local + static_cast<size_t>(w.index * kLanes + lane) * local_bytes(w) + address;
}

// ---- Which bytes of local memory and which registers have values --------------------------------------------

uint8_t* written_at(Warp& w, unsigned lane, uint64_t address) {
  LocalShadow& s = w.cta->local_shadow;
  return &s.written[static_cast<size_t>(w.index * kLanes + lane) * s.cells_per_lane + (address >> s.shift)];
}

uint64_t cells(const Warp& w, uint64_t address, uint32_t bytes) {
  const unsigned shift = w.cta->local_shadow.shift;
  return bytes == 0 ? 0 : ((address + bytes - 1) >> shift) - (address >> shift) + 1;
}

// A frame that begins: nothing in it has a value.
void clear_frame(Warp& w, unsigned lane, uint64_t address, uint32_t bytes) {
  if (w.cta->local_shadow.written.empty() || bytes == 0) return;
  std::memset(local_at(w, lane, address), 0xff, bytes);
  std::memset(written_at(w, lane, address), 0, cells(w, address, bytes));
}

void set_defined(Warp& w, uint32_t number, unsigned lane, bool yes) {
  if (w.defined == nullptr || number >= program_of(w).image_registers) return;
  w.defined[number] = (w.defined[number] & ~(1u << lane)) | static_cast<uint32_t>(yes) << lane;
  const auto partly = yes ? w.partly.end() : w.partly.find(number);
  if (partly != w.partly.end()) partly->second.missing[lane] = 0;
}

// ---- Moving values ------------------------------------------------------------------------------------------

// A value on its way, of one lane.
struct Carried {
  std::vector<uint8_t> bytes, written;  // `written`: of memory, per cell; empty if all have values
};

Carried take_register(Warp& w, uint32_t slot, unsigned width, uint32_t bytes, unsigned lane) {
  Carried value;
  value.bytes.assign(std::max(bytes, 1u), 0);
  const uint8_t* from = slot_at(w, slot);
  if (width == 1) {
    uint32_t lanes;
    std::memcpy(&lanes, from, sizeof lanes);
    value.bytes[0] = lanes >> lane & 1u;
  } else {
    std::memcpy(value.bytes.data(), from + lane * (width / 8), std::min<size_t>(width / 8, value.bytes.size()));
  }
  return value;
}

Carried take_memory(Warp& w, uint64_t address, uint32_t bytes, unsigned lane) {
  Carried value;
  const uint8_t* from = local_at(w, lane, address);
  value.bytes.assign(from, from + bytes);
  if (!w.cta->local_shadow.written.empty()) {
    const uint8_t* first = written_at(w, lane, address);
    value.written.assign(first, first + cells(w, address, bytes));
  }
  return value;
}

void give_register(Warp& w, uint32_t slot, unsigned width, const Carried& value, unsigned lane) {
  uint8_t* to = slot_at(w, slot);
  if (width == 1) {
    uint32_t lanes;
    std::memcpy(&lanes, to, sizeof lanes);
    lanes = (lanes & ~(1u << lane)) | static_cast<uint32_t>(value.bytes[0] & 1u) << lane;
    std::memcpy(to, &lanes, sizeof lanes);
  } else {
    std::memcpy(to + lane * (width / 8), value.bytes.data(), std::min<size_t>(width / 8, value.bytes.size()));
  }
}

void give_memory(Warp& w, uint64_t address, uint32_t bytes, const Carried& value, unsigned lane) {
  const auto count = static_cast<uint32_t>(std::min<size_t>(bytes, value.bytes.size()));
  std::memcpy(local_at(w, lane, address), value.bytes.data(), count);
  if (w.cta->local_shadow.written.empty()) return;
  uint8_t* first = written_at(w, lane, address);
  for (uint64_t k = 0; k < cells(w, address, count); ++k) {
    first[k] = value.written.empty() || (k < value.written.size() && value.written[k]);
  }
}

uint64_t address_in(Warp& w, const Passed& passed, unsigned lane) {
  uint64_t address;
  std::memcpy(&address, slot_at(w, passed.slot) + lane * sizeof address, sizeof address);
  return address;
}

// The caller's side. False for an address outside of its local memory.
bool take(Warp& w, const Passed& passed, const Formal& formal, unsigned lane, Carried* value) {
  if (!passed.memory) {
    *value = take_register(w, passed.slot, passed.width, formal.size, lane);
    return true;
  }
  const uint64_t address = address_in(w, passed, lane);
  if (address > local_bytes(w) || formal.size > local_bytes(w) - address) return false;
  *value = take_memory(w, address, formal.size, lane);
  return true;
}

bool give(Warp& w, const Passed& passed, const Formal& formal, const Carried& value, unsigned lane) {
  if (!passed.memory) {
    give_register(w, passed.slot, passed.width, value, lane);
    return true;
  }
  const uint64_t address = address_in(w, passed, lane);
  if (address > local_bytes(w) || formal.size > local_bytes(w) - address) return false;
  give_memory(w, address, formal.size, value, lane);
  return true;
}

// The function's side, in its frame.
Carried take_formal(Warp& w, const Formal& formal, unsigned lane) {
  if (!formal.in_register) return take_memory(w, w.frame[lane] + formal.at, formal.size, lane);
  const RegisterSlot& slot = program_of(w).registers[formal.at];
  return take_register(w, slot.offset, slot.width, formal.size, lane);
}

void give_formal(Warp& w, const Formal& formal, const Carried& value, unsigned lane) {
  if (!formal.in_register) {
    give_memory(w, w.frame[lane] + formal.at, formal.size, value, lane);
    return;
  }
  const RegisterSlot& slot = program_of(w).registers[formal.at];
  give_register(w, slot.offset, slot.width, value, lane);
  set_defined(w, formal.at, lane, true);
}

// ---- Frames -------------------------------------------------------------------------------------------------

// The registers of a recursive function in one lane, as bytes; and back.
template <bool kKeep>
void exchange_registers(Warp& w, const Function& f, unsigned lane, std::vector<uint8_t>& kept) {
  const Program& program = program_of(w);
  size_t at = 0;
  for (uint32_t r = f.first_register; r < f.end_register; ++r) {
    const RegisterSlot& slot = program.registers[r];
    const uint32_t size = std::max(slot.width / 8u, 1u);
    if (kKeep) {
      const Carried value = take_register(w, slot.offset, slot.width, size, lane);
      kept.insert(kept.end(), value.bytes.begin(), value.bytes.end());
      kept.push_back(w.defined == nullptr || (w.defined[r] >> lane & 1u));
    } else {
      Carried value;
      value.bytes.assign(&kept[at], &kept[at] + size);
      give_register(w, slot.offset, slot.width, value, lane);
      set_defined(w, r, lane, kept[at + size] != 0);
      at += size + 1;
    }
  }
}

// The addresses of a function's variables, which lie in the lane's frame.
void move_frame(Warp& w, unsigned lane, uint32_t frame) {
  const Program& program = program_of(w);
  w.frame[lane] = frame;
  for (const Preload& p : program.preloads) {
    if (p.kind != Preload::Kind::FrameSymbol) continue;
    const RegisterSlot& slot = program.registers[p.register_];
    const uint64_t value = frame + p.value;
    std::memcpy(w.base[0] + slot.offset + lane * (slot.width / 8), &value, slot.width / 8);
  }
}

// A recursive program does not come back to a branch as it was there before: it may be deeper in its calls.
void forget_loop(Warp& w, const Function& f) {
  if (f.recursive) w.spin_branch = kNone;
}

void report_call(Warp& w, const Instruction& in, Kind kind, unsigned lane, std::string note) {
  report(w, kind, site_of(w, in, lane), std::move(note));
}

bool fits(const CallPlan& plan, const Function& f) {
  return plan.parameter_count == f.parameters.size() && plan.result_count == f.results.size();
}

std::string stack_note(const Warp& w, const Function& f, unsigned lane) {
  return f.name + " is the call number " + std::to_string(w.calls[lane].size() + 1) + " of the thread, which has " +
         std::to_string(local_bytes(w)) + " bytes of stack";
}

std::string passed_too_little(const Function& f) { return "what it passes to " + f.name + " is smaller than that takes"; }

// Result k of a call, to where its caller wants it.
void give_back(Warp& w, const Instruction& call, const Function& f, uint32_t k, const Carried& value, unsigned lane) {
  const Passed& result = plan_of(call).results[k];
  if (!give(w, result, f.results[k], value, lane)) {
    report_call(w, call, Kind::BadCall, lane, "what it takes from " + f.name + " is smaller than that gives");
  }
  if (result.number != kNoRegister) set_defined(w, result.number, lane, true);
}

// One lane goes into a function. False if it cannot, which has been reported.
bool enter_lane(Warp& w, const Instruction& in, const Function& f, unsigned lane) {
  const CallPlan& plan = plan_of(in);
  const uint64_t frame = uint64_t{w.frame[lane]} + plan.frame;
  if (frame + f.frame > local_bytes(w) || w.calls[lane].size() >= kDeepest) {
    report_call(w, in, Kind::StackOverflow, lane, stack_note(w, f, lane));
    return false;
  }
  std::vector<Carried> values(plan.parameter_count);
  for (uint32_t k = 0; k < plan.parameter_count; ++k) {
    if (!take(w, plan.parameters[k], f.parameters[k], lane, &values[k])) {
      report_call(w, in, Kind::BadCall, lane, passed_too_little(f));
      return false;
    }
  }
  CallFrame called{in.index, w.frame[lane], {}};
  if (f.recursive) exchange_registers<true>(w, f, lane, called.kept);
  w.calls[lane].push_back(std::move(called));
  for (uint32_t r = f.first_register; w.defined != nullptr && r < f.end_register; ++r) set_defined(w, r, lane, false);
  move_frame(w, lane, static_cast<uint32_t>(frame));
  clear_frame(w, lane, frame, f.frame);
  for (uint32_t k = 0; k < plan.parameter_count; ++k) give_formal(w, f.parameters[k], values[k], lane);
  return true;
}

// One lane's call of a function of the system, which goes on after the call.
class SystemCall {
 public:
  SystemCall(Warp& w, const Instruction& in, const Function& f, unsigned lane) : w_(w), in_(in), f_(f), lane_(lane) {}

  // False if it cannot, which has been reported.
  bool run() {
    const CallPlan& plan = plan_of(in_);
    for (uint32_t k = 0; k < plan.parameter_count; ++k) {
      Carried value;
      if (!take(w_, plan.parameters[k], f_.parameters[k], lane_, &value)) {
        report_call(w_, in_, Kind::BadCall, lane_, passed_too_little(f_));
        return false;
      }
      value.bytes.resize(sizeof values_[k]);
      std::memcpy(&values_[k], value.bytes.data(), sizeof values_[k]);
    }
    switch (f_.does) {
      case System::Print: return give(print(w_, in_, lane_, values_[0], values_[1]));
      case System::Assert: return fail_assertion();
      case System::Allocate: return give(w_.worker->launch->memory.heap.allocate(values_[0]));
      default: return release();
    }
  }

 private:
  template <class T>
  bool give(T status) {
    Carried result;
    result.bytes.assign(sizeof status, 0);
    std::memcpy(result.bytes.data(), &status, sizeof status);
    give_back(w_, in_, f_, 0, result, lane_);
    return true;
  }

  // Parameters: what was asserted, the file, the line, the function, bytes of a character.
  bool fail_assertion() {
    std::string asserted, file, function;
    if (!read_text(w_, in_, lane_, values_[0], &asserted) || !read_text(w_, in_, lane_, values_[1], &file) ||
        !read_text(w_, in_, lane_, values_[3], &function)) {
      return false;
    }
    report_call(w_, in_, Kind::Trap, lane_, "the assertion `" + asserted + "` of " + function + " at " + file + ":" +
                                                std::to_string(static_cast<uint32_t>(values_[2])) + " failed");
    return false;
  }

  bool release() {
    const uint64_t address = values_[0];
    if (address == 0) return true;
    const uint64_t bytes = w_.worker->launch->memory.heap.release(address);
    if (bytes == 0) {
      report_call(w_, in_, Kind::BadCall, lane_, "free of an address that malloc has not given, or that is free already");
      return false;
    }
    for (uint64_t at = 0; at < bytes; at += kPiece) {
      forget_global(w_, address + at, static_cast<uint32_t>(std::min(bytes - at, kPiece)));
    }
    return true;
  }

  static constexpr uint64_t kPiece = 1u << 20;
  Warp& w_;
  const Instruction& in_;
  const Function& f_;
  unsigned lane_;
  uint64_t values_[5] = {};
};

void enter(Warp& w, const Instruction& in, uint32_t mask, const Function& f) {
  if (f.system()) {
    for (unsigned l = 0; l < kLanes; ++l) {
      if ((mask >> l & 1u) && !SystemCall(w, in, f, l).run()) return;
    }
    return;
  }
  forget_loop(w, f);
  for (unsigned l = 0; l < kLanes; ++l) {
    if ((mask >> l & 1u) && !enter_lane(w, in, f, l)) return;
  }
  jump(w, mask, f.first);
}

// ---- Handlers -----------------------------------------------------------------------------------------------

void call(Warp& w, const Instruction& in, uint32_t mask) {
  enter(w, in, mask, program_of(w).functions[plan_of(in).function]);
}

// The function at an address, nullptr and a finding if there is none that the call may reach.
const Function* function_at(Warp& w, const Instruction& in, uint64_t address, unsigned lane) {
  const Program& program = program_of(w);
  const CallPlan& plan = plan_of(in);
  const uint64_t index = (address - kFunctionWindow) / 16 - 1;
  if (index >= program.functions.size() || address != function_address(static_cast<uint32_t>(index))) {
    report_call(w, in, Kind::BadCall, lane, "the address is that of no function");
    return nullptr;
  }
  const Function& f = program.functions[index];
  const bool listed = plan.listed_count == 0 || std::find(plan.listed, plan.listed + plan.listed_count, index) !=
                                                    plan.listed + plan.listed_count;
  if (!listed || !fits(plan, f)) {
    report_call(w, in, Kind::BadCall, lane,
                listed ? f.name + " takes or gives another number of values" : f.name + " is not in .calltargets");
    return nullptr;
  }
  return &f;
}

void call_indirect(Warp& w, const Instruction& in, uint32_t mask) {
  uint64_t address[kLanes];
  std::memcpy(address, slot_at(w, plan_of(in).slot), sizeof address);
  for (uint32_t rest = mask; rest != 0;) {
    const auto lane = static_cast<unsigned>(__builtin_ctz(rest));
    uint32_t group = 0;
    for (unsigned l = lane; l < kLanes; ++l) {
      if ((rest >> l & 1u) && address[l] == address[lane]) group |= 1u << l;
    }
    rest &= ~group;
    const Function* f = function_at(w, in, address[lane], lane);
    if (f == nullptr) return;
    enter(w, in, group, *f);
  }
}

// One lane leaves a function.
void leave_lane(Warp& w, const Function& f, const Instruction& call, unsigned lane) {
  const CallPlan& plan = plan_of(call);
  std::vector<Carried> values;
  for (const Formal& result : f.results) {
    if (result.in_register) check_returned(w, call, result.at, lane);
    values.push_back(take_formal(w, result, lane));
  }
  CallFrame called = std::move(w.calls[lane].back());
  w.calls[lane].pop_back();
  if (f.recursive) exchange_registers<false>(w, f, lane, called.kept);
  move_frame(w, lane, called.frame);
  for (uint32_t k = 0; k < plan.result_count; ++k) give_back(w, call, f, k, values[k], lane);
}

void ret(Warp& w, const Instruction& in, uint32_t mask) {
  const Program& program = program_of(w);
  const Function& f = *static_cast<const Function*>(in.plan);
  forget_loop(w, f);
  for (uint32_t rest = mask; rest != 0;) {
    const auto first = static_cast<unsigned>(__builtin_ctz(rest));
    const uint32_t from = w.calls[first].back().call;
    uint32_t group = 0;
    for (unsigned l = first; l < kLanes; ++l) {
      if ((rest >> l & 1u) && w.calls[l].back().call == from) group |= 1u << l;
    }
    rest &= ~group;
    for (unsigned l = first; l < kLanes; ++l) {
      if (group >> l & 1u) leave_lane(w, f, program.code[from], l);
    }
    jump(w, group, from + 1);
  }
}

// ---- Decoding -----------------------------------------------------------------------------------------------

bool bind_passed(Decoding& d, const OperandView& v, bool result, Passed* out) {
  using Kind = OperandView::Kind;
  const bool memory = v.space != 0xff;
  if (memory && v.space != static_cast<uint8_t>(VariableSpace::Local)) return false;
  const unsigned width = memory || v.kind == Kind::Immediate ? 64 : v.width;
  const bool bound = result && !memory ? v.kind == Kind::Register && d.bind_destination(&v, width, width)
                                       : d.bind_source(&v, width, width);
  if (!bound) return false;
  out->slot = d.slots().back();
  out->number = result && !memory ? v.reg : kNoRegister;
  out->width = static_cast<uint8_t>(width);
  out->memory = memory;
  return true;
}

const Passed* bind_list(Decoding& d, unsigned operand, bool result, uint32_t* count) {
  const auto& elements = d.operands[operand].elements;
  auto* kept = static_cast<Passed*>(d.keep_array(elements.size() * sizeof(Passed)));
  for (size_t k = 0; k < elements.size(); ++k) {
    if (!bind_passed(d, elements[k], result, &kept[k])) return nullptr;
  }
  *count = static_cast<uint32_t>(elements.size());
  return kept;
}

bool bind_target(Decoding& d, CallPlan* plan) {
  const OperandView& target = d.operands[1];
  plan->function = target.function;
  if (plan->function != kNoFunction) return true;
  if (target.kind != OperandView::Kind::Register || !d.source(1, 64)) return false;
  plan->slot = d.slots().back();
  const auto& listed = d.operands[3].elements;
  auto* kept = static_cast<uint32_t*>(d.keep_array(listed.size() * sizeof(uint32_t)));
  for (size_t k = 0; k < listed.size(); ++k) kept[k] = listed[k].function;
  plan->listed = kept;
  plan->listed_count = static_cast<uint32_t>(listed.size());
  return true;
}

}  // namespace

// Operands: the results, the function, what is passed, and the functions that an indirect call may reach.
Handler resolve_call(Decoding& d) {
  const Function* inside = d.program().function_of(d.out->index);
  if ((d.spelling == "ret" || d.spelling == "ret.uni") && inside != nullptr && d.operands.empty()) {
    d.out->plan = inside;
    return ret;
  }
  if ((d.spelling != "call" && d.spelling != "call.uni") || d.operands.size() != 4) return nullptr;
  CallPlan plan{};
  plan.results = bind_list(d, 0, true, &plan.result_count);
  plan.parameters = bind_list(d, 2, false, &plan.parameter_count);
  if (plan.results == nullptr || plan.parameters == nullptr || !bind_target(d, &plan)) return nullptr;
  for (const Function& f : d.program().functions) {
    if (f.system()) d.access(true, true, 1);  // it reads texts byte by byte
  }
  plan.frame = inside != nullptr ? inside->frame : d.program().kernel_frame;
  if (plan.function != kNoFunction && !fits(plan, d.program().functions[plan.function])) return nullptr;
  d.out->plan = d.keep(plan);
  return plan.function != kNoFunction ? call : call_indirect;
}

}  // namespace pyptx::emulator
