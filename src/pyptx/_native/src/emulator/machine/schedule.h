// Running the warps of one cluster, for the host threads that run clusters.
#pragma once

#include <string>

#include "warp.h"

namespace pyptx::emulator {

enum class Outcome {
  Finished,
  Stalled,    // its warps wait for stores of other clusters
  Preempted,  // it has run for long, and other clusters shall have a turn
  Stopped
};

// Makes the cluster of this number in the grid, with all its warps at the kernel's entry.
void start_cluster(Cluster& c, Worker& worker, uint64_t linear);
// Runs it until one of these happens.
Outcome run_cluster(Cluster& c, uint64_t instructions);
// When nothing else can run: lets lanes that wait for the rest of their warp go on. False if there are none.
bool force_diverged(Cluster& c);
// The finding that nothing can run, and the rows of who waits for what.
void report_deadlock(Cluster& c, Kind kind, const std::string& note);
void describe_waits(Cluster& c);

}  // namespace pyptx::emulator
