/* Launches calls on CUDA devices for runtimes that have streams and addresses of their own, PyTorch among them.
 *
 * The library needs no header of a runtime and none of CUDA; it opens libcuda when something is launched. A call is
 * made once, from its plan and its cubins (docs/architecture.md), and then launched from any thread on any device. */
#ifndef PYPTX_LAUNCHER_H_
#define PYPTX_LAUNCHER_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PYPTX_LAUNCHER_ABI 2

typedef struct PyptxCall PyptxCall;

/* A cubin of one step of the plan. */
typedef struct PyptxCubin {
  const char* target; /* "sm_90a" */
  const void* code;
  uint64_t bytes;
  uint32_t step;
  uint32_t reserved;
} PyptxCubin;

/* What went wrong, as a launch returns it. */
enum { PYPTX_LAUNCHED = 0, PYPTX_INVALID = 1, PYPTX_PRECONDITION = 2, PYPTX_FAILED = 3 };

uint32_t pyptx_launcher_abi(void);

/* Makes a call; NULL where something is wrong with it. `itemsizes` are the bytes of an element of each output, scratch
 * last, and `assembler` is the major version of the ptxas that made the cubins. All is copied. */
PyptxCall* pyptx_call_create(const char* plan, const PyptxCubin* cubins, uint64_t count, int32_t assembler,
                             const int64_t* itemsizes);
void pyptx_call_destroy(PyptxCall* call);

/* Launches the steps of a call on a stream of the primary context of a device. `values` are 64-bit words: the addresses
 * of the buffers (inputs, outputs, scratch; of a scalar by value that of its bytes on the host), then the sizes of all
 * their axes, in the same order. Returns PYPTX_LAUNCHED or what went wrong. */
int32_t pyptx_call_launch(PyptxCall* call, int32_t device, void* stream, const void* values);

/* What went wrong in this thread last: "kernel NAME: a sentence". */
const char* pyptx_launcher_problem(void);

/* Counts since the library was loaded: modules loaded, kernels launched. */
void pyptx_launcher_counters(int64_t counters[2]);

/* The fast path of Python: calls on tensors that are known, without Python's code. Both are called with the GIL, and
 * take and return objects of Python (src/launcher/fast.cc says which).
 *
 * Makes a function and a capsule with what it knows, as a tuple; NULL where the process has no Python to be found, or
 * the tensors are of a framework without DLPack's exchange API. */
struct _object;
struct _object* pyptx_fast_path(struct _object* settings);

/* Makes calls on such arguments known; 1 where they are now, 0 where they cannot be. */
int32_t pyptx_fast_remember(struct _object* capsule, struct _object* arguments, struct _object* known);

#ifdef __cplusplus
}
#endif

#endif
