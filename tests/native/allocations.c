#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

// Fails the n-th allocation that pyptx's libraries make, counted from the last call of fail_at(), and those after it if
// they are to `persist`; 0 for none.
static atomic_long left, failed, seen;
static atomic_int persistent;

void fail_at(long n, int persist) {
  atomic_store(&seen, 0);
  atomic_store(&failed, 0);
  atomic_store(&persistent, persist);
  atomic_store(&left, n);
}

long failures(void) { return atomic_load(&failed); }

static int fails(void* caller) {
  if (atomic_load(&left) == 0) return 0;
  Dl_info info;
  if (!dladdr(caller, &info) || info.dli_fname == NULL) return 0;
  if (strstr(info.dli_fname, "libpyptx_") == NULL && strstr(info.dli_fname, "libstdc++") == NULL) return 0;
  long n = atomic_fetch_add(&seen, 1) + 1;
  if (atomic_load(&persistent) ? n < atomic_load(&left) : n != atomic_load(&left)) return 0;
  atomic_fetch_add(&failed, 1);
  errno = ENOMEM;
  return 1;
}

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);
void* malloc(size_t n) { return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(n); }
void* calloc(size_t a, size_t b) { return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(a, b); }
void* realloc(void* p, size_t n) { return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(p, n); }
void* aligned_alloc(size_t a, size_t n) { return fails(__builtin_return_address(0)) ? NULL : __libc_memalign(a, n); }
int posix_memalign(void** p, size_t a, size_t n) {
  if (fails(__builtin_return_address(0))) return ENOMEM;
  *p = __libc_memalign(a, n);
  return *p ? 0 : ENOMEM;
}
