// vprintf: the format is read as the device reads it, and each conversion is left to the host's snprintf.
#include "print.h"

#include <cstdarg>
#include <cstdio>

#include "access.h"

namespace pyptx::emulator {
namespace {

constexpr int32_t kNoFormat = -1;
constexpr size_t kLongestFormat = 1u << 16, kLongestString = 1u << 20;
constexpr int kWidest = 1 << 12;  // columns and digits

// "%-8.3llx": flags "-", width 8, precision 3, size "ll", conversion 'x'.
struct Conversion {
  std::string flags, size;
  bool width_given_apart = false;  // '*'
  int width = 0, precision = -1;
  char kind = 0;

  bool whole() const { return kind != 0 && std::strchr("cdiouxX", kind) != nullptr; }
  bool floating() const { return kind != 0 && std::strchr("eEfFgGaA", kind) != nullptr; }
  unsigned bytes() const { return (whole() && size != "l" && size != "ll") ? 4 : 8; }

  // For snprintf, whose arguments are all of 64 bits; -1 is no precision.
  std::string spelled() const {
    std::string text = "%" + flags;
    if (width > 0) text += std::to_string(width);
    if (precision >= 0) text += "." + std::to_string(precision);
    if (whole() && kind != 'c') text += "ll";
    return text + kind;
  }
};

__attribute__((format(printf, 1, 0))) std::string formatted(const char* format, ...) {
  va_list values;
  va_start(values, format);
  va_list again;
  va_copy(again, values);
  const int size = std::vsnprintf(nullptr, 0, format, values);
  va_end(values);
  std::string text(size < 0 ? 0 : static_cast<size_t>(size) + 1, '\0');
  if (size >= 0) std::vsnprintf(&text[0], text.size(), format, again);
  va_end(again);
  if (!text.empty()) text.pop_back();
  return text;
}

// Where in the format a conversion begins, and what the reader has come to.
struct Cursor {
  const std::string& text;
  size_t at;

  char peek() const { return at < text.size() ? text[at] : '\0'; }
  bool take(const char* of, std::string* into) {
    if (peek() == '\0' || std::strchr(of, peek()) == nullptr) return false;
    *into += text[at++];
    return true;
  }
  int number() {
    int value = 0;
    while (peek() >= '0' && peek() <= '9') value = std::min(value * 10 + (text[at++] - '0'), kWidest + 1);
    return value;
  }
};

// One lane's call.
class Call {
 public:
  Call(Warp& w, const Instruction& in, unsigned lane, uint64_t arguments)
      : w_(w), in_(in), lane_(lane), next_(arguments) {}

  bool text_at(uint64_t address, std::string* text) { return string_at(address, kLongestFormat, text); }

  int32_t run(uint64_t format) {
    std::string text;
    if (format == 0) return kNoFormat;
    if (!string_at(format, kLongestFormat, &text)) return kNoFormat;
    for (Cursor c{text, 0}; c.at < text.size();) {
      if (c.text[c.at] != '%') {
        out_ += c.text[c.at++];
      } else if (c.at + 1 < text.size() && c.text[c.at + 1] == '%') {
        out_ += '%';
        c.at += 2;
      } else if (!convert(c)) {
        break;
      }
    }
    w_.worker->launch->printed.add(w_.cta->linear, out_);
    return count_;
  }

 private:
  bool convert(Cursor& c) {
    const size_t begin = c.at++;
    Conversion found;
    while (c.take("-+ #0", &found.flags)) {
    }
    std::string star, point, kind;
    found.width_given_apart = c.take("*", &star);
    if (!found.width_given_apart) found.width = c.number();
    if (c.take(".", &point)) found.precision = c.number();
    while (found.size.size() < 2 && c.take("hl", &found.size)) {
    }
    if (!c.take("cdiouxXpeEfFgGaAs", &kind) || found.size == "hl" || found.size == "lh" || found.size == "hh") {
      const std::string wrong = c.text.substr(begin, c.at + 1 - begin);
      return refuse("printf has no conversion " + wrong + ": flags -+ #0, a width or *, .precision, h l or ll, and "
                    "one of c d i o u x X p e E f F g G a A s");
    }
    found.kind = kind[0];
    if (found.width > kWidest || found.precision > kWidest) {
      return refuse("a width or a precision of printf is more than " + std::to_string(kWidest));
    }
    return (!found.width_given_apart || width(&found)) && value(found);
  }

  // A negative width means its absolute, and the flag '-'.
  bool width(Conversion* c) {
    uint64_t bits;
    if (!argument(4, &bits)) return false;
    const auto given = static_cast<int32_t>(static_cast<uint32_t>(bits));
    if (given > kWidest || given < -kWidest) {
      return refuse("a width or a precision of printf is more than " + std::to_string(kWidest));
    }
    if (given < 0) c->flags += '-';
    c->width = given < 0 ? -given : given;
    return true;
  }

  bool value(const Conversion& c) {
    uint64_t bits;
    if (!argument(c.bytes(), &bits)) return false;
    const std::string spelled = c.spelled();
    if (c.kind == 's') return string(spelled, bits, c.precision);
    if (c.floating()) {
      double number;
      std::memcpy(&number, &bits, sizeof number);
      out_ += formatted(spelled.c_str(), number);
    } else if (c.kind == 'p') {
      out_ += formatted(spelled.c_str(), reinterpret_cast<void*>(bits));
    } else if (c.kind == 'c') {
      out_ += formatted(spelled.c_str(), static_cast<int>(bits & 0xff));
    } else {
      out_ += formatted(spelled.c_str(), extended(c, bits));
    }
    return true;
  }

  // Cut to the type of the size, and extended as the conversion reads it.
  static long long extended(const Conversion& c, uint64_t bits) {
    const bool is_signed = c.kind == 'd' || c.kind == 'i';
    if (c.bytes() == 8) return static_cast<long long>(bits);
    if (c.size == "h") return is_signed ? static_cast<int16_t>(bits) : static_cast<uint16_t>(bits);
    return is_signed ? static_cast<int32_t>(bits) : static_cast<long long>(static_cast<uint32_t>(bits));
  }

  bool string(const std::string& spelled, uint64_t address, int precision) {
    std::string text = "(null)";
    const size_t most = precision < 0 ? kLongestString : static_cast<size_t>(precision);
    if (address != 0 && !string_at(address, most, &text)) return false;
    out_ += formatted(spelled.c_str(), text.c_str());
    return true;
  }

  // The next of the buffer, which lies at a multiple of its size.
  bool argument(unsigned bytes, uint64_t* bits) {
    const uint64_t at = (next_ + bytes - 1) / bytes * bytes;
    next_ = at + bytes;
    ++count_;
    *bits = 0;
    return load(at, bytes, bits);
  }

  bool string_at(uint64_t address, size_t most, std::string* text) {
    text->clear();
    for (char c; text->size() < most; *text += c) {
      if (!load(address + text->size(), 1, &c)) return false;
      if (c == '\0') return true;
    }
    return most < kLongestFormat || refuse("a text of printf has no end");
  }

  bool load(uint64_t address, unsigned bytes, void* value) {
    AccessPlan plan;
    plan.element = plan.bytes = static_cast<uint8_t>(bytes);
    Addresses addresses{};
    addresses.at[lane_] = address;
    Places places;
    const uint32_t mask = 1u << lane_;
    const Launch& launch = *w_.worker->launch;
    const bool sanitized = launch.initialisation || launch.races || launch.synchronisation;
    const uint32_t found = sanitized ? locate_any<true>(w_, in_, plan, addresses, mask, places)
                                     : locate_any<false>(w_, in_, plan, addresses, mask, places);
    if (found == mask) std::memcpy(value, places.at[lane_], bytes);
    return found == mask;
  }

  bool refuse(const std::string& note) {
    Finding finding{};
    finding.kind = Kind::BadCall;
    finding.site = site_of(w_, in_, lane_);
    finding.note = note;
    report(w_, finding);
    return false;
  }

  Warp& w_;
  const Instruction& in_;
  unsigned lane_;
  uint64_t next_;  // generic address behind what has been read of the buffer
  std::string out_;
  int32_t count_ = 0;
};

}  // namespace

int32_t print(Warp& w, const Instruction& in, unsigned lane, uint64_t format, uint64_t arguments) {
  return Call(w, in, lane, arguments).run(format);
}

bool read_text(Warp& w, const Instruction& in, unsigned lane, uint64_t address, std::string* text) {
  return Call(w, in, lane, 0).text_at(address, text);
}

}  // namespace pyptx::emulator
