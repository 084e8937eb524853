// Memory for the shadow of global memory, kept from one launch to the next.
//
// Touching fresh pages costs more than using them. Cells are told apart by their segment: each launch takes
// segments that are greater than all before it, so what an earlier launch left in a cell counts as nothing. What has no
// segment, an epoch, is looked at only where its cell counts, and its pages are never used for cells.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace pyptx::emulator {

// Zeroed pages that cost nothing until they are touched.
class Pages {
 public:
  Pages() = default;
  explicit Pages(size_t bytes);
  Pages(Pages&& other) noexcept;
  Pages& operator=(Pages&& other) noexcept;
  ~Pages();
  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

constexpr uint64_t kMaxSegments = 0x7fffffff;

class ShadowPool {
 public:
  enum class Holds : uint8_t { Cells, Epochs };
  struct Need {
    size_t bytes;
    Holds holds;
    bool operator==(const Need& other) const { return bytes == other.bytes && holds == other.holds; }
  };
  struct Shadow {
    uint32_t base = 0;  // cells of segments up to this one count as empty
    uint64_t generation = 0;
    std::vector<Pages> pages;  // in the order of the needs
    std::vector<Need> needs;
  };

  static ShadowPool& instance();

  // Pages for these needs and `segments` segments, base + 1 and up.
  Shadow take(std::vector<Need> needs, uint64_t segments);
  void give(Shadow shadow);

 private:
  struct Kept {
    Need need;
    Pages pages;
  };

  Pages find(const Need& need);

  std::mutex mutex_;
  std::vector<Kept> kept_;
  size_t kept_bytes_ = 0;
  uint64_t next_ = 0, generation_ = 0;
};

}  // namespace pyptx::emulator
