// What systems and compilers say differently; no other file of the emulator asks which of them it is for.
//
// The compiler is GCC or Clang, on every system: 128-bit integers, vectors of values and counts of bits are theirs.
#pragma once

#include <cstddef>

#if !defined(__GNUC__)
#error "the emulator needs GCC or Clang; on Windows, Clang or GCC for MinGW"
#endif

#if defined(_WIN32)
#ifndef NOMINMAX
#define NOMINMAX
#endif
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#else
#include <sys/mman.h>
#endif

namespace pyptx::emulator {

// Zeroed pages that take no memory before they are touched; nullptr if there are none.
inline void* map_pages(size_t bytes) {
#if defined(_WIN32)
  return VirtualAlloc(nullptr, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
#else
  int flags = MAP_PRIVATE | MAP_ANONYMOUS;
#ifdef MAP_NORESERVE
  flags |= MAP_NORESERVE;
#endif
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (pages == MAP_FAILED) return nullptr;
#ifdef MADV_HUGEPAGE
  madvise(pages, bytes, MADV_HUGEPAGE);
#endif
  return pages;
#endif
}

inline void unmap_pages(void* pages, [[maybe_unused]] size_t bytes) {
#if defined(_WIN32)
  VirtualFree(pages, 0, MEM_RELEASE);
#else
  munmap(pages, bytes);
#endif
}

}  // namespace pyptx::emulator
