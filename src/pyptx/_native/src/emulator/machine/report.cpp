#include "report.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <unordered_map>

#include "warp.h"

namespace pyptx::emulator {
namespace {

struct KindRow {
  Kind kind;
  const char* name;   // stable, for programs
  const char* title;  // for a person
};

constexpr KindRow kKinds[] = {
    {Kind::OutOfBounds, "out-of-bounds", "out of bounds"},
    {Kind::Misaligned, "misaligned", "misaligned access"},
    {Kind::ReadOnly, "read-only", "store to read-only memory"},
    {Kind::Deadlock, "deadlock", "deadlock"},
    {Kind::Runaway, "runaway", "runaway loop"},
    {Kind::Trap, "trap", "trap was executed"},
    {Kind::BadBarrier, "bad-barrier", "wrong use of a barrier"},
    {Kind::BadMbarrier, "bad-mbarrier", "wrong use of an mbarrier"},
    {Kind::BadCopy, "bad-copy", "wrong asynchronous copy or tensor map"},
    {Kind::BadMatrix, "bad-matrix", "wrong multiplication of matrices"},
    {Kind::BadTensorMemory, "bad-tensor-memory", "wrong use of Tensor Memory"},
    {Kind::BadTexture, "bad-texture", "wrong use of a texture or surface"},
    {Kind::BadBranch, "bad-branch", "branch index out of range"},
    {Kind::BadCall, "bad-call", "call of what is no such function"},
    {Kind::StackOverflow, "stack-overflow", "calls deeper than the stack"},
    {Kind::Budget, "budget", "the launch takes too long"},
    {Kind::Residency, "residency", "too many CTAs wait at once"},
    {Kind::IndexOutOfRange, "index-out-of-range", "index out of range"},
    {Kind::UnwrittenOutput, "unwritten-output", ""},
    {Kind::UninitialisedMemory, "uninitialised-memory", "uninitialised memory is read"},
    {Kind::UninitialisedRegister, "uninitialised-register", "register is read before it is written"},
    {Kind::UnassignedPredicate, "unassigned-predicate", "predicate is used before it is assigned"},
    {Kind::SharedRace, "shared-race", "race in shared memory"},
    {Kind::GlobalRace, "global-race", "race in global memory"},
    {Kind::NarrowScope, "narrow-scope", "race because a scope is too narrow"},
    {Kind::DivergentBarrier, "divergent-barrier", "barrier in diverged code"},
    {Kind::AbsentLane, "absent-lane", "a lane takes part that is absent"},
    {Kind::BadMembermask, "bad-membermask", "wrong membermask"},
    {Kind::ProxyRace, "proxy-race", "an asynchronous copy may miss what was stored"},
    {Kind::UnorderedInit, "unordered-init", "mbarrier may not be initialised yet"},
    {Kind::MbarrierAccess, "mbarrier-access", "ordinary access to an mbarrier"},
    {Kind::PhaseOverrun, "phase-overrun", "mbarrier has run ahead of who waits for it"},
    {Kind::UnfinishedCopy, "unfinished-copy", "exit before an asynchronous copy ends"},
    {Kind::EarlyAccess, "early-access", "memory of a CTA that may not have started"},
    {Kind::EarlyExit, "early-exit", "exit before another CTA's access"},
    {Kind::NonCoherentLoad, "non-coherent-load", "non-coherent load of what the kernel stores"},
    {Kind::RegisterFile, "register-file", "more registers than a multiprocessor has"},
    {Kind::RegisterRace, "register-race", "register of an asynchronous multiplication or load"},
    {Kind::TensorRace, "tensor-race", "race in Tensor Memory"},
    {Kind::TensorFence, "tensor-fence", "tcgen05.fence is missing"},
    {Kind::UnfreedTensorMemory, "unfreed-tensor-memory", "exit with Tensor Memory that is not freed"},
};

const KindRow& row_of(Kind kind) {
  return *std::find_if(std::begin(kKinds), std::end(kKinds), [=](const KindRow& r) { return r.kind == kind; });
}

constexpr const char* kSpaceNames[] = {"global", "shared", "shared::cluster", "local", "const", "param", "generic"};

// The lines of images in use, as many as Python keeps (emulator/core.py): a process may make new kernels for ever.
constexpr size_t kMaxSources = 1024;

struct KeptSource {
  SourceTable table;
  uint64_t used;  // when, counted in uses of any
};

std::mutex g_sources_mutex;
uint64_t g_sources_uses = 0;
std::unordered_map<uint64_t, KeptSource>& sources() {
  static auto* table = new std::unordered_map<uint64_t, KeptSource>();
  return *table;
}

// ---- Text ------------------------------------------------------------------------------------------------

std::string hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string triple(uint64_t linear, const uint32_t* dim) {
  return "(" + std::to_string(linear % dim[0]) + ", " + std::to_string(linear / dim[0] % dim[1]) + ", " +
         std::to_string(linear / dim[0] / dim[1]) + ")";
}

std::string subscript(const Buffer& b, const std::string& name, uint64_t offset, std::vector<uint64_t>* index) {
  if (b.itemsize == 0) return name + " + " + std::to_string(offset) + " bytes";
  uint64_t element = offset / b.itemsize;
  for (const int64_t extent : b.shape) {
    if (extent <= 0) return name;
  }
  std::vector<uint64_t> at(b.shape.size());
  for (size_t i = b.shape.size(); i-- > 0;) {
    at[i] = element % static_cast<uint64_t>(b.shape[i]);
    element /= static_cast<uint64_t>(b.shape[i]);
  }
  std::string text = name + "[";
  for (size_t i = 0; i < at.size(); ++i) text += (i ? ", " : "") + std::to_string(at[i]);
  text += "]";
  if (offset % b.itemsize != 0) text += " + " + std::to_string(offset % b.itemsize) + " bytes";
  if (index != nullptr) *index = at;
  return text;
}

struct AddressText {
  std::string text, tensor;
  std::vector<uint64_t> index;
};

AddressText describe_global(const Memory& memory, const Finding& f) {
  AddressText out;
  const Buffer* b = memory.nearest(f.address);
  out.text = hex(f.address);
  if (b == nullptr) {
    out.text += "; the launch has no buffers";
    return out;
  }
  out.tensor = b->name;
  if (f.address >= b->lo && f.address + f.bytes <= b->hi) {
    out.text += ", " + subscript(*b, b->name, f.address - b->lo, &out.index);
    return out;
  }
  const std::string size = " (" + std::to_string(b->hi - b->lo) + " bytes)";
  if (f.address < b->lo) out.text += ", " + std::to_string(b->lo - f.address) + " bytes before " + b->name + size;
  else if (f.address >= b->hi) out.text += ", " + std::to_string(f.address - b->hi) + " bytes past the end of " + b->name + size;
  else out.text += ", reaches past the end of " + b->name + size;
  return out;
}

AddressText describe_variable(const Program& program, const Finding& f, VariableSpace space, uint64_t offset,
                              uint64_t size) {
  AddressText out;
  out.text = hex(f.address);
  for (const Variable& v : program.variables) {
    if (v.space != space || offset < v.offset || offset >= v.offset + static_cast<uint64_t>(v.size)) continue;
    out.tensor = v.name;
    out.text += ", byte " + std::to_string(offset - v.offset) + " of " + (v.name.empty() ? "a variable" : v.name) +
                " (" + std::to_string(v.size) + " bytes)";
    return out;
  }
  out.text += ", byte " + std::to_string(static_cast<int64_t>(offset)) + " of " + std::to_string(size);
  return out;
}

AddressText describe_address(const Launch& launch, const Finding& f) {
  const Program& program = *launch.program;
  switch (f.space) {
    case Space::Shared:
    case Space::SharedCluster: {
      const uint64_t base = (f.address >> kRankShift << kRankShift) + reserved_shared(program.sm);
      return describe_variable(program, f, VariableSpace::Shared, f.address - base, launch.shared_bytes);
    }
    case Space::Local:
      return describe_variable(program, f, VariableSpace::Local, f.address, program.space_bytes[1]);
    case Space::Const:
      return describe_variable(program, f, VariableSpace::Const, f.address, program.space_bytes[2]);
    case Space::Param: {
      AddressText out;
      out.text = "byte " + std::to_string(f.address) + " of " + std::to_string(launch.config.param_bytes) +
                 " bytes of parameters";
      return out;
    }
    default:
      return describe_global(launch.memory, f);
  }
}

// A note about a register begins with its name.
std::string note_of(const SourceTable& table, const Finding& f) {
  const bool of_register = f.kind == Kind::UninitialisedRegister || f.kind == Kind::UnassignedPredicate || f.kind == Kind::RegisterRace;
  return of_register ? table.named(f.note) : f.note;
}

// Findings of the kernel as a whole name the line where it is defined.
const SourceLine* line_of(const SourceTable& table, const Finding& f) {
  if (f.kind == Kind::UnwrittenOutput) return table.kernel.file.empty() ? nullptr : &table.kernel;
  return table.place(f.site.instruction).empty() ? nullptr : &table.lines[f.site.instruction];
}

std::string instruction_text(const Launch& launch, const SourceTable& table, uint32_t i) {
  if (i >= launch.program->text.size()) return "the end of the kernel";
  return table.named(launch.program->text[i]);
}

// The same for a person: a product has a hundred operands.
std::string short_text(const Launch& launch, const SourceTable& table, uint32_t i) {
  constexpr size_t kMost = 160, kKept = 100;
  std::string text = instruction_text(launch, table, i);
  if (text.size() <= kMost) return text;
  const size_t end = text.find(", ", kKept);
  return end == std::string::npos ? text : text.substr(0, end) + ", ...";
}

std::string who(const Launch& launch, const Site& s) {
  std::string text;
  if (s.cta != ~0ull) text += "CTA " + triple(s.cta, launch.config.grid);
  if (s.warp == kNone) return text;
  if (s.lane == kNone) return text + ", warp " + std::to_string(s.warp);
  return text + ", thread " + triple(s.warp * kLanes + s.lane, launch.config.block) + ", warp " +
         std::to_string(s.warp) + " lane " + std::to_string(s.lane);
}

constexpr const char* kUnwrittenHelp =
    "  help: a larger grid, or a wider guard, writes them; in out_specs, Tile(..., partial=True) leaves them unspecified\n"
    "        and Tile(..., init=0) gives every element that value before the kernel starts\n";

constexpr const char* kIndexHelp =
    "  help: a guard leaves out the threads beyond it: with ptx.if_(i < n): ...   X.load(i, pred=i < n)\n";

bool about_memory(Kind kind) {
  return kind == Kind::SharedRace || kind == Kind::GlobalRace || kind == Kind::NarrowScope || kind == Kind::NonCoherentLoad || kind == Kind::UninitialisedMemory ||
         kind == Kind::OutOfBounds || kind == Kind::Misaligned || kind == Kind::ReadOnly || kind == Kind::ProxyRace;
}

void append_finding(std::string& out, const Launch& launch, const SourceTable& table, const Finding& f) {
  const SourceLine* line = line_of(table, f);
  const std::string title = row_of(f.kind).title;
  out += (line == nullptr ? "" : line->file + ":" + std::to_string(line->line) + ": ") + title;
  if (f.has_address && about_memory(f.kind)) {
    out += f.site.store ? ": stores " : ": loads ";
    out += std::to_string(f.bytes) + " bytes of " + kSpaceNames[static_cast<size_t>(f.space)] + " memory";
  }
  if (!f.note.empty()) out += (title.empty() ? "" : ": ") + note_of(table, f);
  out += "\n";
  if (line != nullptr && !line->text.empty()) out += "    " + line->text + "\n";
  if (f.kind == Kind::UnwrittenOutput) out += kUnwrittenHelp;
  if (f.kind == Kind::IndexOutOfRange) out += kIndexHelp;
  if (f.site.instruction != kNone) {
    out += "  instruction: " + std::to_string(f.site.instruction) + ": " + short_text(launch, table, f.site.instruction) + "\n";
  }
  if (f.site.cta != ~0ull) out += "  thread: " + who(launch, f.site) + "\n";
  if (f.has_address && f.kind != Kind::UnwrittenOutput) out += "  address: " + describe_address(launch, f).text + "\n";
  if (f.other.cta != ~0ull || f.other.instruction != kNone) {
    const std::string party = who(launch, f.other);
    out += "  other: " + party;
    if (f.other.instruction != kNone) {
      const std::string other = table.place(f.other.instruction);
      out += std::string(party.empty() ? "" : ", ") + (f.other.store ? "stores at " : "loads at ");
      if (!other.empty()) out += other + ", ";
      out += "instruction " + std::to_string(f.other.instruction) + ": " + short_text(launch, table, f.other.instruction);
    }
    out += "\n";
  }
  if (f.count > 1) out += "  count: " + std::to_string(f.count) + "; this is the first\n";
}

// ---- JSON ------------------------------------------------------------------------------------------------

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char ch : text) {
    const auto c = static_cast<unsigned char>(ch);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += ch;
    } else if (c < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", c);
      out += escape;
    } else {
      out += ch;
    }
  }
  return out + "\"";
}

std::string json_triple(uint64_t linear, const uint32_t* dim) {
  std::string t = triple(linear, dim);
  t.front() = '[';
  t.back() = ']';
  return t;
}

std::string json_site(const Launch& launch, const SourceTable& table, const Site& s, bool of_kernel = false) {
  std::string out = "{";
  const auto field = [&](const char* name, const std::string& value) {
    out += (out.size() > 1 ? ", \"" : "\"") + std::string(name) + "\": " + value;
  };
  const auto add_line = [&](const SourceLine& line) {
    field("file", quoted(line.file));
    field("line", std::to_string(line.line));
    field("source", quoted(line.text));
  };
  if (s.instruction != kNone) {
    field("instruction", std::to_string(s.instruction));
    field("ptx", quoted(instruction_text(launch, table, s.instruction)));
    if (!table.place(s.instruction).empty()) add_line(table.lines[s.instruction]);
  }
  if (of_kernel && !table.kernel.file.empty()) add_line(table.kernel);
  if (s.cta != ~0ull) field("cta", json_triple(s.cta, launch.config.grid));
  if (s.warp != kNone) field("warp", std::to_string(s.warp));
  if (s.lane != kNone) {
    field("lane", std::to_string(s.lane));
    field("thread", json_triple(s.warp * kLanes + s.lane, launch.config.block));
  }
  field("store", s.store ? "true" : "false");
  return out + "}";
}

std::string json_finding(const Launch& launch, const SourceTable& table, const Finding& f) {
  std::string text;
  append_finding(text, launch, table, f);
  std::string out = "{\"kind\": " + quoted(row_of(f.kind).name) + ", \"text\": " + quoted(text) +
                    ", \"note\": " + quoted(note_of(table, f)) + ", \"count\": " + std::to_string(f.count) +
                    ", \"site\": " + json_site(launch, table, f.site, f.kind == Kind::UnwrittenOutput);
  if (f.other.cta != ~0ull || f.other.instruction != kNone) out += ", \"other\": " + json_site(launch, table, f.other);
  if (f.has_address) {
    const AddressText a = describe_address(launch, f);
    out += ", \"space\": " + quoted(kSpaceNames[static_cast<size_t>(f.space)]) +
           ", \"address\": " + std::to_string(f.address) + ", \"bytes\": " + std::to_string(f.bytes) +
           ", \"where\": " + quoted(a.text);
    if (!a.tensor.empty()) out += ", \"tensor\": " + quoted(a.tensor);
    if (!a.index.empty()) {
      out += ", \"index\": [";
      for (size_t i = 0; i < a.index.size(); ++i) out += (i ? ", " : "") + std::to_string(a.index[i]);
      out += "]";
    }
  }
  return out + "}";
}

constexpr size_t kMaxWaitRows = 40;
// What is kept of a launch that goes wrong everywhere.
constexpr size_t kMostFindings = 1000, kMostWaits = 4096;

}  // namespace

std::string SourceTable::named(const std::string& text) const {
  if (registers.empty()) return text;
  std::string out;
  for (size_t i = 0; i < text.size();) {
    size_t end = i + 2;
    uint64_t number = 0;
    const bool begins = text[i] == '%' && end < text.size() && (text[i + 1] == 'r' || text[i + 1] == 'p');
    while (begins && end < text.size() && text[end] >= '0' && text[end] <= '9' && number < registers.size()) {
      number = number * 10 + static_cast<uint64_t>(text[end++] - '0');
    }
    if (begins && end > i + 2 && number < registers.size() && !registers[number].empty()) {
      out += registers[number];
      i = end;
    } else {
      out += text[i++];
    }
  }
  return out;
}

std::string SourceTable::place(uint32_t instruction) const {
  if (instruction >= lines.size() || lines[instruction].file.empty()) return "";
  return lines[instruction].file + ":" + std::to_string(lines[instruction].line);
}

bool stops(Kind kind) { return kind <= Kind::Residency; }

void Findings::add(Finding f) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (f.kind == Kind::UnwrittenOutput) {
    unwritten_.push_back(std::move(f));
    return;
  }
  stopped_ |= stops(f.kind);
  waits_wanted_ |= f.kind == Kind::Deadlock || f.kind == Kind::Residency || f.kind == Kind::Runaway;
  const uint32_t a = f.site.instruction, b = f.other.instruction;
  const bool race = f.kind == Kind::SharedRace || f.kind == Kind::GlobalRace || f.kind == Kind::NarrowScope;
  const auto key = std::make_tuple(f.kind, race ? std::min(a, b) : a, race ? std::max(a, b) : b);
  if (found_.size() >= kMostFindings && found_.rbegin()->first < key) {
    ++found_cut_;
    return;
  }
  const auto [found, added] = found_.emplace(key, f);
  if (added) {
    if (found_.size() <= kMostFindings) return;
    const auto last = std::prev(found_.end());
    found_cut_ += last->second.count;
    found_.erase(last);
    return;
  }
  Finding& kept = found->second;
  const uint64_t count = kept.count + 1;
  if (f.site.cta < kept.site.cta) kept = std::move(f);
  kept.count = count;
}

void Findings::add_wait(WaitRow row) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!waits_wanted_) return;
  if (waits_.size() < kMostWaits) waits_.push_back(std::move(row));
  else ++waits_cut_;
}

namespace {

bool is_race(Kind kind) {
  return kind == Kind::SharedRace || kind == Kind::GlobalRace || kind == Kind::NarrowScope || kind == Kind::ProxyRace ||
         kind == Kind::RegisterRace || kind == Kind::TensorRace || kind == Kind::TensorFence;
}

}  // namespace

// A missing barrier shows as a race and, because nothing has been stored yet, often also as a load of
// uninitialised memory by the same instruction: the race is the finding.
std::vector<Finding> Findings::sorted(const SourceTable& table) const {
  const auto races_at = [&](const Finding& f) {
    const Kind race = f.space == Space::Global ? Kind::GlobalRace : Kind::SharedRace;
    return std::any_of(found_.begin(), found_.end(), [&](const auto& other) {
      const Finding& o = other.second;
      return (o.kind == race || o.kind == Kind::NarrowScope) && (o.site.instruction == f.site.instruction || o.other.instruction == f.site.instruction);
    });
  };
  const auto leaves_memory = [&](const Finding& f) {
    return std::any_of(found_.begin(), found_.end(), [&](const auto& other) {
      return other.second.kind == Kind::OutOfBounds && other.second.site.instruction == f.site.instruction;
    });
  };
  const bool any_race = std::any_of(found_.begin(), found_.end(), [](const auto& e) { return is_race(e.second.kind); });
  std::vector<Finding> out;
  // What one pair of lines does in several instructions is one finding.
  std::map<std::tuple<Kind, std::string, std::string>, size_t> known;
  for (const auto& entry : found_) {
    const Finding& f = entry.second;
    if (f.kind == Kind::UninitialisedMemory && races_at(f)) continue;
    if (f.kind == Kind::IndexOutOfRange && leaves_memory(f)) continue;
    // What is missing for the race is what would order the wait, too.
    if (f.kind == Kind::PhaseOverrun && f.other.instruction != kNone && any_race) continue;
    const std::string place = table.place(f.site.instruction);
    const auto [found, added] = known.emplace(std::make_tuple(f.kind, place, table.place(f.other.instruction)), out.size());
    if (!added && !place.empty()) out[found->second].count += f.count;
    else out.push_back(f);
  }
  // A wrong index is the cause of a race that it leads to.
  const auto rank = [](const Finding& f) {
    return f.kind == Kind::IndexOutOfRange ? 0 : is_race(f.kind) ? 1 : stops(f.kind) ? 2 : 3;
  };
  std::stable_sort(out.begin(), out.end(), [&](const Finding& a, const Finding& b) {
    return std::make_tuple(rank(a), a.site.instruction) < std::make_tuple(rank(b), b.site.instruction);
  });
  for (const Finding& f : unwritten_) out.push_back(f);
  return out;
}

std::string Findings::message(const Launch& launch) const {
  const SourceTable table = source_of(launch.program->hash);
  const auto list = sorted(table);
  if (list.empty()) return "";
  std::string out = "kernel " + launch.program->name + ": " + std::to_string(list.size()) +
                    (list.size() == 1 ? " finding" : " findings") +
                    (launch.explored.empty() ? "" : ", " + launch.explored) + (stopped_ ? "; the launch was stopped\n" : "\n");
  for (const Finding& f : list) append_finding(out, launch, table, f);
  if (found_cut_ > 0) {
    out += "and " + std::to_string(found_cut_) + " more at other instructions: only " + std::to_string(kMostFindings) +
           " different findings are kept\n";
  }
  if (!waits_.empty()) out += "who waits for what:\n";
  for (size_t i = 0; i < waits_.size() && i < kMaxWaitRows; ++i) {
    const WaitRow& row = waits_[i];
    const std::string line = table.place(row.site.instruction);
    char lanes[32];
    std::snprintf(lanes, sizeof lanes, ", lanes 0x%08x", row.lanes);
    out += "  " + who(launch, row.site) + lanes + ", at " + (line.empty() ? "" : line + ", ") + "instruction " +
           std::to_string(row.site.instruction) + ": " + short_text(launch, table, row.site.instruction) + ": waits for " +
           row.waits + "\n";
  }
  const uint64_t waits = waits_.size() + waits_cut_;
  if (waits > kMaxWaitRows) out += "  and " + std::to_string(waits - kMaxWaitRows) + " more\n";
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

std::string Findings::json(const Launch& launch) const {
  const SourceTable table = source_of(launch.program->hash);
  std::string out = "{\"kernel\": " + quoted(launch.program->name) + ", \"stopped\": " + (stopped_ ? "true" : "false") +
                    ", \"message\": " + quoted(message(launch)) + ", \"findings\": [";
  const auto list = sorted(table);
  for (size_t i = 0; i < list.size(); ++i) out += (i ? ", " : "") + json_finding(launch, table, list[i]);
  out += "], \"waits\": [";
  for (size_t i = 0; i < waits_.size(); ++i) {
    out += (i ? ", {\"lanes\": " : "{\"lanes\": ") + std::to_string(waits_[i].lanes) + ", \"waits\": " +
           quoted(waits_[i].waits) + ", \"site\": " + json_site(launch, table, waits_[i].site) + "}";
  }
  return out + "]}";
}

Site site_of(const Warp& w, const Instruction& in, unsigned lane, bool store) {
  return {in.index, w.cta->linear, w.index, lane, store};
}

void report(Warp& w, Finding finding) {
  Launch& launch = *w.worker->launch;
  const bool stop = stops(finding.kind);
  launch.findings.add(std::move(finding));
  if (!stop) return;
  if (launch.parallel()) throw Conflict();  // which finding stops the launch first is for one thread to say
  launch.stop.store(true);
  look_up(w, 0);
}

void report(Warp& w, Kind kind, const Site& site, std::string note) {
  Finding f{};
  f.kind = kind;
  f.site = site;
  f.note = std::move(note);
  report(w, std::move(f));
}

void report_unwritten(Launch& launch) {
  for (const Buffer& b : launch.memory.buffers) {
    if (!b.written.wanted()) continue;
    const Written::Missing missing = b.written.missing(b.itemsize);
    if (missing.count == 0) continue;
    Finding f{};
    f.kind = Kind::UnwrittenOutput;
    f.site.store = true;
    f.has_address = true;
    f.address = b.lo + missing.first * b.itemsize;
    f.bytes = b.itemsize;
    f.note = b.parameter + ": " + std::to_string(missing.count) + " of " + std::to_string(missing.elements) +
             (missing.elements == 1 ? " element" : " elements") + " never written, first " +
             subscript(b, b.parameter, f.address - b.lo, nullptr);
    launch.findings.add(std::move(f));
  }
}

void register_source(uint64_t hash, SourceTable table) {
  const std::lock_guard<std::mutex> lock(g_sources_mutex);
  auto& kept = sources();
  kept[hash] = {std::move(table), ++g_sources_uses};
  if (kept.size() <= kMaxSources) return;
  kept.erase(std::min_element(kept.begin(), kept.end(),
                              [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
}

SourceTable source_of(uint64_t hash) {
  const std::lock_guard<std::mutex> lock(g_sources_mutex);
  const auto found = sources().find(hash);
  if (found == sources().end()) return SourceTable();
  found->second.used = ++g_sources_uses;
  return found->second.table;
}

}  // namespace pyptx::emulator
