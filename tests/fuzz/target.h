// What a fuzz target is: a reader that takes any bytes. Clang's libFuzzer calls it (`make fuzz`), and so does replay.cc.
#ifndef PYPTX_TESTS_FUZZ_TARGET_H_
#define PYPTX_TESTS_FUZZ_TARGET_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

// Inputs that the reader took, of those it was given.
extern uint64_t accepted;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

// A promise of the reader, which fails loudly: the sanitizers see memory, not meaning.
#define PROMISE(condition)                                                          \
  do {                                                                              \
    if (!(condition)) {                                                             \
      std::fprintf(stderr, "%s:%d: broken promise: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                 \
    }                                                                               \
  } while (false)

#endif  // PYPTX_TESTS_FUZZ_TARGET_H_
