#include "memory.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "sanitizer/ownership.h"

namespace pyptx::emulator {

namespace {

Buffer buffer_of(const PyptxBuffer& b, const std::string& name) {
  Buffer out;
  out.lo = reinterpret_cast<uint64_t>(b.data);
  out.hi = out.lo + b.bytes;
  out.read_only = (b.flags & PYPTX_BUFFER_READ_ONLY) != 0;
  out.initialised = (b.flags & PYPTX_BUFFER_UNINITIALISED) == 0;
  out.complete = (b.flags & PYPTX_BUFFER_COMPLETE) != 0;
  out.stored_before = (b.flags & PYPTX_BUFFER_STORED_BEFORE) != 0;
  out.loaded_before = (b.flags & PYPTX_BUFFER_LOADED_BEFORE) != 0;
  out.name = name;
  if (b.shape != nullptr) out.shape.assign(b.shape, b.shape + b.rank);
  out.itemsize = b.itemsize;
  return out;
}

// What an address in an initial value is.
uint64_t value_of(const Relocation& r, const Program& program, uint64_t global_base) {
  if (r.of == Relocation::Of::Function) return function_address(r.index) + static_cast<uint64_t>(r.addend);
  const Variable& v = program.variables[r.index];
  const bool generic = r.of == Relocation::Of::GenericVariable;
  const uint64_t base = v.space == VariableSpace::Global                ? global_base
                        : v.space == VariableSpace::Const && generic    ? kConstWindow
                                                                        : 0;
  return base + v.offset + static_cast<uint64_t>(r.addend);
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
    add.parameter = i < names.size() ? names[i] : name;
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
    same->complete &= add.complete;
    same->stored_before |= add.stored_before;
    same->loaded_before |= add.loaded_before;
    if (same->name != add.name) same->name += " = " + add.name;
  }
  add_variables(program);
  if (program.allocates) add_heap();
}

// Every variable is a buffer, so that what lies outside of it is in none where nothing else is beside it.
void Memory::add_variables(const Program& program) {
  constants = program.constants;
  const uint32_t bytes = program.space_bytes[static_cast<size_t>(VariableSpace::Global)];
  if (bytes > 0) {
    storage_.assign(bytes + 256, 0);
    global_base = (reinterpret_cast<uint64_t>(storage_.data()) + 255) & ~255ull;
  }
  for (const Variable& v : program.variables) {
    if (v.space != VariableSpace::Global || v.size == 0) continue;
    Buffer b;
    b.lo = global_base + v.offset;
    b.hi = b.lo + v.size;
    b.name = v.name;
    std::copy(v.initial.begin(), v.initial.end(), reinterpret_cast<uint8_t*>(b.lo));
    buffers.push_back(std::move(b));
  }
  for (const Relocation& r : program.relocations) {
    const Variable& v = program.variables[r.variable];
    uint8_t* place = v.space == VariableSpace::Const ? constants.data() : reinterpret_cast<uint8_t*>(global_base);
    const uint64_t value = value_of(r, program, global_base) >> r.shift;
    std::memcpy(place + v.offset + r.offset, &value, r.bytes);
  }
}

void Memory::add_grid_barrier() {
  grid_barrier_[0] = sizeof grid_barrier_;
  Buffer b;
  b.lo = grid_barrier = reinterpret_cast<uint64_t>(grid_barrier_);
  b.hi = b.lo + sizeof grid_barrier_;
  b.name = "the barrier of the grid";
  buffers.push_back(std::move(b));
}

void Memory::add_heap() {
  heap_storage_.assign(Heap::kBytes + 256, 0xff);
  Buffer b;
  b.lo = (reinterpret_cast<uint64_t>(heap_storage_.data()) + 255) & ~255ull;
  b.hi = b.lo + Heap::kBytes;
  b.name = "the heap";
  b.initialised = false;
  heap.place(b.lo);
  buffers.push_back(std::move(b));
}

uint64_t Heap::allocate(uint64_t bytes) {
  if (bytes == 0 || bytes > kBytes) return 0;
  const uint64_t size = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (size <= kBytes - end_) {
    used_[end_] = size;
    end_ += size;
    return base_ + end_ - size;
  }
  for (auto block = free_.begin(); block != free_.end(); ++block) {
    const auto [offset, room] = *block;
    if (room < size) continue;
    free_.erase(block);
    if (room > size) free_[offset + size] = room - size;
    used_[offset] = size;
    return base_ + offset;
  }
  return 0;
}

uint64_t Heap::release(uint64_t address) {
  const auto block = used_.find(address - base_);
  if (block == used_.end()) return 0;
  const uint64_t bytes = block->second;
  auto at = free_.emplace(block->first, bytes).first;
  used_.erase(block);
  const auto next = std::next(at);
  if (next != free_.end() && at->first + at->second == next->first) {
    at->second += next->second;
    free_.erase(next);
  }
  if (at != free_.begin()) {
    const auto before = std::prev(at);
    if (before->first + before->second == at->first) {
      before->second += at->second;
      free_.erase(at);
    }
  }
  return bytes;
}

bool Memory::overlap() const {
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  for (const Buffer& b : buffers) ranges.emplace_back(b.lo, b.hi);
  std::sort(ranges.begin(), ranges.end());
  for (size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].first < ranges[i - 1].second) return true;
  }
  return false;
}

uint32_t Memory::add_shadow(const PyptxLaunch& launch, uint32_t granule, uint64_t segments, bool owned) {
  const bool races = (launch.sanitize & PYPTX_SANITIZE_RACES) != 0;
  const bool values = (launch.sanitize & PYPTX_SANITIZE_INITIALISATION) != 0;
  std::vector<ShadowPool::Need> needs;
  std::vector<void**> places;
  for (Buffer& b : buffers) {
    // Cells count from the granule that the first byte is in.
    const size_t count = (b.hi - b.lo) / granule + 2, bytes = count * sizeof(uint64_t);
    const size_t blocks = count / kOwnedBlock + 1;
    const bool raced = races && !b.read_only;
    if (!raced && !(values && !b.initialised)) continue;
    const ShadowPool::Need cells{bytes, ShadowPool::Holds::Cells}, epochs{bytes / 2, ShadowPool::Holds::Epochs};
    needs.push_back(cells);
    places.push_back(reinterpret_cast<void**>(&b.stores));
    if (owned) {
      // The last block is whole, too.
      needs.push_back({blocks * kOwnedBlock * sizeof(uint64_t), ShadowPool::Holds::Cells});
      places.push_back(reinterpret_cast<void**>(&b.owners));
      needs.push_back({blocks * sizeof(uint64_t), ShadowPool::Holds::Cells});
      places.push_back(reinterpret_cast<void**>(&b.block_owners));
    }
    b.has_loads = std::make_unique<std::atomic<bool>>(false);
    if (!raced) continue;
    b.history = std::make_unique<BufferHistory>();
    b.has_history = std::make_unique<std::atomic<bool>>(false);
    needs.push_back(cells);
    places.push_back(reinterpret_cast<void**>(&b.loads));
    for (uint32_t** place : {&b.store_epochs, &b.load_epochs}) {
      needs.push_back(epochs);
      places.push_back(reinterpret_cast<void**>(place));
    }
  }
  if (needs.empty()) return 0;
  shadow_ = ShadowPool::instance().take(std::move(needs), segments);
  for (size_t i = 0; i < places.size(); ++i) *places[i] = shadow_.pages[i].data();
  return shadow_.base;
}

void Memory::add_written(uint32_t granule) {
  for (Buffer& b : buffers) {
    if (!b.complete || b.itemsize == 0) continue;
    uint32_t size = std::min(granule, b.itemsize);
    if ((size & (size - 1)) != 0 || b.itemsize % size != 0 || b.lo % size != 0) size = 1;
    b.written.make(b.hi - b.lo, size);
  }
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
