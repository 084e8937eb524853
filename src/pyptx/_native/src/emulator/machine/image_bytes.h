// The bytes of a program image, which may come from a file that somebody has changed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace pyptx::emulator {

[[noreturn]] inline void corrupt(const std::string& what) {
  throw std::runtime_error("corrupt program image: " + what);
}

// Whether bytes are UTF-8, as reports must be (RFC 3629).
inline bool is_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<uint8_t>(text[i++]);
    const unsigned more = lead < 0x80 ? 0 : lead >> 5 == 6 ? 1 : lead >> 4 == 14 ? 2 : lead >> 3 == 30 ? 3 : 4;
    if (more == 4 || more > text.size() - i) return false;
    uint32_t point = more == 0 ? lead : lead & (0x3fu >> more);
    for (unsigned k = 0; k < more; ++k) {
      const auto next = static_cast<uint8_t>(text[i++]);
      if (next >> 6 != 2) return false;
      point = point << 6 | (next & 0x3fu);
    }
    constexpr uint32_t kLeast[] = {0, 0x80, 0x800, 0x10000};
    if (point < kLeast[more] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) return false;
  }
  return true;
}

// Reads little-endian fields and never past the end.
class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : at_(data), end_(data + size) {}

  const uint8_t* take(size_t size, const char* what) {
    if (static_cast<size_t>(end_ - at_) < size) corrupt(std::string("it ends inside ") + what);
    const uint8_t* here = at_;
    at_ += size;
    return here;
  }
  uint64_t number(unsigned size, const char* what) {
    const uint8_t* p = take(size, what);
    uint64_t value = 0;
    for (unsigned i = 0; i < size; ++i) value |= static_cast<uint64_t>(p[i]) << (8 * i);
    return value;
  }
  uint8_t u8(const char* what) { return static_cast<uint8_t>(number(1, what)); }
  uint32_t u32(const char* what) { return static_cast<uint32_t>(number(4, what)); }
  uint64_t u64(const char* what) { return number(8, what); }
  // A count of things that take at least `least` bytes each, so that a corrupt count allocates nothing big.
  uint32_t count(size_t least, const char* what) {
    const uint32_t n = u32(what);
    if (n > static_cast<size_t>(end_ - at_) / least) corrupt(std::string("too many ") + what);
    return n;
  }
  bool done() const { return at_ == end_; }

 private:
  const uint8_t* at_;
  const uint8_t* end_;
};

}  // namespace pyptx::emulator
