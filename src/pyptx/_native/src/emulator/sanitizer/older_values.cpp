#include "older_values.h"

#include <algorithm>
#include <cstring>

#include "machine/warp.h"
#include "shadow_cells.h"

namespace pyptx::emulator {
namespace {

constexpr size_t kMostBlocks = size_t{1} << 16, kMostVersions = 16;
// How often a warp gets an older value of one place: a loop that waits must end.
constexpr uint32_t kMostGiven = 4;

uint64_t warp_key(const Touch& t) { return t.cluster << 20 | t.column; }

bool same_warp(const Touch& a, const Touch& b) { return a.cluster == b.cluster && a.column == b.column; }

}  // namespace

bool gives_older_values(const Warp& w) {
  const Launch& launch = *w.worker->launch;
  return launch.older_values.load(std::memory_order_relaxed) && w.cta->cluster->clocks.active();
}

OlderValues::Place* OlderValues::find(const StrongAccess& access) {
  const auto block = blocks_.find(access.address / kWidestAccess);
  if (block == blocks_.end()) return nullptr;
  // A place that is accessed in two ways is none whose older values are known.
  std::vector<Place>& places = block->second;
  const auto other = [&](const Place& p) {
    const bool same = p.address == access.address && p.bytes == access.bytes;
    return !same && p.address < access.address + access.bytes && access.address < p.address + p.bytes;
  };
  places.erase(std::remove_if(places.begin(), places.end(), other), places.end());
  const auto found = std::find_if(places.begin(), places.end(), [&](const Place& p) { return p.address == access.address; });
  if (found == places.end()) return nullptr;
  if (std::memcmp(found->versions.back().value.bytes.data(), access.memory, access.bytes) == 0) return &*found;
  places.erase(found);  // something else has stored there
  return nullptr;
}

void OlderValues::note_reader(Version& version, const Touch& reader) {
  const auto known = [&](const Touch& t) { return same_warp(t, reader); };
  if (std::none_of(version.readers.begin(), version.readers.end(), known)) version.readers.push_back(reader);
}

void OlderValues::before_store(const StrongAccess& access, bool has_value) {
  if (find(access) != nullptr || blocks_.size() >= kMostBlocks) return;
  Place place;
  place.address = access.address;
  place.bytes = access.bytes;
  place.begins = !has_value;
  place.versions.emplace_back();
  std::memcpy(place.versions.back().value.bytes.data(), access.memory, access.bytes);
  blocks_[access.address / kWidestAccess].push_back(std::move(place));
}

void OlderValues::after_store(const StrongAccess& access, const Publications& published) {
  const auto block = blocks_.find(access.address / kWidestAccess);
  if (block == blocks_.end()) return;
  for (Place& place : block->second) {
    if (place.address != access.address || place.bytes != access.bytes) continue;
    Version& newest = place.versions.back();
    // An atomic that changes nothing has seen the newest value, as everybody has who comes after it.
    if (!access.touch.store) {
      if (std::memcmp(newest.value.bytes.data(), access.memory, access.bytes) == 0) {
        note_reader(newest, access.touch);
        return;
      }
    }
    if (place.versions.size() == kMostVersions) {
      place.versions.erase(place.versions.begin());
      place.begins = false;
    }
    Version version;
    std::memcpy(version.value.bytes.data(), access.memory, access.bytes);
    version.value.released = published.parts(access.address);
    version.stored = true;
    version.writer = access.touch;
    place.versions.push_back(std::move(version));
    return;
  }
}

const OlderValues::Value* OlderValues::load(Warp& w, const StrongAccess& access) {
  Place* place = find(access);
  if (place == nullptr) return nullptr;
  const ClusterClocks& clocks = w.cta->cluster->clocks;
  const auto seen = [&](const Touch& t) { return same_warp(t, access.touch) || clocks.may_know(w.agent, w.cta->cluster->linear, t); };
  std::vector<Version>& versions = place->versions;
  size_t oldest = versions.size() - 1;
  const auto must_see = [&](const Version& v) {
    return (v.stored && seen(v.writer)) || std::any_of(v.readers.begin(), v.readers.end(), seen);
  };
  const size_t first = place->begins ? 1 : 0;
  while (oldest > first && !must_see(versions[oldest])) --oldest;
  size_t chosen = versions.size() - 1;
  if (oldest != chosen) {
    uint32_t& given = place->given[warp_key(access.touch)];
    Cluster& cluster = *w.cta->cluster;
    if (given < kMostGiven && cluster.draw_older(2) == 0) {
      chosen = oldest + cluster.draw_older(static_cast<uint32_t>(chosen - oldest));
      ++given;
    }
  }
  note_reader(versions[chosen], access.touch);
  return chosen + 1 == versions.size() ? nullptr : &versions[chosen].value;
}

// ---- fence.sc --------------------------------------------------------------------------------------------

void SequentialFences::pass(Warp& w, uint32_t mask) {
  ClusterClocks& clocks = w.cta->cluster->clocks;
  clocks.acquire_sequential(w.agent, mask, w.live, w.cta->cluster->linear, known_);
  known_ = join(known_, clocks.release_sequential(w.agent, mask, w.live, w.cta->cluster->linear));
}

void order_sequential_fence(Warp& w, uint32_t mask, Scope scope) {
  if (!gives_older_values(w)) return;
  Launch& launch = *w.worker->launch;
  // Where clusters order each other there is one host thread.
  if (scope >= Scope::Gpu && !launch.parallel()) launch.sequential_fences.pass(w, mask);
  if (scope >= Scope::Cluster) w.cta->cluster->sequential_fences.pass(w, mask);
  w.cta->sequential_fences.pass(w, mask);
}

}  // namespace pyptx::emulator
