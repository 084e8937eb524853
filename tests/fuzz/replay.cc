// Gives a fuzz target the files of a corpus, and so many changes of them, the same in every run:
//
//   replay CHANGES SEED FILE...
//
// Prints how many inputs there were and how many the reader took. An abort leaves the input in ./failed; with the
// sanitizers that needs their option abort_on_error=1.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "target.h"

namespace {

using Input = std::vector<uint8_t>;

// SplitMix64 (Steele, Lea, Flood 2014): the standard library's distributions differ between compilers.
class Draw {
 public:
  explicit Draw(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  size_t below(size_t bound) { return next() % bound; }

 private:
  uint64_t state_;
};

void change(Input& input, const Input& other, Draw& draw) {
  static constexpr uint8_t kBytes[] = {0, 1, 2, 0x7f, 0x80, 0xff, ';', ',', '0', '9', '-'};
  const size_t at = draw.below(input.size() + 1), span = draw.below(9);
  const auto here = input.begin() + static_cast<ptrdiff_t>(at);
  const auto end = input.begin() + static_cast<ptrdiff_t>(std::min(input.size(), at + span));
  switch (draw.below(6)) {
    case 0: input.erase(here, end); return;
    case 1: input.insert(here, span, kBytes[draw.below(sizeof kBytes)]); return;
    case 2: std::fill(here, end, kBytes[draw.below(sizeof kBytes)]); return;
    case 3:
      if (at < input.size()) input[at] = static_cast<uint8_t>(input[at] ^ (1u << draw.below(8)));
      return;
    case 4:
      if (at < input.size()) input[at] = static_cast<uint8_t>(input[at] + (draw.below(2) != 0 ? 1 : 255));
      return;
    default: {
      const size_t from = draw.below(other.size() + 1);
      const size_t count = std::min(other.size() - from, span * 4);
      const auto first = other.begin() + static_cast<ptrdiff_t>(from);
      input.insert(here, first, first + static_cast<ptrdiff_t>(count));
    }
  }
}

const uint8_t* given = nullptr;
size_t given_size = 0;

void keep(int signal) {
  const int file = open("failed", O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file >= 0 && write(file, given, given_size) >= 0) close(file);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

// A copy on the heap of just its size, so that a read past the end is seen.
void give(const Input& input) {
  auto* copy = new uint8_t[input.size()];
  std::copy(input.begin(), input.end(), copy);
  given = copy;
  given_size = input.size();
  LLVMFuzzerTestOneInput(copy, input.size());
  delete[] copy;
}

}  // namespace

int main(int count, char** words) {
  if (count < 4) return 2;
  std::signal(SIGABRT, keep);
#ifndef __SANITIZE_ADDRESS__
  std::signal(SIGSEGV, keep);
#endif
  const size_t changes = std::strtoull(words[1], nullptr, 10);
  Draw draw(std::strtoull(words[2], nullptr, 10));
  std::vector<Input> corpus;
  for (int i = 3; i < count; ++i) {
    std::ifstream file(words[i], std::ios::binary);
    if (!file) {
      std::fprintf(stderr, "no file %s\n", words[i]);
      return 2;
    }
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    give(corpus.back());
  }
  const uint64_t taken = accepted;
  for (size_t i = 0; i < changes; ++i) {
    Input input = corpus[draw.below(corpus.size())];
    const Input& other = corpus[draw.below(corpus.size())];
    for (size_t k = draw.below(4) + 1; k > 0; --k) change(input, other, draw);
    give(input);
  }
  std::printf("%zu files, %llu taken; %zu changes, %llu taken\n", corpus.size(), static_cast<unsigned long long>(taken),
              changes, static_cast<unsigned long long>(accepted - taken));
  return 0;
}
