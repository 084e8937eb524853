// What asynchronous operations, and products of matrices, access of shared memory: one cell, or many with one history.
#include <algorithm>
#include <cstring>
#include <optional>

#include "semantics/access.h"
#include "shadow_cells.h"

namespace pyptx::emulator {
namespace {

ClusterClocks& clocks_of(const Warp& w) { return w.cta->cluster->clocks; }

bool orders(const Warp& w) { return clocks_of(w).active(); }

// What an operation's access of a cell may conflict with: verdicts of the last two contents are kept, because
// neighbours mostly have the same history.
class CopyCheck {
 public:
  CopyCheck(Warp& w, const Instruction& in, Cta& owner, unsigned lane, bool store, bool async_proxy,
            const Operation& op, uint32_t bytes)
      : w_(w), in_(in), owner_(owner), s_(owner.shadow), lane_(lane), bytes_(bytes), store_(store), proxy_(async_proxy),
        multiplies_(op.product != nullptr), reduces_(op.reduces) {
    issuer_ = party_of(w, 1u << lane);
    // All lanes of a warp multiply together, after what each of them did.
    if (multiplies_) issuer_.synced = issuer_.own + 1;
    self_ = issuer_;
    issuer_.after_ended = store && async_proxy && !op.reduces;  // a reduction sees what was stored
    self_.agent = op.agent;
    self_.own = op.clock;
    self_.synced = 0;
    self_.who = op.agent << kAgentShift | lane << kLaneShift | op.clock;
    mine_ = touch_of(w, in, lane, store, Scope::Gpu);
    mine_.forked = true;
    mine_.column = op.agent;
    mine_.clock = op.clock;
  }

  // Cells of one chunk that is loaded: recorded at once where a store that is known to be fine made all of them, and
  // nothing has to be kept of who has loaded them; false, and nothing is done, where they need a closer look.
  bool load_alike(uint32_t first, uint32_t count) {
    const uint64_t stored = s_.stores[first];
    for (uint32_t i = 0; i < kFine; ++i) {
      const Fine& fine = fine_[(latest_ + i) % kFine];
      if (fine.store == 0 || (stored & fine.mask) != fine.store) continue;
      latest_ = (latest_ + i) % kFine;
      return replaces(first) && load_cells(first, count, fine);
    }
    return false;
  }

  uint32_t who() const { return self_.who; }

  // Whether other warps may rely on what this one has found of a product's cells: an operation stored all of them, and
  // they can be told that by its clock.
  bool known_store(uint32_t* who) const {
    *who = next_fine_ == 1 ? who_in(fine_[0].store) : 0;
    return simple_ && next_fine_ <= 1 && (*who == 0 || agent_of(*who) >= clocks_of(w_).warps());
  }
  bool knows(uint32_t who) const { return who == 0 || issuer_.fine_for_all(who, lane_, false); }

  // The same of places of so many bytes, mostly two chunks of a row side by side, in one order or the other: as many of
  // them as are like the first two, by groups.
  size_t load_pairs(const uint32_t* places, size_t count, uint32_t bytes) {
    const uint32_t cells = 2 * bytes >> s_.shift;
    return cells == 8 ? load_groups<8>(places, count, bytes) : cells == 4 ? load_groups<4>(places, count, bytes) : 0;
  }

  // Cells of one chunk that is stored: recorded at once where they are all as one that was fine.
  bool store_alike(uint32_t first, uint32_t count) {
    uint64_t* stores = &s_.stores[first];
    uint64_t* loads = &s_.loads[first];
    const uint64_t who = ~uint64_t{0} << 32, store = stores[0] & who, load = loads[0] & who;
    const bool fine = (store == 0 || who_in(store) == fine_store_) && (load == 0 || who_in(load) == fine_load_);
    if (!fine || reduces_ || (who_in(store) & kStrong) != 0) return false;
    uint64_t differences = 0;
    for (uint32_t k = 0; k < count; ++k) differences |= (stores[k] ^ store) | (loads[k] ^ load);
    if ((differences & who) != 0) return false;
    const uint64_t me = cell_of(self_.who, in_.index);
    for (uint32_t k = 0; k < count; ++k) stores[k] = me;
    for (uint32_t k = 0; k < count; ++k) loads[k] = 0;
    return true;
  }

  __attribute__((noinline)) void cell(uint32_t index) {
    uint64_t& stored = s_.stores[index];
    uint64_t& loaded = s_.loads[index];
    const bool touched = (who_in(stored) & kStrong) != 0;
    simple_ &= !touched;
    if (touched || (who_in(stored) != fine_store_ && !known(stored, good_store_))) check_stored(index, stored);
    if (store_ && who_in(loaded) != fine_load_ && !known(loaded, good_load_)) check_loaded(index, loaded);
    if (touched) check_touched(index);
    if (reduces_) {
      s_.strong[index].add(mine_);
      stored |= static_cast<uint64_t>(kStrong) << 32;
    } else if (store_) {
      if (touched) s_.strong.erase(index);
      stored = cell_of(self_.who, in_.index);
      loaded = 0;
    } else {
      record_load(s_, self_, index, lane_, false, in_.index);
      simple_ &= who_in(loaded) == self_.who_of(lane_, false);
    }
  }

 private:
  struct Fine {
    uint64_t store = 0, mask = 0;
  };

  static constexpr uint64_t kWho = ~uint64_t{0} << 32;
  using Four = uint64_t __attribute__((vector_size(32)));  // cells that are loaded and stored as one

  // Whether this load takes the place of a cell's reader, which is kept then.
  bool replaces(uint32_t index) {
    reader_ = s_.loads[index] & kWho;
    if (reader_ == 0 || reader_ == mine() || reader_ == replaced_) return true;
    const uint32_t a = agent_of(who_in(reader_)), clock = clock_of(who_in(reader_));
    if (a == kManyAgents || (a == self_.agent ? clock == self_.own : clock > self_.clocks[a])) return false;
    replaced_ = reader_;
    return true;
  }

  uint64_t mine() const { return cell_of(self_.who_of(lane_, false), 0); }

  // Records cells that all have such a store and that reader.
  bool load_cells(uint32_t first, uint32_t count, const Fine& fine) {
    uint64_t differences = 0;
    for (uint32_t k = 0; k < count; ++k) {
      differences |= ((s_.stores[first + k] & fine.mask) ^ fine.store) | ((s_.loads[first + k] & kWho) ^ reader_);
    }
    if (differences == 0) std::fill_n(s_.loads.begin() + first, count, mine() | in_.index);
    return differences == 0;
  }

  template <size_t kPairs, uint32_t kCells>
  bool load_group(const uint32_t* places, uint32_t bytes, const Fine& fine, uint64_t reader) {
    const uint64_t *stores = s_.stores.data(), mine = this->mine() | in_.index;
    uint64_t* loads = s_.loads.data();
    uint32_t first[kPairs], apart = 0;
    uint64_t written = ~uint64_t{0};
    Four any = {};
    for (size_t i = 0; i < kPairs; ++i) {
      const auto [low, high] = std::minmax(places[2 * i], places[2 * i + 1]);
      apart |= (high - low) ^ bytes;
      first[i] = low >> s_.shift;
    }
    if (apart != 0) return false;
    for (size_t i = 0; i < kPairs; ++i) {
      uint64_t some = ~uint64_t{0};
      if (s_.initialisation) std::memcpy(&some, &s_.written[first[i]], kCells);
      written &= some;
      for (uint32_t k = first[i]; k < first[i] + kCells; k += 4) {
        Four stored, loaded;
        std::memcpy(&stored, stores + k, sizeof stored);
        std::memcpy(&loaded, loads + k, sizeof loaded);
        any |= ((stored & fine.mask) ^ fine.store) | ((loaded & kWho) ^ reader);
      }
    }
    constexpr uint64_t kWritten = 0x0101010101010101u;
    if ((any[0] | any[1] | any[2] | any[3]) != 0 || (written & kWritten) != kWritten) return false;
    const Four all = Four{} + mine;
    for (const uint32_t at : first) {
      for (uint32_t k = at; k < at + kCells; k += 4) std::memcpy(loads + k, &all, sizeof all);
    }
    return true;
  }

  template <uint32_t kCells>
  __attribute__((noinline)) size_t load_groups(const uint32_t* places, size_t count, uint32_t bytes) {
    constexpr size_t kPairs = 5;  // of 16, or 256, the first has been looked at
    if (count < 2 * kPairs || !replaces(places[0] >> s_.shift)) return 0;
    const Fine fine = fine_[latest_];
    size_t at = 0;
    while (fine.store != 0 && at + 2 * kPairs <= count && load_group<kPairs, kCells>(places + at, bytes, fine, reader_)) {
      at += 2 * kPairs;
    }
    return at;
  }

  // The same agent and clock as one that was fine; only those of the issuing warp also depend on the lane.
  bool known(uint64_t cell, uint64_t good) const {
    constexpr uint64_t kLane = static_cast<uint64_t>(31u << kLaneShift | kSeveral) << 32;
    return cell == 0 || cell == good || (agent_of(who_in(cell)) != w_.agent && (cell & ~kLane) == (good & ~kLane));
  }

  void check_touched(uint32_t index) {
    const auto found = s_.strong.find(index);
    const Touch* other =
        found == s_.strong.end() ? nullptr : unordered_touch(w_, found->second, mine_, 1u << lane_, reduces_);
    if (other == nullptr) return;
    report_race(w_, in_, owner_, index << s_.shift, lane_, bytes_, store_, site_of_touch(*other), note(other->column),
                *other);
  }

  void check_stored(uint32_t index, uint64_t stored) {
    const uint32_t who = who_in(stored) & ~kStrong, agent = agent_of(who);
    if (clock_of(who) == 0) return;
    const auto party = [&] {
      return site_of_agent(w_, agent, lane_of(who), clock_of(who), static_cast<uint32_t>(stored), true);
    };
    simple_ &= issuer_.fine_for_all(who, lane_, false);
    if (!issuer_.fine(who, lane_, false)) {
      report_race(w_, in_, owner_, index << s_.shift, lane_, bytes_, store_, party(), note(agent), touch(who));
      return;
    }
    const ClusterClocks& clocks = clocks_of(w_);
    if (proxy_ && agent < clocks.warps() && clock_of(who) > clocks.proxied(w_.agent)[agent] &&
        !clocks.knows(w_.agent, 1u << lane_, clocks.column(agent, Known::SharedProxy), clock_of(who), lane_of(who),
                      (who & kSeveral) != 0)) {
      Finding f = finding_at(w_, in_, lane_, Kind::ProxyRace, owner_, index << s_.shift, bytes_);
      f.site.store = store_;
      f.other = party();
      f.note = multiplies_ ? "no fence.proxy.async lies between the store and the multiplication"
                           : "no fence.proxy.async lies between the store and the copy";
      report(w_, f);
      return;
    }
    // Of the others lanes may matter.
    const bool plain = !proxy_ || agent >= clocks.warps() || clock_of(who) <= clocks.proxied(w_.agent)[agent];
    const bool for_all = plain && issuer_.fine_for_all(who, lane_, false);
    if (for_all) good_store_ = stored;
    if ((who_in(stored) & kStrong) != 0) return;
    fine_store_ = who;
    // Of its own warp's stores an access may only come after those of some lanes.
    const bool every_lane = for_all && (agent != w_.agent || clock_of(who) < issuer_.synced);
    const uint64_t mask = cell_of(every_lane ? ~(31u << kLaneShift | kSeveral) : ~0u, 0);  // by any instruction
    const auto same = [&](const Fine& fine) { return fine.store == (stored & mask) && fine.mask == mask; };
    if (std::any_of(fine_, fine_ + kFine, same)) return;
    fine_[next_fine_++ % kFine] = {stored & mask, mask};
  }

  void check_loaded(uint32_t index, uint64_t loaded) {
    const uint32_t who = who_in(loaded);
    const bool many = agent_of(who) == kManyAgents;
    Party writer = issuer_;
    writer.after_ended = store_ && proxy_;
    const uint32_t reader = reader_against(s_, index, writer, lane_, false);
    if (reader == kNone) {
      if (!many) fine_load_ = who;
      if (!many && issuer_.fine_for_all(who, lane_, false)) good_load_ = loaded;
      return;
    }
    const uint32_t entry = reader_entry(s_, index, reader);
    report_race(w_, in_, owner_, index << s_.shift, lane_, bytes_, store_,
                site_of_agent(w_, reader, many ? kNone : lane_of(who), clock_of(entry), static_cast<uint32_t>(loaded), false),
                note(reader), touch(entry));
  }

  Touch touch(uint32_t who) const {
    Touch touch = touch_of_who(w_, who);
    touch.end_is_enough = store_ && proxy_ && touch.column >= clocks_of(w_).warps();
    return touch;
  }

  const char* note(uint32_t agent) const {
    if (agent >= clocks_of(w_).warps()) return "the earlier asynchronous operation has not been waited for";
    return agent == w_.agent ? "no bar.warp.sync or barrier orders these lanes of one warp"
                             : "no barrier orders the two";
  }

  Warp& w_;
  const Instruction& in_;
  Cta& owner_;
  SharedShadow& s_;
  unsigned lane_;
  uint32_t bytes_;
  bool store_, proxy_, multiplies_, reduces_;
  Party issuer_, self_;
  Touch mine_;
  uint64_t good_store_ = 0, good_load_ = 0;
  uint64_t reader_ = 0, replaced_ = 0;  // a cell's reader, and one that comes before a load
  uint32_t fine_store_ = 0, fine_load_ = 0;  // who was fine, by what the issuing lane knows
  // Contents of cells that a load needs not look at again, but for the bits that the mask leaves out: those of the
  // latest stores that were. Warps that have filled a tile together take turns in it.
  static constexpr uint32_t kFine = 4;
  Fine fine_[kFine];
  uint32_t next_fine_ = 0, latest_ = 0;
  bool simple_ = true;  // no cell has more than a store that comes first by its clock, and this load
};

// Whether an mbarrier is among the bytes, or may be.
bool has_mbarriers(const Cta& owner, uint32_t first, uint32_t end) {
  const auto next = owner.mbarriers.lower_bound(end);
  return next != owner.mbarriers.begin() && std::prev(next)->first + kMbarrierBytes > first;
}

}  // namespace

void check_copy_shared(Warp& w, const Instruction& in, Cta& owner, uint32_t offset, uint32_t bytes, unsigned lane,
                       bool store, bool async_proxy, const Operation& op) {
  SharedShadow& s = owner.shadow;
  ++s.changes;
  if (!owner.mbarriers.empty() && !check_not_mbarrier(w, in, owner, offset, bytes, lane, store)) return;
  if (s.initialisation) initialise_range(w, in, owner, offset, bytes, lane, bytes, !store || op.reduces);
  if (!s.races || !orders(w)) return;
  check_started(w, in, owner, offset, lane, store);
  CopyCheck check(w, in, owner, lane, store, async_proxy, op, bytes);
  const uint32_t first = offset >> s.shift, count = bytes >> s.shift;
  constexpr uint32_t kTogether = 64;
  for (uint32_t k = 0; k < count;) {
    const uint32_t end = std::min(k + kTogether, count);
    check.cell(first + k++);
    // The first of them has told what is fine.
    if (store && k < end && check.store_alike(first + k, end - k)) k = end;
    for (; k < end; ++k) check.cell(first + k);
  }
}

void check_product_shared(Warp& w, const Instruction& in, Cta& owner, const std::vector<uint32_t>& places,
                          uint32_t bytes, unsigned lane, const Operation& op, ProductRead* read) {
  if (places.empty()) return;
  SharedShadow& s = owner.shadow;
  uint32_t low = places[0], high = places[0];
  for (const uint32_t place : places) {
    low = place < low ? place : low;
    high = place > high ? place : high;
  }
  const bool mbarriers = has_mbarriers(owner, low, high + bytes), races = s.races && orders(w);
  if (&owner != w.cta || mbarriers) {
    for (const uint32_t place : places) check_copy_shared(w, in, owner, place, bytes, lane, false, true, op);
    return;
  }
  std::optional<CopyCheck> check;
  if (races) {
    check.emplace(w, in, owner, lane, false, true, op, bytes);
    if (check->who() != s.latest_product) ++s.changes;
    s.latest_product = check->who();
  }
  if (read != nullptr && read->known && read->changes == s.changes && (!races || check->knows(read->stored))) return;
  const uint64_t changes = s.changes;
  const uint32_t count = bytes >> s.shift;
  constexpr size_t kCloser = 16;  // places that are looked at one by one where some are not like the first two
  for (size_t i = 0, closer = 2; i < places.size(); ++i) {
    if (races && i == closer) {
      i += check->load_pairs(&places[i], places.size() - i, bytes);
      closer = i + kCloser;
      if (i == places.size()) break;
    }
    const uint32_t place = places[i], first = place >> s.shift;
    if (s.initialisation && !all_written(&s.written[first], count)) {
      initialise_range(w, in, owner, place, bytes, lane, bytes, true);
    }
    if (!races || check->load_alike(first, count)) continue;
    for (uint32_t k = 0; k < count; ++k) check->cell(first + k);
  }
  if (read == nullptr) return;
  read->known = s.changes == changes && (!races || check->known_store(&read->stored));
  read->changes = changes;
}

}  // namespace pyptx::emulator
