#include "memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <utility>

namespace pyptx::emulator {

Pages::Pages(size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  int flags = MAP_PRIVATE | MAP_ANONYMOUS;
#ifdef MAP_NORESERVE
  flags |= MAP_NORESERVE;
#endif
  data_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (data_ == MAP_FAILED) {
    data_ = nullptr;
    throw std::bad_alloc();
  }
#ifdef MADV_HUGEPAGE
  madvise(data_, bytes, MADV_HUGEPAGE);
#endif
}

Pages::Pages(Pages&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Pages& Pages::operator=(Pages&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Pages::~Pages() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

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

void add_shadow(Buffer& b, const PyptxLaunch& launch, uint32_t granule) {
  const bool races = (launch.sanitize & PYPTX_SANITIZE_RACES) != 0 && !b.read_only;
  const bool values = (launch.sanitize & PYPTX_SANITIZE_INITIALISATION) != 0 && !b.initialised;
  if (!races && !values) return;
  // The address of the first byte need not be a multiple of the granule; cells count from the one below.
  const size_t cells = (b.hi - b.lo) / granule + 2;
  b.store_pages = Pages(cells * sizeof(uint64_t));
  b.stores = static_cast<uint64_t*>(b.store_pages.data());
  if (races) {
    b.load_pages = Pages(cells * sizeof(uint64_t));
    b.loads = static_cast<uint64_t*>(b.load_pages.data());
  }
  b.has_loads = std::make_unique<std::atomic<bool>>(false);
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
  for (Buffer& b : buffers) add_shadow(b, launch, program.global_granule);
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
