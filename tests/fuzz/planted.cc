// A reader with a bug, for the test that replay.cc finds one: it reads one byte past an input that ends in ";;".
#include "target.h"

uint64_t accepted = 0;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size >= 2 && data[size - 1] == ';' && data[size - 2] == ';') accepted += data[size] != 0 ? 1u : 2u;
  return 0;
}
