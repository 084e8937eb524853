#include "memory.h"

#include <algorithm>
#include <utility>

namespace pyptx::emulator {

namespace {

Buffer buffer_of(const PyptxBuffer& b, const std::string& name) {
  Buffer out;
  out.lo = reinterpret_cast<uint64_t>(b.data);
  out.hi = out.lo + b.bytes;
  out.read_only = (b.flags & PYPTX_BUFFER_READ_ONLY) != 0;
  out.initialised = (b.flags & PYPTX_BUFFER_UNINITIALISED) == 0;
  out.name = name;
  if (b.shape != nullptr) out.shape.assign(b.shape, b.shape + b.rank);
  out.itemsize = b.itemsize;
  return out;
}

Buffer variables_of(const Program& program) {
  Buffer out;
  const uint32_t bytes = program.space_bytes[static_cast<size_t>(VariableSpace::Global)];
  out.storage.assign(bytes + 256, 0);
  out.lo = (reinterpret_cast<uint64_t>(out.storage.data()) + 255) & ~255ull;
  out.hi = out.lo + bytes;
  out.name = "global variables";
  for (const Variable& v : program.variables) {
    if (v.space != VariableSpace::Global) continue;
    std::copy(v.initial.begin(), v.initial.end(), reinterpret_cast<uint8_t*>(out.lo) + v.offset);
  }
  return out;
}

}  // namespace

void Memory::set_buffers(const PyptxLaunch& launch, const Program& program,
                         const std::vector<std::string>& names) {
  for (uint64_t i = 0; i < launch.buffer_count; ++i) {
    const PyptxBuffer& b = launch.buffers[i];
    if (b.bytes == 0) continue;
    const std::string name = b.name != nullptr     ? b.name
                             : i < names.size()    ? names[i]
                                                   : "buffer " + std::to_string(i);
    Buffer add = buffer_of(b, name);
    const auto same = std::find_if(buffers.begin(), buffers.end(), [&](const Buffer& o) { return o.lo == add.lo; });
    if (same == buffers.end()) {
      buffers.push_back(std::move(add));
      continue;
    }
    if (add.hi > same->hi) {
      same->hi = add.hi;
      same->shape = add.shape;
    }
    same->read_only &= add.read_only;
    same->initialised |= add.initialised;
    if (same->name != add.name) same->name += " = " + add.name;
  }
  if (program.space_bytes[static_cast<size_t>(VariableSpace::Global)] > 0) {
    buffers.push_back(variables_of(program));
    global_base = buffers.back().lo;
  }
}

uint32_t Memory::add_shadow(const PyptxLaunch& launch, uint32_t granule, uint64_t segments) {
  const bool races = (launch.sanitize & PYPTX_SANITIZE_RACES) != 0;
  const bool values = (launch.sanitize & PYPTX_SANITIZE_INITIALISATION) != 0;
  std::vector<size_t> sizes;
  std::vector<uint64_t**> places;
  for (Buffer& b : buffers) {
    // Cells count from the granule that the first byte is in.
    const size_t bytes = ((b.hi - b.lo) / granule + 2) * sizeof(uint64_t);
    const bool raced = races && !b.read_only;
    if (!raced && !(values && !b.initialised)) continue;
    sizes.push_back(bytes);
    places.push_back(&b.stores);
    b.has_loads = std::make_unique<std::atomic<bool>>(false);
    if (!raced) continue;
    sizes.push_back(bytes);
    places.push_back(&b.loads);
  }
  if (sizes.empty()) return 0;
  shadow_ = ShadowPool::instance().take(sizes, segments);
  for (size_t i = 0; i < places.size(); ++i) *places[i] = static_cast<uint64_t*>(shadow_.pages[i].data());
  return shadow_.base;
}

Buffer* Memory::search(uint64_t lo, uint64_t hi, uint32_t& hint) {
  if (lo >= hi) return nullptr;
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (lo >= buffers[i].lo && hi <= buffers[i].hi) {
      hint = static_cast<uint32_t>(i);
      return &buffers[i];
    }
  }
  return nullptr;
}

const Buffer* Memory::nearest(uint64_t address) const {
  const Buffer* best = nullptr;
  uint64_t distance = ~0ull;
  for (const Buffer& b : buffers) {
    const uint64_t d = address < b.lo ? b.lo - address : address >= b.hi ? address - b.hi : 0;
    if (d < distance || best == nullptr) {
      best = &b;
      distance = d;
    }
  }
  return best;
}

}  // namespace pyptx::emulator
