// Reading the modifiers of a spelling by table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pyptx::emulator {

constexpr uint32_t kFree = 0;  // a modifier without an effect here

struct Modifier {
  std::string_view name;
  uint32_t value;
};

inline bool read_modifier(std::string_view name, const Modifier* table, size_t size, uint32_t* value) {
  for (size_t i = 0; i < size; ++i) {
    if (table[i].name != name) continue;
    *value = table[i].value;
    return true;
  }
  return false;
}

}  // namespace pyptx::emulator
