#include "interrupt.h"

#include <signal.h>

#include <algorithm>
#include <iterator>
#include <mutex>

namespace pyptx::cpu {
namespace {

// What the signal handler uses. The count is written and read with atomic operations only, the other's action is written
// while this handler is not installed.
int32_t g_count = 0;
struct sigaction g_before = {};

struct Execution {
  int64_t run_id;
  int32_t count;
};

std::mutex g_mutex;
Execution g_executions[16] = {};  // the latest
size_t g_next = 0;

void OnInterrupt(int signal, siginfo_t* info, void* context) {
  __atomic_fetch_add(&g_count, 1, __ATOMIC_RELAXED);
  if ((g_before.sa_flags & SA_SIGINFO) != 0) g_before.sa_sigaction(signal, info, context);
  else g_before.sa_handler(signal);
}

// Python installs its own anew whenever a program asks it to.
void Install() {
  struct sigaction now = {};
  if (sigaction(SIGINT, nullptr, &now) != 0) return;
  const bool informed = (now.sa_flags & SA_SIGINFO) != 0;
  if (informed ? now.sa_sigaction == OnInterrupt : now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN) return;
  g_before = now;
  struct sigaction ours = now;
  ours.sa_flags |= SA_SIGINFO;
  ours.sa_sigaction = OnInterrupt;
  sigaction(SIGINT, &ours, nullptr);
}

}  // namespace

const int32_t* InterruptCount() { return &g_count; }

int32_t WatchInterrupts(int64_t run_id) {
  const std::lock_guard<std::mutex> lock(g_mutex);
  Install();
  const auto known = std::find_if(std::begin(g_executions), std::end(g_executions),
                                  [&](const Execution& e) { return e.run_id == run_id; });
  if (run_id != 0 && known != std::end(g_executions)) return known->count;
  const int32_t count = __atomic_load_n(&g_count, __ATOMIC_RELAXED);
  g_executions[g_next++ % std::size(g_executions)] = {run_id, count};
  return count;
}

}  // namespace pyptx::cpu
