// Loads that do not give the newest value (PTX ISA, "Memory Consistency Model").
//
// The emulator's memory shows every store at once. By the memory model a strong load may give the value of an earlier
// store, unless a newer one is known to its thread: it happens before the load, a fence.sc of its thread comes before one
// of the loading thread, or somebody has loaded it and that happens before the load. In a random schedule such loads give
// an older value now and then. What follows from it is found as everything else is: a race, a deadlock, an output that
// nobody writes. Where nothing follows, as in a loop that waits, nothing is found.
//
// Only less is assumed to be possible than is: lanes of one warp always see each other's stores, and atomics the newest
// value; a warp gets an older value of one place a few times.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "clocks.h"

namespace pyptx::emulator {

constexpr uint32_t kWidestAccess = 32;

// One strong access of lanes of a warp at one place.
struct StrongAccess {
  uint64_t address;
  uint32_t bytes;
  const uint8_t* memory;
  Touch touch;
};

// The values that places of global memory, or of a cluster's shared memory, have had.
class OlderValues {
 public:
  void clear() { blocks_.clear(); }
  // Before a store or an atomic changes memory, which has a value before or has none, and after it.
  void before_store(const StrongAccess& access, bool has_value);
  void after_store(const StrongAccess& access, const Publications& published);
  // A load of a warp, whose touch this is: the value that it gives instead of the one in memory, and what was released
  // with it; nullptr for the one in memory. It stays until the next store.
  struct Value {
    std::array<uint8_t, kWidestAccess> bytes;
    std::shared_ptr<const PublishedParts> released;
  };
  const Value* load(Warp& w, const StrongAccess& access);

 private:
  struct Version {
    Value value;
    bool stored = false;  // by `writer`; the first value of a place was there before
    Touch writer;
    std::vector<Touch> readers;  // the first load of each warp
  };
  struct Place {
    uint64_t address;
    uint32_t bytes;
    std::vector<Version> versions;  // the newest last
    bool begins;  // the first version has no value
    std::unordered_map<uint64_t, uint32_t> given;  // by warp: how often it got an older one
  };

  Place* find(const StrongAccess& access);
  static void note_reader(Version& version, const Touch& reader);

  // By the multiple of kWidestAccess that they lie behind.
  std::unordered_map<uint64_t, std::vector<Place>> blocks_;
};

// What fence.sc orders: everything that threads knew at theirs.
class SequentialFences {
 public:
  void clear() { known_.reset(); }
  // A fence of lanes: it comes after those before it, and before those after it.
  void pass(Warp& w, uint32_t mask);

 private:
  ClustersPointer known_;
};

// Whether loads may give older values: in random schedules, until a cluster's history has been forgotten.
bool gives_older_values(const Warp& w);
// A fence.sc of a scope.
void order_sequential_fence(Warp& w, uint32_t mask, Scope scope);

}  // namespace pyptx::emulator
