// Reads a program image (docs/architecture.md): every count and index is checked.
#include "program.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "image_bytes.h"
#include "render.h"
#include "report.h"

namespace pyptx::emulator {
namespace {

constexpr char kMagic[8] = {'P', 'T', 'X', 'E', 'M', 'U', 0, 2};

bool valid_width(unsigned w) { return w == 1 || w == 8 || w == 16 || w == 32 || w == 64 || w == 128; }

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
                                 resolve_warp,    resolve_call,    resolve_texture, resolve_control};

}  // namespace

class ImageReader {
 public:
  ImageReader(const void* image, size_t bytes, Program& program, bool whole)
      : in_(static_cast<const uint8_t*>(image), bytes), p_(program), whole_(whole) {}

  void read() {
    read_head();
    read_variables();
    read_relocations();
    read_functions();
    read_instructions();
    if (!in_.done()) read_subscripts();
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
      param.element = holds / 2;
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

  // By its name, and the bytes of its results and parameters as CUDA declares them.
  static System system_of(const Function& f) {
    struct Row {
      std::string_view name;
      System does;
      std::vector<uint32_t> results, parameters;
    };
    static const Row kRows[] = {{"vprintf", System::Print, {4}, {8, 8}},
                                {"__assertfail", System::Assert, {}, {8, 8, 4, 8, 8}},
                                {"malloc", System::Allocate, {8}, {8}},
                                {"free", System::Free, {}, {8}}};
    const auto fit = [](const std::vector<Formal>& formals, const std::vector<uint32_t>& sizes) {
      return std::equal(formals.begin(), formals.end(), sizes.begin(), sizes.end(),
                        [](const Formal& formal, uint32_t size) { return !formal.in_register && formal.size == size; });
    };
    for (const Row& row : kRows) {
      if (f.name == row.name && fit(f.results, row.results) && fit(f.parameters, row.parameters)) return row.does;
    }
    return System::None;
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
      if (!f.system()) continue;
      f.does = system_of(f);
      if (f.does == System::None) corrupt("a function without instructions");
      p_.allocates |= f.does == System::Allocate || f.does == System::Free;
    }
    p_.communicates |= p_.allocates;  // addresses depend on the order of the calls
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
    p_.lay_out_registers({});
    apart_.assign(p_.registers.size(), 0);
    resolve_all();
  }

  void read_subscripts() {
    p_.subscripts.resize(p_.code.size());
    for (uint32_t rows = in_.count(27, "indices"); rows != 0; --rows) {
      const uint32_t i = in_.u32("an index's instruction");
      if (i >= instruction_count_) corrupt("an index's instruction");
      Subscript s{};
      const uint32_t number = register_number();
      s.offset = p_.registers[number].offset;
      s.width = p_.registers[number].width;
      apart_[number] = 1;
      s.is_signed = in_.u8("an index") != 0;
      s.axis = in_.u8("an index");
      s.known = in_.u8("an index") != 0;
      s.extent = in_.u64("an index's extent");
      s.span = in_.u32("an index");
      s.of = string("what is indexed");
      if (!s.known) {
        if (s.extent >= p_.image_registers) corrupt("an extent's register");
        apart_[s.extent] = 1;
        s.extent_offset = p_.registers[s.extent].offset;
        s.extent_width = p_.registers[s.extent].width;
      }
      const auto is_wide = [](unsigned width) { return width == 32 || width == 64; };
      if (!is_wide(s.width) || (!s.known && !is_wide(s.extent_width)) || s.span == 0) corrupt("an index");
      subscript(i, s);
    }
  }

  void subscript(uint32_t i, const Subscript& s) {
    Instruction& in = p_.code[i];
    if (in.handler == nullptr) return;  // an instruction that is not emulated
    std::unique_ptr<Subscripts>& held = p_.subscripts[i];
    if (held == nullptr) {
      held = std::make_unique<Subscripts>();
      held->handler = in.handler;
      held->sanitized = in.sanitized;
      held->store = strings_[raw_[i].spelling].rfind("st.", 0) == 0;
      in.handler = run_subscripted;
      in.sanitized = run_subscripted_sanitized;
    }
    held->add(s);
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
    p_.reads_reserved |= row->special == Special::reserved_smem_offset;
    p_.reads_environment |= row->special == Special::envreg;
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
    if (row->special == Special::envreg) value = std::stoul(name.substr(6));  // which one
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
    d.spelling = without_used_bytes(strings_[raw.spelling], i);
    const auto parts = split_spelling(d.spelling);
    d.opcode = parts[0];
    d.modifiers.assign(parts.begin() + 1, parts.end());
    d.operands = raw.operands;
    d.sm = p_.sm;
    p_.text[i] = render(p_, d.spelling, {raw.guard, raw.negated}, raw.operands);
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
      more_.emplace_back(more, d.bound());
    }
    keep_apart(d, i);
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
    if (d.has("tensor") || d.opcode == "tensormap" || reads_texels(d.opcode)) note_tensors();
  }

  // A load of which not all bytes matter ends in ".used_bytes_" and a mask of those that do.
  std::string_view without_used_bytes(std::string_view spelling, uint32_t i) {
    constexpr std::string_view kMark = ".used_bytes_";
    const size_t at = spelling.find(kMark);
    if (at == std::string_view::npos) return spelling;
    uint64_t mask = 0;
    for (const char c : spelling.substr(at + kMark.size())) {
      if (c < '0' || c > '9' || mask > 0xffffffffu) corrupt("a mask of used bytes");
      mask = mask * 10 + static_cast<unsigned>(c - '0');
    }
    if (mask == 0 || mask > 0xffffffffu) corrupt("a mask of used bytes");
    p_.used_bytes.emplace(i, static_cast<uint32_t>(mask));
    return spelling.substr(0, at);
  }

  // Whether what the instruction does depends on when other CTAs do theirs.
  static bool communicates(const Decoding& d) {
    const std::string_view opcode = d.opcode;
    if (opcode == "cp") return d.has("reduce") && d.has("global");
    const auto has_any = [&](std::initializer_list<std::string_view> modifiers) {
      return std::any_of(modifiers.begin(), modifiers.end(), [&](std::string_view m) { return d.has(m); });
    };
    if (has_any({"shared", "shared::cta", "shared::cluster", "local", "param", "const"})) return false;
    if (opcode == "atom" || opcode == "red" || opcode == "multimem" || opcode == "sured") return true;
    return (opcode == "ld" || opcode == "st") && has_any({"volatile", "relaxed", "acquire", "release", "mmio"});
  }

  // Copies of tensors, and textures, reach single elements, of a size that only what is among the parameters tells.
  void note_tensors() {
    uint32_t least = 16;
    for (const Parameter& p : p_.params) least = std::min(least, p.element == 0 ? 16 : p.element);
    p_.access(false, true, least == 16 ? 1 : least);
    p_.access(false, true, 16);
  }

  void keep_uses(const Decoding& d, uint32_t i) {
    for (const uint32_t r : d.bound_sources()) {
      if (r < p_.image_registers) p_.uses[i].sources.push_back(r);
    }
    p_.uses[i].destinations = d.bound_destinations();
    p_.uses[i].conditional = d.conditional_sources();
    p_.uses[i].role = role_of(d);
    p_.uses[i].moved = moved_by(d, p_.image_registers, p_.space_bytes[static_cast<size_t>(VariableSpace::Local)] > 0);
    if (p_.uses[i].moved.kind != Moved::Kind::None && raw_[i].guard != kNoRegister) {
      p_.uses[i].moved.read.push_back(raw_[i].guard);
    }
  }

  // Registers that matter where they are not live: a lane that does not execute a shfl gives what it had, and who waits
  // for a time is seen to go on by the times that it has read.
  void keep_apart(const Decoding& d, uint32_t i) {
    const bool reads_time = std::any_of(d.operands.begin(), d.operands.end(),
                                        [](const OperandView& v) { return v.kind == OperandView::Kind::Special; });
    for (const uint32_t r : p_.uses[i].sources) apart_[r] |= d.opcode == "shfl";
    for (const uint32_t r : p_.uses[i].destinations) apart_[r] |= reads_time;
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
    p_.find_ignored(flow_);
    Lives lives = find_lives(flow_, p_.uses, p_.image_registers, p_.entry);
    p_.find_tracked(std::move(lives.at_start));
    if (!whole_) p_.share_registers(std::move(lives.lifetimes), apart_, more_);
    const size_t size = p_.pool_bytes_.size();
    auto* place = static_cast<uint8_t*>(p_.keep_bytes(size + 64));
    place = reinterpret_cast<uint8_t*>((reinterpret_cast<uintptr_t>(place) + 63) & ~static_cast<uintptr_t>(63));
    if (size != 0) std::memcpy(place, p_.pool_bytes_.data(), size);
    p_.pool_ = place;
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
  bool whole_;
  std::vector<uint8_t> apart_;  // by register, whether it shares its place with no other
  std::vector<std::pair<uint32_t*, size_t>> more_;  // operands that are not inline
};

std::unique_ptr<Program> Program::read(const void* image, size_t bytes, bool whole) {
  auto program = std::make_unique<Program>();
  program->hash = content_hash(image, bytes);
  ImageReader(image, bytes, *program, whole).read();
  return program;
}

}  // namespace pyptx::emulator
