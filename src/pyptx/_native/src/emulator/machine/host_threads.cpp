// Runs the clusters of a launch on host threads, and ends it when its budget does or somebody asks for it.
#include <algorithm>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include "sanitizer/ownership.h"
#include "schedule.h"
#include "semantics/environment.h"

namespace pyptx::emulator {
namespace {

// How many looks of a warp are one at the clock, and how often Python's signal handlers run.
constexpr uint32_t kLooksByTime = 4;
constexpr std::chrono::milliseconds kSignals{50};
// A host thread tells others after so many instructions how many it has run.
constexpr uint64_t kAccount = 1 << 16;
// In a random order: the logarithm of the instructions that a cluster runs in turn, and the clusters that are shuffled.
constexpr uint32_t kLongestTurn = 16;
constexpr uint64_t kMostShuffled = 4096;
constexpr uint32_t kStill = 32;

class HostThread {
 public:
  explicit HostThread(Worker& worker)
      : worker_(worker), launch_(*worker.launch),
        random_(launch_.config.schedule == PYPTX_SCHEDULE_RANDOM && launch_.program->communicates && !launch_.parallel()),
        state_((launch_.config.seed + 1) * 0xd1342543de82ef95ull | 1) {}

  // An exception must not leave a host thread: it becomes the launch's failure.
  void run() {
    try {
      work();
    } catch (const Conflict&) {
      launch_.conflict.store(true);
      launch_.stop.store(true);
    } catch (const std::bad_alloc&) {
      const std::lock_guard<std::mutex> lock(launch_.failure_mutex);
      launch_.failure = "no memory left";  // short enough to need none
      launch_.stop.store(true);
    } catch (const std::exception& e) {
      const std::lock_guard<std::mutex> lock(launch_.failure_mutex);
      launch_.failure = std::string("the emulation failed: ") + e.what();
      launch_.stop.store(true);
    }
  }

 private:
  // Takes clusters until none is left. Clusters that only wait for memory stay resident and are asked again.
  void work() {
    while (!launch_.stop.load(std::memory_order_relaxed)) {
      if (poll_stalled()) {
        still_ = 0;
        if (preempted_) admit();
        continue;
      }
      // A launch that is stopped is no deadlock.
      if (launch_.stop.load(std::memory_order_relaxed)) break;
      if (admit()) continue;
      if (stalled_.empty()) break;
      // In short turns a warp may have gone on to where it waits for another without a trace in memory.
      if (random_ && ++still_ < kStill) continue;
      still_ = 0;
      if (!force_stalled()) report_stalled();
    }
    if (launch_.findings.waits_wanted()) {
      for (auto& c : stalled_) describe_waits(*c);
    }
    for (auto& c : stalled_) worker_.executed += c->executed;
  }

  bool poll_stalled() {
    bool moved = false;
    preempted_ = false;
    for (size_t i = 0; i < stalled_.size() && !launch_.stop.load(std::memory_order_relaxed);) {
      Cluster& c = *stalled_[i];
      const uint64_t version = c.version, progress = c.progress, left = c.warps_left;
      for (Cta& cta : c.ctas) {
        for (Warp& w : cta.warps) {
          if (w.state != WarpState::Spinning) continue;
          w.state = WarpState::Ready;
          w.polling = true;
        }
      }
      c.timed_out = false;
      const Outcome outcome = run_here(c);
      moved |= version != c.version || progress != c.progress || left != c.warps_left;
      preempted_ |= outcome == Outcome::Preempted;
      if (outcome == Outcome::Finished) {
        retire(std::move(stalled_[i]));
        stalled_.erase(stalled_.begin() + static_cast<ptrdiff_t>(i));
      } else {
        ++i;
      }
    }
    return moved || preempted_;
  }

  // A cluster that waits for another's stores depends on what others do when.
  Outcome run_here(Cluster& c) {
    const Outcome outcome = run_cluster(c, random_ ? 1 + draw(2u << draw(kLongestTurn)) : 0);
    if (outcome == Outcome::Stalled && launch_.parallel()) throw Conflict();
    return outcome;
  }

  bool admit() {
    if (launch_.resident.fetch_add(1) >= launch_.residency && !stalled_.empty()) {
      launch_.resident.fetch_sub(1);
      return false;
    }
    const uint64_t next = launch_.next_cluster.fetch_add(1);
    if (next >= launch_.clusters) {
      launch_.next_cluster.store(launch_.clusters);
      launch_.resident.fetch_sub(1);
      return false;
    }
    std::unique_ptr<Cluster> c;
    if (free_.empty()) {
      c = std::make_unique<Cluster>();
    } else {
      c = std::move(free_.back());
      free_.pop_back();
    }
    start_cluster(*c, worker_, random_ ? shuffled(next) : next);
    const Outcome outcome = run_here(*c);
    if (outcome == Outcome::Finished) retire(std::move(c));
    else stalled_.push_back(std::move(c));
    return true;
  }

  void retire(std::unique_ptr<Cluster> c) {
    worker_.executed += c->executed;
    launch_.resident.fetch_sub(1);
    if (free_.size() < 2) free_.push_back(std::move(c));
  }

  bool force_stalled() {
    return std::any_of(stalled_.begin(), stalled_.end(), [](const auto& c) { return force_diverged(*c); });
  }

  void report_stalled() {
    Cluster& c = *stalled_[0];
    if (launch_.next_cluster.load() >= launch_.clusters) {
      report_deadlock(c, Kind::Deadlock, "every warp waits, and nothing changes memory any more");
      return;
    }
    report_deadlock(c, Kind::Residency,
                    "CTAs wait for memory that a later CTA would write: the kernel needs more than " +
                        std::to_string(launch_.residency * launch_.cluster_size) +
                        " CTAs at once, which is what the device holds");
  }

  uint32_t draw(uint32_t below) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<uint32_t>((state_ >> 32) % below);
  }

  // The clusters that the device holds at once start in any order, and those after them after them: they may count on
  // that, and not on more.
  uint64_t shuffled(uint64_t next) {
    const uint64_t count = std::min(launch_.residency, kMostShuffled), first = next / count * count;
    if (first == next) {
      order_.resize(std::min(count, launch_.clusters - first));
      for (size_t i = 0; i < order_.size(); ++i) order_[i] = first + i;
      for (size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[draw(static_cast<uint32_t>(i))]);
    }
    return order_[next - first];
  }

  Worker& worker_;
  Launch& launch_;
  std::vector<std::unique_ptr<Cluster>> free_, stalled_;
  bool preempted_ = false;
  uint32_t still_ = 0;  // rounds in a random order in which nothing has changed
  bool random_;     // clusters start in a random order, and run random turns
  uint64_t state_;  // of the random order
  std::vector<uint64_t> order_;
};

}  // namespace

bool Worker::goes_on() {
  const PyptxLaunch& config = launch->config;
  if (config.cancel != nullptr && __atomic_load_n(config.cancel, __ATOMIC_RELAXED) != config.cancel_from) {
    launch->cancelled.store(true, std::memory_order_relaxed);
    launch->stop.store(true);
  }
  if (++looks % kLooksByTime == 0) {
    const auto now = std::chrono::steady_clock::now();
    if (now > launch->deadline) launch->late.store(true, std::memory_order_relaxed);
    look_for_signals(now);
  }
  return !launch->stop.load(std::memory_order_relaxed) && !launch->late.load(std::memory_order_relaxed);
}

void Worker::look_for_signals(std::chrono::steady_clock::time_point now) {
  if (signals == nullptr || now < next_signals) return;
  next_signals = now + kSignals;
  void (*leave)(int) = signals->leave;
  const int state = signals->enter();
  if (signals->check() != 0) {
    signals->fetch(&signals->raised[0], &signals->raised[1], &signals->raised[2]);
    signals = nullptr;
    launch->cancelled.store(true, std::memory_order_relaxed);
    launch->stop.store(true);
  }
  leave(state);
}

void Worker::account(uint64_t instructions) {
  unaccounted += instructions;
  if (unaccounted >= kAccount) launch->executed.fetch_add(std::exchange(unaccounted, 0), std::memory_order_relaxed);
}

// 0 when the launch has run more than it may.
uint64_t Worker::allowance() const {
  const uint64_t most = launch->most_instructions;
  const uint64_t ran = launch->executed.load(std::memory_order_relaxed) + unaccounted;
  return ran > most ? 0 : most - ran + 1;
}
// Unless asked for, no thread for fewer clusters than are worth starting one. Where CTAs may see what others do, through
// atomics, strong accesses or an address that two buffers have, their order is part of the result: one thread keeps it.
uint32_t host_threads(const Launch& launch) {
  if (launch.program->communicates || launch.memory.overlap() || launch.clusters >= kMostOwners) return 1;
  const uint64_t wanted = launch.config.threads
                              ? launch.config.threads
                              : std::min<uint64_t>(std::thread::hardware_concurrency(), launch.clusters / 4);
  return static_cast<uint32_t>(std::min<uint64_t>({std::max<uint64_t>(wanted, 1), launch.clusters, 256}));
}

namespace {

// Until all other host threads have ended; signal handlers run meanwhile.
void await(Launch& launch, Worker& worker) {
  std::unique_lock<std::mutex> lock(launch.running_mutex);
  while (!launch.ended.wait_for(lock, kSignals, [&] { return launch.running == 0; })) {
    lock.unlock();
    worker.look_for_signals(std::chrono::steady_clock::now());
    lock.lock();
  }
}

}  // namespace

void run_launch(Launch& launch, std::vector<PyptxInstructionStatistics>* statistics, uint64_t* executed) {
  const DefaultFloatEnvironment environment;
  const uint32_t threads = launch.threads;
  std::vector<Worker> workers(threads);
  for (uint32_t i = 0; i < threads; ++i) {
    Worker& w = workers[i];
    w.launch = &launch;
    w.buffer_hint.assign(launch.program->code.size(), 0);
    if (launch.shared_bytes != 0) w.patterns.reset(launch.program->code.size());
    w.last_places.resize(Worker::kPlaces);
    if (launch.config.statistics) {
      w.statistics_storage.assign(launch.program->code.size(), PyptxInstructionStatistics{});
      w.statistics = w.statistics_storage.data();
    }
  }
  std::vector<std::thread> others;
  others.reserve(threads);
  for (uint32_t i = 1; i < threads; ++i) {
    try {
      others.emplace_back([&launch, &workers, i] {
        HostThread(workers[i]).run();
        const std::lock_guard<std::mutex> lock(launch.running_mutex);
        --launch.running;
        launch.ended.notify_one();
      });
      const std::lock_guard<std::mutex> lock(launch.running_mutex);
      ++launch.running;
    } catch (const std::exception&) {
      break;  // there are no more threads, or no memory for one; those there are do the work
    }
  }
  workers[0].signals = launch.config.signals;
  workers[0].next_signals = std::chrono::steady_clock::now() + kSignals;
  HostThread(workers[0]).run();
  await(launch, workers[0]);
  for (std::thread& t : others) t.join();
  for (const Worker& w : workers) {
    launch.executed.fetch_add(w.unaccounted);
    *executed += w.executed;
    if (!w.statistics) continue;
    statistics->resize(launch.program->instructions());
    for (size_t k = 0; k < statistics->size(); ++k) {
      PyptxInstructionStatistics& sum = (*statistics)[k];
      const PyptxInstructionStatistics& add = w.statistics_storage[k];
      sum.executions += add.executions;
      sum.lanes += add.lanes;
      sum.requests += add.requests;
      sum.sectors += add.sectors;
      sum.ideal_sectors += add.ideal_sectors;
      sum.wavefronts += add.wavefronts;
      sum.ideal_wavefronts += add.ideal_wavefronts;
    }
  }
  // No thread alone has seen that all together ran too much.
  if (launch.parallel() && launch.executed.load() > launch.most_instructions) launch.conflict.store(true);
}

}  // namespace pyptx::emulator
