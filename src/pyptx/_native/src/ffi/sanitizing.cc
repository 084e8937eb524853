#include "sanitizing.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "call.h"

namespace pyptx::cpu {
namespace {

struct Record {
  int32_t status;
  std::string message;
  std::string json;
};

// A program that runs a wrong kernel for days must not fill the memory; what comes beyond is counted.
constexpr size_t kMostRecords = 1000;

std::atomic<int32_t> g_open{0};
std::mutex g_mutex;
std::vector<Record> g_records;
int64_t g_launches = 0;
int64_t g_found = 0;  // launches with findings, kept or not

const std::string* Text(int64_t index, int32_t part) {
  if (index < 0 || size_t(index) >= g_records.size()) return nullptr;
  const Record& record = g_records[size_t(index)];
  return part == 0 ? &record.message : &record.json;
}

}  // namespace

bool Sanitizing() { return g_open.load(std::memory_order_relaxed) > 0; }

void KeepLaunch(int32_t status, std::string message, std::string json) {
  const std::lock_guard<std::mutex> lock(g_mutex);
  ++g_launches;
  if (json.empty()) return;
  ++g_found;
  if (g_records.size() < kMostRecords) g_records.push_back({status, std::move(message), std::move(json)});
}

}  // namespace pyptx::cpu

using namespace pyptx::cpu;

// Opens, or with 0 closes, the sanitizer for every launch of the process; calls nest. Closing the last forgets what
// was kept.
PYPTX_FFI_EXPORT void pyptx_cpu_sanitize(int32_t open) {
  const std::lock_guard<std::mutex> lock(g_mutex);
  if (open != 0) {
    g_open.fetch_add(1);
  } else if (g_open.fetch_sub(1) == 1) {
    g_records.clear();
    g_launches = g_found = 0;
  }
}

// Since it was opened: launches that were checked, those of them with findings, and how many of these are kept.
PYPTX_FFI_EXPORT void pyptx_cpu_sanitized(int64_t* launches, int64_t* found, int64_t* kept) {
  const std::lock_guard<std::mutex> lock(g_mutex);
  *launches = g_launches;
  *found = g_found;
  *kept = int64_t(g_records.size());
}

// How kept launch `index` ended, PYPTX_FINDINGS or PYPTX_STOPPED; -1 where there is none.
PYPTX_FFI_EXPORT int32_t pyptx_cpu_sanitized_status(int64_t index) {
  const std::lock_guard<std::mutex> lock(g_mutex);
  return Text(index, 0) == nullptr ? -1 : g_records[size_t(index)].status;
}

// The report of kept launch `index`, for a person (part 0) or as JSON (part 1), cut to `capacity` bytes. Returns all
// its bytes; -1 where there is none.
PYPTX_FFI_EXPORT int64_t pyptx_cpu_sanitized_text(int64_t index, int32_t part, char* out, int64_t capacity) {
  const std::lock_guard<std::mutex> lock(g_mutex);
  const std::string* text = Text(index, part);
  if (text == nullptr) return -1;
  const size_t copied = std::min(text->size(), size_t(std::max<int64_t>(capacity, 0)));
  if (copied > 0) std::memcpy(out, text->data(), copied);
  return int64_t(text->size());
}
