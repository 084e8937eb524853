#include "program.h"

#include "report.h"

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <utility>

namespace pyptx::emulator {
namespace {

constexpr uint64_t kMaxFileBytes = 16u << 20;
constexpr char kMagic[8] = {'P', 'T', 'X', 'E', 'M', 'U', 0, 2};

[[noreturn]] void corrupt(const std::string& what) {
  throw std::runtime_error("corrupt program image: " + what);
}

// Reads little-endian fields and never past the end.
class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : at_(data), end_(data + size) {}

  const uint8_t* take(size_t size, const char* what) {
    if (static_cast<size_t>(end_ - at_) < size) corrupt(std::string("it ends inside ") + what);
    const uint8_t* here = at_;
    at_ += size;
    return here;
  }
  uint64_t number(unsigned size, const char* what) {
    const uint8_t* p = take(size, what);
    uint64_t value = 0;
    for (unsigned i = 0; i < size; ++i) value |= static_cast<uint64_t>(p[i]) << (8 * i);
    return value;
  }
  uint8_t u8(const char* what) { return static_cast<uint8_t>(number(1, what)); }
  uint32_t u32(const char* what) { return static_cast<uint32_t>(number(4, what)); }
  uint64_t u64(const char* what) { return number(8, what); }
  // A count of things that take at least `least` bytes each, so that a corrupt count allocates nothing big.
  uint32_t count(size_t least, const char* what) {
    const uint32_t n = u32(what);
    if (n > static_cast<size_t>(end_ - at_) / least) corrupt(std::string("too many ") + what);
    return n;
  }
  bool done() const { return at_ == end_; }

 private:
  const uint8_t* at_;
  const uint8_t* end_;
};

bool valid_width(unsigned w) { return w == 1 || w == 8 || w == 16 || w == 32 || w == 64 || w == 128; }

// Whether bytes are UTF-8, as reports must be (RFC 3629).
bool is_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<uint8_t>(text[i++]);
    const unsigned more = lead < 0x80 ? 0 : lead >> 5 == 6 ? 1 : lead >> 4 == 14 ? 2 : lead >> 3 == 30 ? 3 : 4;
    if (more == 4 || more > text.size() - i) return false;
    uint32_t point = more == 0 ? lead : lead & (0x3fu >> more);
    for (unsigned k = 0; k < more; ++k) {
      const auto next = static_cast<uint8_t>(text[i++]);
      if (next >> 6 != 2) return false;
      point = point << 6 | (next & 0x3fu);
    }
    constexpr uint32_t kLeast[] = {0, 0x80, 0x800, 0x10000};
    if (point < kLeast[more] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) return false;
  }
  return true;
}

uint32_t slot_bytes(unsigned width) { return width == 1 ? 4 : width * kLanes / 8; }

unsigned spelled_width(std::string_view type) {
  if (type == "pred") return 1;
  size_t i = 0;
  while (i < type.size() && (type[i] < '0' || type[i] > '9')) ++i;
  unsigned width = 0;
  for (; i < type.size() && type[i] >= '0' && type[i] <= '9'; ++i) width = width * 10 + (type[i] - '0');
  return width;
}

std::vector<std::string_view> split_spelling(std::string_view spelling) {
  std::vector<std::string_view> parts;
  size_t start = 0;
  for (size_t i = 0; i <= spelling.size(); ++i) {
    if (i == spelling.size() || spelling[i] == '.') {
      parts.push_back(spelling.substr(start, i - start));
      start = i + 1;
    }
  }
  return parts;
}

using Resolve = Handler (*)(Decoding&);
constexpr Resolve kChapters[] = {resolve_special, resolve_integer, resolve_extended, resolve_float,
                                 resolve_half,    resolve_compare, resolve_logic,    resolve_video,
                                 resolve_move,    resolve_mbarrier, resolve_copy,    resolve_tensor_map,
                                 resolve_memory,  resolve_sync,    resolve_warpgroup, resolve_wmma,    resolve_tensor_core,
                                 resolve_warp,    resolve_call,    resolve_control};

}  // namespace

uint64_t content_hash(const void* bytes, size_t size) {
  const auto* p = static_cast<const uint8_t*>(bytes);
  uint64_t h = 0x9e3779b97f4a7c15ull ^ size;
  for (size_t i = 0; i < size; i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, p + i, std::min<size_t>(8, size - i));
    h = (h ^ word) * 0xff51afd7ed558ccdull;
    h ^= h >> 32;
  }
  return h;
}

// ---- Decoding: binding operands --------------------------------------------------------------------------

Decoding::Decoding(Program& program, Instruction& instruction) : out(&instruction), program_(program) {}

bool Decoding::has(std::string_view modifier) const {
  return std::find(modifiers.begin(), modifiers.end(), modifier) != modifiers.end();
}

std::string_view Decoding::last(unsigned k) const {
  return k < modifiers.size() ? modifiers[modifiers.size() - 1 - k] : std::string_view();
}

void Decoding::append(uint32_t offset, unsigned width, bool inverted) {
  const unsigned k = bound();
  if (k < kInlineOperands) out->operand[k] = offset;
  if (inverted) out->invert |= 1u << (k & 31u);
  slots_.push_back(offset);
  widths_.push_back(static_cast<uint8_t>(width));
}

bool Decoding::bind_source(const OperandView* v, unsigned least, unsigned most) {
  using Kind = OperandView::Kind;
  if (v == nullptr) return false;
  if (v->kind == Kind::Immediate) {
    const bool predicate = least == 1;
    append(program_.intern(predicate ? (v->bits != 0 ? ~0ull : 0) : v->bits, least), least, false);
    return true;
  }
  const bool negated = v->kind == Kind::Negated;
  if (v->kind != Kind::Register && !(negated && least == 1)) return false;
  const RegisterSlot& slot = program_.registers[v->reg];
  if (slot.width < least || slot.width > most) return false;
  sources_.push_back(v->reg);
  append(slot.offset, slot.width, negated);
  return true;
}

bool Decoding::bind_destination(const OperandView* v, unsigned least, unsigned most) {
  using Kind = OperandView::Kind;
  if (v == nullptr) return false;
  if (v->kind == Kind::Sink) {
    append(program_.sink, least, false);
    return true;
  }
  if (v->kind != Kind::Register || v->reg >= program_.image_registers) return false;
  const RegisterSlot& slot = program_.registers[v->reg];
  if (slot.width < least || slot.width > most) return false;
  destinations_.push_back(v->reg);
  append(slot.offset, slot.width, false);
  return true;
}

bool Decoding::shape(unsigned dst_width, unsigned src_width, unsigned sources) {
  if (operands.size() != sources + 1 || !destination(0, dst_width)) return false;
  for (unsigned k = 1; k <= sources; ++k) {
    if (!source(k, src_width)) return false;
  }
  return true;
}

const OperandView* Decoding::element(unsigned operand, unsigned e) const {
  const OperandView* v = view(operand);
  if (v == nullptr) return nullptr;
  if (v->kind != OperandView::Kind::Pair && v->kind != OperandView::Kind::Vector) return e == 0 ? v : nullptr;
  return e < v->elements.size() ? &v->elements[e] : nullptr;
}

unsigned Decoding::elements(unsigned operand) const {
  const OperandView* v = view(operand);
  if (v == nullptr) return 0;
  if (v->kind != OperandView::Kind::Pair && v->kind != OperandView::Kind::Vector) return 1;
  return static_cast<unsigned>(v->elements.size());
}

bool Decoding::accumulators(unsigned operand) {
  for (unsigned e = 0; e < elements(operand); ++e) {
    const OperandView* v = element(operand, e);
    if (v->kind != OperandView::Kind::Register || !bind_destination(v, 32, 32)) return false;
    held_.accumulators.push_back(v->reg);
  }
  return true;
}

bool Decoding::inputs(unsigned operand) {
  for (unsigned e = 0; e < elements(operand); ++e) {
    const OperandView* v = element(operand, e);
    if (v->kind != OperandView::Kind::Register || !bind_source(v, 32, 32)) return false;
    held_.inputs.push_back(v->reg);
  }
  return true;
}

bool Decoding::loads(unsigned operand) {
  for (unsigned e = 0; e < elements(operand); ++e) {
    const OperandView* v = element(operand, e);
    if (!bind_destination(v, 32, 32)) return false;
    if (v->kind == OperandView::Kind::Register) held_.loads.push_back(v->reg);
  }
  return true;
}

void* Decoding::keep_bytes(size_t size) { return program_.keep_bytes(size); }

void Decoding::access(bool shared, bool global, unsigned bytes) { program_.access(shared, global, bytes); }

void Decoding::reset() {
  slots_.clear();
  widths_.clear();
  sources_.clear();
  destinations_.clear();
  held_ = Held();
  out->handler = out->sanitized = nullptr;
  out->immediate = 0;
  out->invert = out->detail = out->target = 0;
  out->more = nullptr;
  out->plan = nullptr;
  std::memset(out->operand, 0, sizeof out->operand);
}

// ---- Program ---------------------------------------------------------------------------------------------

void* Program::keep_bytes(size_t size) {
  kept_.push_back(std::make_unique<uint8_t[]>(size + 16));
  const auto address = reinterpret_cast<uintptr_t>(kept_.back().get());
  return reinterpret_cast<void*>((address + 15) & ~static_cast<uintptr_t>(15));
}

uint32_t Program::intern(uint64_t bits, unsigned width) {
  if (width == 1) bits = bits != 0 ? ~0ull : 0;
  if (width < 64 && width > 1) bits &= (1ull << width) - 1;
  const unsigned group = width == 1 || width == 32 ? 0 : width == 64 ? 1 : 2;
  const uint64_t key = group == 2 ? bits * 31 + width : bits;
  auto& table = interned_[group];
  if (group != 2) {
    const auto found = table.find(key);
    if (found != table.end()) return found->second;
  }
  const uint32_t offset = static_cast<uint32_t>(pool_bytes_.size());
  const unsigned lane = width == 1 ? 4 : width / 8;
  pool_bytes_.resize(offset + std::max(64u, lane * kLanes), 0);
  for (unsigned l = 0; l < kLanes; ++l) {
    std::memcpy(&pool_bytes_[offset + l * lane], &bits, std::min(lane, 8u));
    // 128-bit immediates are sign-extended like the 64 bits that the image has.
    if (lane == 16 && (bits >> 63)) std::memset(&pool_bytes_[offset + l * lane + 8], 0xff, 8);
  }
  if (group != 2) table.emplace(key, offset | kPoolBit);
  return offset | kPoolBit;
}

void Program::access(bool shared, bool global, uint32_t bytes) {
  if (shared) shared_granule = std::min(shared_granule, bytes);
  if (global) {
    global_granule = std::min(global_granule, bytes);
    widest_global = std::max(widest_global, bytes);
  }
}

void Program::lay_out_registers() {
  // Wide registers first, so that each is aligned to its size.
  uint64_t end = 0;
  for (const unsigned width : {128u, 64u, 32u, 16u, 8u, 1u}) {
    for (RegisterSlot& slot : registers) {
      if (slot.width != width) continue;
      slot.offset = static_cast<uint32_t>(end);
      end += slot_bytes(width);
      if (end > kMaxFileBytes) throw std::runtime_error("kernel " + name + ": too many registers to emulate");
    }
  }
  true_predicate = static_cast<uint32_t>(end);
  end = (end + 4 + 63) & ~63ull;
  sink = static_cast<uint32_t>(end);
  file_bytes = static_cast<uint32_t>(end + 512);
}

const Function* Program::function_of(uint32_t instruction) const {
  for (const Function& f : functions) {
    if (instruction >= f.first && instruction < f.end) return &f;
  }
  return nullptr;
}

void Program::find_tracked(const std::vector<Flow>& flow) {
  tracked = live_at_start(flow, uses, image_registers, entry);
  std::vector<uint8_t> keep(image_registers, 0);
  for (const uint32_t r : tracked) keep[r] = 1;
  const auto untracked = [&](uint32_t r) { return !keep[r]; };
  const auto drop = [&](std::vector<uint32_t>& list) {
    list.erase(std::remove_if(list.begin(), list.end(), untracked), list.end());
  };
  for (Uses& u : uses) {
    drop(u.sources);
    drop(u.conditional);
    drop(u.destinations);
  }
}

void Program::find_held() {
  if (products.empty()) return;
  std::unordered_map<uint32_t, uint32_t> numbers;
  const auto number_all = [&](std::vector<uint32_t>& list) {
    for (uint32_t& r : list) {
      const auto [found, added] = numbers.emplace(r, static_cast<uint32_t>(held.size()));
      if (added) held.push_back(r);
      r = found->second;
    }
  };
  for (auto& [instruction, product] : products) {
    number_all(product->accumulators);
    number_all(product->inputs);
    number_all(product->loads);
  }
  touches.resize(code.size());
  for (uint32_t i = 0; i < uses.size(); ++i) {
    if (products.count(i) != 0) continue;
    for (const auto* list : {&uses[i].sources, &uses[i].destinations}) {
      for (const uint32_t r : *list) {
        const auto found = numbers.find(r);
        if (found != numbers.end()) touches[i].push_back(found->second);
      }
    }
  }
}

// ---- Reading an image ------------------------------------------------------------------------------------

class ImageReader {
 public:
  ImageReader(const void* image, size_t bytes, Program& program)
      : in_(static_cast<const uint8_t*>(image), bytes), p_(program) {}

  void read() {
    read_head();
    read_variables();
    read_relocations();
    read_functions();
    read_instructions();
    if (!in_.done()) corrupt("bytes after its end");
    fail_if_missing();
    finish();
  }

 private:
  struct Raw {
    uint32_t spelling, guard;
    bool negated;
    std::vector<OperandView> operands;
    bool unknown = false;  // reads a special register that the emulator does not have
  };

  const std::string& string(const char* what) {
    const uint32_t i = in_.u32(what);
    if (i >= strings_.size()) corrupt(std::string("string number of ") + what);
    return strings_[i];
  }

  void read_head() {
    if (std::memcmp(in_.take(8, "the magic"), kMagic, 8) != 0) corrupt("its first bytes are not an image's");
    strings_.resize(in_.count(4, "strings"));
    for (std::string& s : strings_) {
      const uint32_t size = in_.u32("a string's length");
      s.assign(reinterpret_cast<const char*>(in_.take(size, "a string")), size);
      if (!is_utf8(s)) corrupt("a string that is not UTF-8");
    }
    p_.name = string("the kernel's name");
    p_.sm = in_.u32("the target");
    p_.target = string("the target's name");
    p_.registers.resize(in_.count(1, "registers"));
    for (RegisterSlot& r : p_.registers) {
      r.width = in_.u8("a register");
      if (!valid_width(r.width)) corrupt("a register's width");
    }
    p_.image_registers = static_cast<uint32_t>(p_.registers.size());
    p_.params.resize(in_.count(13, "parameters"));
    for (Parameter& param : p_.params) {
      param.name = string("a parameter's name");
      param.offset = in_.u32("a parameter");
      param.size = in_.u32("a parameter");
      const uint8_t holds = in_.u8("a parameter");
      param.tensor = holds == 1;
      param.map_element = holds / 2;
      if (holds > 16) corrupt("what a parameter holds");
      const uint64_t end = static_cast<uint64_t>(param.offset) + param.size;
      if (end > 1u << 16) corrupt("parameters of more than 64 KiB");
      p_.param_bytes = std::max(p_.param_bytes, static_cast<uint32_t>(end));
    }
  }

  void read_variables() {
    p_.variables.resize(in_.count(21, "variables"));
    for (Variable& v : p_.variables) {
      v.name = string("a variable's name");
      const uint8_t space = in_.u8("a variable");
      if (space > 4) corrupt("a variable's space");
      v.space = static_cast<VariableSpace>(space);
      v.offset = in_.u32("a variable");
      v.size = in_.u32("a variable");
      v.align = in_.u32("a variable");
      const uint32_t initial = in_.u32("a variable");
      if (initial > v.size) corrupt("a variable with more initial bytes than its size");
      v.initial.assign(reinterpret_cast<const char*>(in_.take(initial, "a variable's bytes")), initial);
      const uint64_t end = static_cast<uint64_t>(v.offset) + v.size;
      const bool local = v.space == VariableSpace::Local || v.space == VariableSpace::Frame;
      const uint64_t limit = local ? 512u << 10
                             : v.space == VariableSpace::Const ? 64u << 10
                             : v.space == VariableSpace::Shared ? 1u << 20
                                                                : 1u << 30;
      if (end > limit) corrupt("a variable beyond the size of its space");
      if (v.space == VariableSpace::Frame) continue;
      uint32_t& bytes = p_.space_bytes[space];
      bytes = std::max(bytes, static_cast<uint32_t>(end));
    }
    p_.constants.assign(p_.space_bytes[2], 0);
    for (const Variable& v : p_.variables) {
      if (v.space == VariableSpace::Const) std::copy(v.initial.begin(), v.initial.end(), &p_.constants[v.offset]);
    }
  }

  uint32_t variable_number(const char* what) {
    const uint32_t i = in_.u32(what);
    if (i >= p_.variables.size()) corrupt(std::string("variable number of ") + what);
    return i;
  }

  void read_relocations() {
    p_.relocations.resize(in_.count(27, "addresses in variables"));
    for (Relocation& r : p_.relocations) {
      r.variable = variable_number("an address in a variable");
      r.offset = in_.u32("an address in a variable");
      r.bytes = in_.u8("an address in a variable");
      r.shift = in_.u8("an address in a variable");
      const uint8_t of = in_.u8("an address in a variable");
      r.index = in_.u32("an address in a variable");
      r.addend = static_cast<int64_t>(in_.u64("an address in a variable"));
      const Variable& v = p_.variables[r.variable];
      const bool placed = v.space == VariableSpace::Const || v.space == VariableSpace::Global;
      if (r.bytes == 0 || r.bytes > 8 || r.shift > 56 || of < 1 || of > 3 || !placed ||
          static_cast<uint64_t>(r.offset) + r.bytes > v.size) {
        corrupt("an address in a variable");
      }
      r.of = static_cast<Relocation::Of>(of);
      if (r.of != Relocation::Of::Function && r.index >= p_.variables.size()) corrupt("an address in a variable");
    }
  }

  std::vector<Formal> formals(const Function& f) {
    std::vector<Formal> list(in_.u8("a function's parameters"));
    for (Formal& formal : list) {
      formal.in_register = in_.u8("a function's parameter") == 0;
      formal.at = in_.u32("a function's parameter");
      formal.size = in_.u32("a function's parameter");
      if (formal.in_register && (formal.at < f.first_register || formal.at >= f.end_register ||
                                 formal.size != p_.registers[formal.at].width / 8u)) {
        corrupt("a register of a function's parameters");
      }
      if (!formal.in_register && static_cast<uint64_t>(formal.at) + formal.size > f.frame) {
        corrupt("a function's parameter outside its frame");
      }
    }
    return list;
  }

  static bool is_vprintf(const Function& f) {
    const auto fits = [](const Formal& formal, uint32_t size) { return !formal.in_register && formal.size == size; };
    return f.name == "vprintf" && f.results.size() == 1 && fits(f.results[0], 4) && f.parameters.size() == 2 &&
           fits(f.parameters[0], 8) && fits(f.parameters[1], 8);
  }

  void read_functions() {
    constexpr uint32_t kLimit = 512u << 10;
    p_.functions.resize(in_.count(27, "functions"));
    for (Function& f : p_.functions) {
      f.name = string("a function's name");
      f.first = in_.u32("a function");
      f.end = in_.u32("a function");
      f.frame = in_.u32("a function");
      f.first_register = in_.u32("a function");
      f.end_register = in_.u32("a function");
      f.recursive = in_.u8("a function") != 0;
      if (f.first > f.end || f.frame > kLimit || f.first_register > f.end_register ||
          f.end_register > p_.image_registers) {
        corrupt("a function's size");
      }
      f.results = formals(f);
      f.parameters = formals(f);
      if (f.system() && !is_vprintf(f)) corrupt("a function without instructions");
    }
    p_.entry = in_.u32("the kernel's first instruction");
    p_.kernel_frame = in_.u32("the kernel's local memory");
    const uint32_t stack = in_.u32("the local memory of a thread");
    uint32_t& local = p_.space_bytes[static_cast<size_t>(VariableSpace::Local)];
    if (stack > kLimit || p_.kernel_frame > stack || p_.kernel_frame < local) corrupt("the local memory of a thread");
    local = stack;
    for (const Relocation& r : p_.relocations) {
      if (r.of == Relocation::Of::Function && r.index >= p_.functions.size()) corrupt("an address in a variable");
    }
  }

  void read_instructions() {
    const uint32_t count = in_.count(10, "instructions");
    if (count > kMaxInstructions) corrupt("too many instructions");
    if (p_.entry > count) corrupt("the kernel's first instruction");
    for (const Function& f : p_.functions) {
      if (f.end > p_.entry) corrupt("a function behind the kernel");
    }
    instruction_count_ = count;
    raw_.resize(count);
    for (Raw& raw : raw_) {
      string_index(raw.spelling, "an instruction's spelling");
      raw.guard = in_.u32("a guard");
      raw.negated = in_.u8("a guard") != 0;
      if (raw.guard != kNoRegister && (raw.guard >= p_.image_registers || p_.registers[raw.guard].width != 1)) {
        corrupt("a guard that is not a predicate register");
      }
      spelling_ = strings_[raw.spelling];
      const unsigned operands = in_.u8("operands");
      unknown_ = false;
      for (unsigned k = 0; k < operands; ++k) raw.operands.push_back(operand(0));
      raw.unknown = unknown_;
    }
    p_.lay_out_registers();
    resolve_all();
  }

  void string_index(uint32_t& index, const char* what) {
    index = in_.u32(what);
    if (index >= strings_.size()) corrupt(std::string("string number of ") + what);
  }

  uint32_t register_number() {
    const uint32_t r = in_.u32("a register operand");
    if (r >= p_.image_registers) corrupt("register number");
    return r;
  }

  OperandView operand(unsigned depth) {
    using Kind = OperandView::Kind;
    OperandView v;
    switch (in_.u8("an operand")) {
      case 0:
        v.kind = Kind::Register;
        v.reg = register_number();
        v.width = p_.registers[v.reg].width;
        break;
      case 1:
        v.kind = Kind::Immediate;
        v.bits = in_.u64("an immediate");
        v.width = in_.u8("an immediate");
        if (!valid_width(v.width)) corrupt("an immediate's width");
        break;
      case 2:
        special(v, string("a special register"));
        break;
      case 3:
        address(v);
        break;
      case 4: {
        const uint8_t of = in_.u8("a symbol");
        const uint32_t index = in_.u32("a symbol");
        const auto offset = static_cast<int64_t>(in_.u64("a symbol"));
        symbol(v, of, index, offset);
        break;
      }
      case 5:
        v.kind = Kind::Label;
        v.target = in_.u32("a label");
        if (v.target > instruction_count_) corrupt("a label beyond the end");
        break;
      case 6:
        v.kind = Kind::Negated;
        v.reg = register_number();
        v.width = p_.registers[v.reg].width;
        if (v.width != 1) corrupt("a negated operand that is not a predicate");
        break;
      case 7:
        v.kind = Kind::Sink;
        break;
      case 8:
        if (depth > 2) corrupt("operands nested too deep");
        v.kind = Kind::Pair;
        v.elements.push_back(operand(depth + 1));
        v.elements.push_back(operand(depth + 1));
        break;
      case 9: {
        if (depth > 2) corrupt("operands nested too deep");
        v.kind = Kind::Vector;
        const unsigned count = in_.u8("a vector");
        for (unsigned i = 0; i < count; ++i) v.elements.push_back(operand(depth + 1));
        break;
      }
      case 10:
        v.kind = Kind::Immediate;
        v.function = in_.u32("a function operand");
        if (v.function >= p_.functions.size()) corrupt("a function's number");
        v.bits = function_address(v.function);
        v.width = 64;
        break;
      case 11:
        v.kind = Kind::Part;
        v.reg = register_number();
        v.width = p_.registers[v.reg].width;
        v.offset = in_.u8("a part of a register");
        v.bits = in_.u32("a part of a register");
        break;
      default:
        corrupt("an operand's tag");
    }
    return v;
  }

  // The register that holds a value the core fills in when a warp starts.
  uint32_t preload(Preload::Kind kind, Special special, uint64_t value, unsigned width) {
    for (const Preload& p : p_.preloads) {
      if (p.kind == kind && p.special == special && p.value == value &&
          p_.registers[p.register_].width == width) {
        return p.register_;
      }
    }
    const auto number = static_cast<uint32_t>(p_.registers.size());
    p_.registers.push_back({0, static_cast<uint8_t>(width)});
    p_.preloads.push_back({kind, special, value, number});
    return number;
  }

  void special(OperandView& v, const std::string& name) {
    const SpecialRow* row = find_special(name);
    if (row == nullptr) {
      unknown_ = true;
      v.kind = OperandView::Kind::Special;
      v.special = name;
      v.width = 32;
      return;
    }
    if (changes(row->special)) {
      v.kind = OperandView::Kind::Special;
      v.special = row->name;
      v.width = row->width;
      return;
    }
    // Old code reads 32-bit special registers as 16-bit ones and 64-bit ones as 32-bit.
    const auto parts = split_spelling(spelling_);
    const unsigned spelled = parts[0] == "mov" ? spelled_width(parts.back()) : 0;
    const bool fits = row->width != 1 && (spelled == 16 || spelled == 32 || spelled == 64);
    v.kind = OperandView::Kind::Register;
    v.width = fits ? spelled : row->width;
    uint64_t value = 0;
    if (row->special == Special::envreg) value = std::stoul(name.substr(6));
    v.reg = preload(Preload::Kind::Special, row->special, value, v.width);
  }

  // A variable's or parameter's address: constant, except in shared and global memory.
  void symbol(OperandView& v, uint8_t of, uint32_t index, int64_t offset) {
    const auto parts = split_spelling(spelling_);
    const bool of_type = parts[0] == "mov" || parts[0] == "mapa" || parts[0] == "getctarank";
    const unsigned spelled = of_type ? spelled_width(parts.back()) : 64;
    v.width = spelled == 32 ? 32 : 64;
    v.variable = index;
    if (of == 2) {
      if (index >= p_.params.size()) corrupt("a parameter's number");
      v.kind = OperandView::Kind::Immediate;
      v.bits = p_.params[index].offset + static_cast<uint64_t>(offset);
      v.space = 4;
      return;
    }
    if (of != 1) corrupt("what a symbol is of");
    if (index >= p_.variables.size()) corrupt("a variable's number");
    const Variable& variable = p_.variables[index];
    const uint64_t value = variable.offset + static_cast<uint64_t>(offset);
    const bool frame = variable.space == VariableSpace::Frame, shared = variable.space == VariableSpace::Shared;
    v.space = static_cast<uint8_t>(frame ? VariableSpace::Local : variable.space);
    if (frame || shared || variable.space == VariableSpace::Global) {
      v.kind = OperandView::Kind::Register;
      const auto kind = frame    ? Preload::Kind::FrameSymbol
                        : shared ? Preload::Kind::SharedSymbol
                                 : Preload::Kind::GlobalSymbol;
      v.reg = preload(kind, Special::none, value, v.width);
      return;
    }
    v.kind = OperandView::Kind::Immediate;
    v.bits = value;
  }

  void address(OperandView& v) {
    const uint8_t base = in_.u8("an address");
    const uint64_t value = in_.u64("an address");
    const auto offset = static_cast<int64_t>(in_.u64("an address"));
    v.offset = offset;
    if (base == 0) {
      if (value >= p_.image_registers) corrupt("an address's register");
      v.reg = static_cast<uint32_t>(value);
      v.width = p_.registers[v.reg].width;
      if (v.width != 32 && v.width != 64) corrupt("an address's register is not 32 or 64 bits wide");
    } else if (base == 1 || base == 2) {
      if (value > 0xffffffffu) corrupt("an address's symbol");
      OperandView of;
      const std::string spelling = std::exchange(spelling_, std::string("ld"));
      symbol(of, base, static_cast<uint32_t>(value), 0);
      spelling_ = spelling;
      v.variable = of.variable;
      v.space = of.space;
      v.width = 64;
      v.has_base = of.kind == OperandView::Kind::Register;
      v.reg = of.reg;
      if (!v.has_base) v.offset = static_cast<int64_t>(of.bits + static_cast<uint64_t>(offset));
    } else if (base == 3) {
      v.has_base = false;
      v.width = 64;
      v.offset = static_cast<int64_t>(value + static_cast<uint64_t>(offset));
    } else {
      corrupt("an address's base");
    }
    v.kind = OperandView::Kind::Address;
  }

  void resolve_all() {
    p_.code.resize(raw_.size() + 1);
    p_.uses.resize(raw_.size());
    p_.text.resize(raw_.size());
    p_.branches.resize(raw_.size());
    p_.polls.resize(raw_.size());
    flow_.resize(raw_.size());
    for (uint32_t i = 0; i <= raw_.size(); ++i) {
      Instruction& in = p_.code[i];
      in.index = i;
      in.guard = p_.true_predicate;
      in.guard_invert = 0;
      if (i == raw_.size()) {
        Decoding end(p_, in);
        end.reset();
        end.spelling = end.opcode = "exit";
        in.handler = resolve_control(end);
        if (in.sanitized == nullptr) in.sanitized = in.handler;
        break;
      }
      resolve_one(raw_[i], in, i);
    }
  }

  void resolve_one(const Raw& raw, Instruction& in, uint32_t i) {
    Decoding d(p_, in);
    d.spelling = strings_[raw.spelling];
    const auto parts = split_spelling(d.spelling);
    d.opcode = parts[0];
    d.modifiers.assign(parts.begin() + 1, parts.end());
    d.operands = raw.operands;
    d.sm = p_.sm;
    p_.text[i] = render(raw);
    Handler handler = nullptr;
    for (const Resolve resolve : kChapters) {
      if (raw.unknown) break;
      d.reset();
      handler = resolve(d);
      if (handler != nullptr) break;
    }
    if (handler == nullptr) {
      missing_.push_back(i);
      return;
    }
    in.handler = handler;
    if (in.sanitized == nullptr) in.sanitized = handler;
    if (raw.guard != kNoRegister) {
      in.guard = p_.registers[raw.guard].offset;
      in.guard_invert = raw.negated ? kFullMask : 0;
      p_.uses[i].sources.push_back(raw.guard);
    }
    keep_uses(d, i);
    if (d.bound() > kInlineOperands) {
      auto* more = static_cast<uint32_t*>(p_.keep_bytes(d.bound() * sizeof(uint32_t)));
      std::copy(d.slots().begin(), d.slots().end(), more);
      in.more = more;
    }
    flow_[i].guarded = raw.guard != kNoRegister;
    flow_[i].leaves = d.opcode == "exit" || d.opcode == "ret" || d.opcode == "trap" || d.opcode == "bra" ||
                      d.opcode == "brx";
    for (const OperandView& v : raw.operands) collect_targets(v, flow_[i].targets);
    if (d.opcode == "call") reach_functions(raw, i);
    p_.branches[i] = d.opcode == "bra";
    const bool reads = d.opcode == "ld" || d.opcode == "ldu" || d.opcode == "atom";
    p_.polls[i] = reads && !d.has("shared") && !d.has("shared::cta") && !d.has("param") && !d.has("const");
    p_.communicates |= communicates(d);
    p_.asynchronous |= d.opcode == "mbarrier" || d.opcode == "wgmma" || d.opcode == "tcgen05" || d.has("async");
    if (!d.held().accumulators.empty() || !d.held().loads.empty()) p_.products.emplace(i, std::make_unique<Held>(d.held()));
    if (d.has("tensor") || d.opcode == "tensormap") note_tensors();
  }

  // Whether what the instruction does depends on when other CTAs do theirs.
  static bool communicates(const Decoding& d) {
    const std::string_view opcode = d.opcode;
    if (opcode == "cp") return d.has("reduce") && d.has("global");
    const auto has_any = [&](std::initializer_list<std::string_view> modifiers) {
      return std::any_of(modifiers.begin(), modifiers.end(), [&](std::string_view m) { return d.has(m); });
    };
    if (has_any({"shared", "shared::cta", "shared::cluster", "local", "param", "const"})) return false;
    if (opcode == "atom" || opcode == "red" || opcode == "multimem") return true;
    return (opcode == "ld" || opcode == "st") && has_any({"volatile", "relaxed", "acquire", "release", "mmio"});
  }

  // Copies of tensors reach single elements, of a size that only the maps among the parameters tell.
  void note_tensors() {
    uint32_t least = 16;
    for (const Parameter& p : p_.params) least = std::min(least, p.map_element == 0 ? 16 : p.map_element);
    p_.access(false, true, least == 16 ? 1 : least);
    p_.access(false, true, 16);
  }

  void keep_uses(const Decoding& d, uint32_t i) {
    for (const uint32_t r : d.bound_sources()) {
      if (r < p_.image_registers) p_.uses[i].sources.push_back(r);
    }
    p_.uses[i].destinations = d.bound_destinations();
    p_.uses[i].conditional = d.conditional_sources();
  }

  // A call continues in the function that it names, or in any; the function's registers begin there.
  void reach_functions(const Raw& raw, uint32_t i) {
    const uint32_t named = raw.operands[1].function;
    for (uint32_t k = 0; k < p_.functions.size(); ++k) {
      const bool reached = named == k || named == 0xffffffffu;
      if (reached && !p_.functions[k].system()) flow_[i].targets.push_back(p_.functions[k].first);
    }
    if (named == 0xffffffffu) return;
    for (const Formal& formal : p_.functions[named].parameters) {
      if (formal.in_register) p_.uses[i].destinations.push_back(formal.at);
    }
  }

  static void collect_targets(const OperandView& v, std::vector<uint32_t>& targets) {
    if (v.kind == OperandView::Kind::Label) targets.push_back(v.target);
    for (const OperandView& e : v.elements) collect_targets(e, targets);
  }

  void fail_if_missing() {
    if (missing_.empty()) return;
    std::string message = "kernel " + p_.name + ": not emulated:";
    const SourceTable source = source_of(p_.hash);
    std::vector<uint32_t> seen;
    for (const uint32_t i : missing_) {
      const uint32_t spelling = raw_[i].spelling;
      if (std::find(seen.begin(), seen.end(), spelling) != seen.end()) continue;
      seen.push_back(spelling);
      const std::string place = source.place(i);
      message += "\n  " + (place.empty() ? "" : place + ": ") + strings_[spelling] + "  (instruction " + std::to_string(i) + ": " + p_.text[i] + ")";
    }
    throw std::runtime_error(message);
  }

  void finish() {
    p_.find_held();
    p_.find_tracked(flow_);
    const size_t size = p_.pool_bytes_.size();
    auto* place = static_cast<uint8_t*>(p_.keep_bytes(size + 64));
    place = reinterpret_cast<uint8_t*>((reinterpret_cast<uintptr_t>(place) + 63) & ~static_cast<uintptr_t>(63));
    if (size != 0) std::memcpy(place, p_.pool_bytes_.data(), size);
    p_.pool_ = place;
  }

  std::string register_name(uint32_t r) const {
    if (r >= p_.image_registers) {
      for (const Preload& preload : p_.preloads) {
        if (preload.register_ == r && preload.kind == Preload::Kind::Special) {
          return "%" + special_name(preload.special, preload.value);
        }
      }
    }
    return (p_.registers[r].width == 1 ? "%p" : "%r") + std::to_string(r);
  }

  std::string symbol_name(const OperandView& v) const {
    if (v.space == 4) return p_.params[v.variable].name;
    const std::string& name = p_.variables[v.variable].name;
    return name.empty() ? "variable" + std::to_string(v.variable) : name;
  }

  std::string render(const OperandView& v) const {
    using Kind = OperandView::Kind;
    char hex[32];
    switch (v.kind) {
      case Kind::Register:
        return v.space != 0xff ? symbol_name(v) : register_name(v.reg);
      case Kind::Negated:
        return "!" + register_name(v.reg);
      case Kind::Immediate:
        if (v.function != 0xffffffffu) return p_.functions[v.function].name;
        if (v.space != 0xff) return symbol_name(v);
        if (static_cast<int64_t>(v.bits) > -65536 && static_cast<int64_t>(v.bits) < 65536) {
          return std::to_string(static_cast<int64_t>(v.bits));
        }
        std::snprintf(hex, sizeof hex, "0x%llx", static_cast<unsigned long long>(v.bits));
        return hex;
      case Kind::Special:
        return "%" + std::string(v.special);
      case Kind::Address:
        return render_address(v);
      case Kind::Label:
        return "$" + std::to_string(v.target);
      case Kind::Sink:
        return "_";
      case Kind::Pair:
        if (v.elements[0].kind == Kind::Address) return render_position(v);
        return render(v.elements[0]) + "|" + render(v.elements[1]);
      case Kind::Part:
        return render_part(v);
      case Kind::Vector:
        break;
    }
    std::string list;
    for (const OperandView& e : v.elements) list += (list.empty() ? "" : ", ") + render(e);
    return "{" + list + "}";
  }

  // r.h1, -r.b0
  std::string render_part(const OperandView& v) const {
    std::string text = (v.offset ? "-" : "") + register_name(v.reg);
    const unsigned count = v.bits >> 16 & 0xff;
    if (count != 0) text += v.bits >> 24 & 1 ? ".h" : ".b";
    for (unsigned k = count; k-- > 0;) text += static_cast<char>('0' + (v.bits >> (4 * k) & 0xf));
    return text;
  }

  // [map, {coordinates}]
  std::string render_position(const OperandView& v) const {
    std::string map = render(v.elements[0]);
    map.pop_back();
    return map + ", " + render(v.elements[1]) + "]";
  }

  std::string render_address(const OperandView& v) const {
    int64_t offset = v.offset;
    std::string base;
    if (v.space != 0xff) {
      base = symbol_name(v);
      if (v.space == 4) offset -= p_.params[v.variable].offset;
      else if (!v.has_base) offset -= p_.variables[v.variable].offset;
    } else if (v.has_base) {
      base = register_name(v.reg);
    } else {
      return "[" + std::to_string(offset) + "]";
    }
    if (offset != 0) base += (offset > 0 ? "+" : "") + std::to_string(offset);
    return "[" + base + "]";
  }

  std::string render(const Raw& raw) const {
    std::string line;
    if (raw.guard != kNoRegister) line = (raw.negated ? "@!" : "@") + register_name(raw.guard) + " ";
    line += strings_[raw.spelling];
    for (size_t k = 0; k < raw.operands.size(); ++k) line += (k ? ", " : " ") + render(raw.operands[k]);
    return line;
  }

  Bytes in_;
  Program& p_;
  std::vector<std::string> strings_;
  std::string spelling_;
  bool unknown_ = false;
  uint32_t instruction_count_ = 0;
  std::vector<Raw> raw_;
  std::vector<uint32_t> missing_;
  std::vector<Flow> flow_;
};

std::unique_ptr<Program> Program::read(const void* image, size_t bytes) {
  auto program = std::make_unique<Program>();
  program->hash = content_hash(image, bytes);
  ImageReader(image, bytes, *program).read();
  return program;
}

}  // namespace pyptx::emulator
