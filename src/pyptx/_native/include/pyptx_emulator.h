/* The emulator core's C interface: runs a program image (see docs/architecture.md) on the CPU.
 *
 * Everything here may be called from any thread; one program may run many launches at once. Text is UTF-8.
 * Pointers to text stay valid as long as the object that they came from, or where that is said, until the
 * next call on the same thread.
 */
#ifndef PYPTX_EMULATOR_H
#define PYPTX_EMULATOR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes whenever a structure or a signature below does. */
#define PYPTX_EMULATOR_ABI 6u

#if defined(_WIN32)
#define PYPTX_EXPORT __declspec(dllexport)
#else
#define PYPTX_EXPORT __attribute__((visibility("default")))
#endif

typedef struct PyptxProgram PyptxProgram;
typedef struct PyptxResult PyptxResult;

/* One tensor of a launch. Its device address is its host address, so `params` holds `data` as it is. */
typedef struct PyptxBuffer {
  void* data;
  uint64_t bytes;
  const char* name;     /* for findings; NULL takes the name of this position: the registered one, or the image's */
  const int64_t* shape; /* `rank` extents in elements, row-major; NULL with rank 0 is allowed */
  uint32_t rank;
  uint32_t itemsize; /* bytes of an element; 0 if unknown */
  uint32_t flags;
  uint32_t reserved;
} PyptxBuffer;

enum {
  PYPTX_BUFFER_READ_ONLY = 1,    /* a store to it is a finding */
  PYPTX_BUFFER_UNINITIALISED = 2, /* with PYPTX_SANITIZE_INITIALISATION, a load before a store is a finding */
  PYPTX_BUFFER_COMPLETE = 4, /* the launch writes every element: one that it does not write is a finding */
  /* The launch before this one stores to it, or loads from it, and may not have ended when this one starts: with
   * PYPTX_SANITIZE_RACES, a conflicting access before griddepcontrol.wait is a finding. */
  PYPTX_BUFFER_STORED_BEFORE = 8,
  PYPTX_BUFFER_LOADED_BEFORE = 16
};

enum {
  PYPTX_SANITIZE_INITIALISATION = 1, /* memory, registers and predicates read before they are written */
  PYPTX_SANITIZE_RACES = 2,          /* shared memory, and global memory between CTAs */
  PYPTX_SANITIZE_SYNCHRONISATION = 4, /* divergent barriers, shuffles and votes from absent lanes */
  PYPTX_SANITIZE_ALL = 7
};

enum {
  PYPTX_SCHEDULE_DEFAULT = 0, /* warps in turn, each until it blocks; maximal convergence */
  /* CTAs, warps, slices and diverged lanes in a random order from `seed`; with PYPTX_SANITIZE_RACES strong loads give
   * older values, too, where the memory model allows it. */
  PYPTX_SCHEDULE_RANDOM = 1,
  /* Or-ed to the above: when asynchronous operations move their data. Without one: late with any of
   * PYPTX_SANITIZE_*, else eager. */
  PYPTX_COMPLETION_EAGER = 0x100,    /* when they are issued */
  PYPTX_COMPLETION_LATE = 0x200,     /* when nothing else can run, in the order of their issue */
  PYPTX_COMPLETION_REVERSED = 0x300, /* when nothing else can run, the latest first */
  PYPTX_COMPLETION_RANDOM = 0x400    /* at random times, in a random order from `seed` */
};

enum {
  PYPTX_APPROXIMATE_UNIT = 0 /* `.approx` operations give what the measured unit of an H100 does */
};

/* A range of global memory of which a launch tells who touched it, while any sanitizer flag is set. */
typedef struct PyptxWatch {
  const void* data;
  uint64_t bytes;
} PyptxWatch;

/* Lanes (a mask) of a warp of a CTA, numbered in the grid, that touched a range in one instruction. */
typedef struct PyptxVisit {
  uint64_t cta;
  uint32_t watch; /* the range's position */
  uint32_t instruction;
  uint32_t warp;
  uint32_t lanes;
  uint32_t store; /* 0 for a load */
  uint32_t reserved;
} PyptxVisit;

/* How Python's signal handlers run during a launch: CPython's functions PyGILState_Ensure, PyGILState_Release,
 * PyErr_CheckSignals and PyErr_Fetch. */
typedef struct PyptxSignals {
  int (*enter)(void);
  void (*leave)(int);
  int (*check)(void);
  void (*fetch)(void** type, void** value, void** traceback);
  void* raised[3]; /* what a handler raised, which has cancelled the launch; the caller's, for PyErr_Restore */
} PyptxSignals;

typedef struct PyptxLaunch {
  uint32_t size;       /* sizeof(PyptxLaunch) */
  uint32_t grid[3];    /* CTAs; a zero launches nothing */
  uint32_t block[3];   /* threads */
  uint32_t cluster[3]; /* CTAs; all zero for a launch without clusters */
  /* Bytes of dynamic shared memory. They follow the program's shared variables; where those take more than
   * the 48 KiB that static shared memory may have, they are the start of the dynamic memory themselves. */
  uint32_t dynamic_shared;
  uint32_t sanitize;         /* PYPTX_SANITIZE_* */
  uint32_t threads;          /* host threads at most; 0 for as many as the machine has */
  uint32_t schedule;         /* PYPTX_SCHEDULE_* | PYPTX_COMPLETION_* */
  uint64_t seed;             /* of the random schedule */
  uint64_t max_instructions; /* a warp that runs more is a finding; 0 for the default, 2^28 */
  uint64_t max_launch_instructions; /* the same for all warps together; 0 for the default, 2^34 */
  double max_seconds;        /* a launch that takes longer is a finding; 0 for the default, 600 */
  uint32_t statistics;       /* nonzero: count per instruction */
  uint32_t approximate;      /* PYPTX_APPROXIMATE_* */
  const void* params;        /* the kernel's parameters at the offsets that the image gives */
  uint64_t param_bytes;
  const PyptxBuffer* buffers; /* every tensor that the kernel may touch */
  uint64_t buffer_count;
  const PyptxWatch* watches;
  uint64_t watch_count;
  /* The launch ends soon after *cancel is no longer cancel_from; NULL for never. Any thread, or a signal
   * handler, may write it. */
  const int32_t* cancel;
  int32_t cancel_from;
  /* How many schedules are tried, while any sanitizer flag is set: first the one above, then random ones of the seeds
   * that follow `seed`, until one has findings. 0 for as many as set_schedules says. */
  uint32_t schedules;
  uint32_t cooperative; /* nonzero: a cooperative launch, whose CTAs may wait for each other at grid.sync() */
  uint32_t reserved;
  /* NULL unless the calling thread is Python's main thread, without its lock: it looks 20 times a second. */
  PyptxSignals* signals;
} PyptxLaunch;

/* How a launch ended. */
enum {
  PYPTX_OK = 0,       /* ran to the end, no findings */
  PYPTX_FINDINGS = 1, /* ran to the end; the sanitizer has findings, or an element was never written */
  PYPTX_STOPPED = 2,  /* stopped by a finding: bounds, alignment, deadlock, runaway loop, trap */
  PYPTX_INVALID = 3,  /* not started: the launch itself is wrong; the message says what */
  PYPTX_CANCELLED = 4 /* ended before its time, because *cancel or a signal handler asked for it */
};

/* One element per instruction of the image, in its order. */
typedef struct PyptxInstructionStatistics {
  uint64_t executions;       /* warps that executed it with at least one lane */
  uint64_t lanes;            /* sum of executing lanes */
  uint64_t requests;         /* memory requests, one per executing warp, to global or shared memory */
  uint64_t sectors;          /* 32-byte sectors of global memory touched */
  uint64_t ideal_sectors;    /* sectors if the same distinct bytes were contiguous and aligned */
  uint64_t wavefronts;       /* passes through the 32 banks of shared memory */
  uint64_t ideal_wavefronts; /* passes without bank conflicts */
} PyptxInstructionStatistics;

typedef struct PyptxSourceLine {
  const char* file; /* NULL where unknown */
  const char* text; /* the source line, NULL where unknown */
  uint32_t line;
  uint32_t reserved;
} PyptxSourceLine;

typedef struct PyptxEmulatorApi {
  uint32_t abi;  /* PYPTX_EMULATOR_ABI */
  uint32_t size; /* sizeof(PyptxEmulatorApi) */

  /* NULL if the image is corrupt or has instructions that are not emulated; then *error, if given, points
   * to the whole message, valid until this thread's next call. */
  PyptxProgram* (*program_create)(const void* image, size_t bytes, const char** error);
  void (*program_destroy)(PyptxProgram* program);
  uint64_t (*program_instructions)(const PyptxProgram* program);
  /* Bytes of parameters, and of shared variables, that a launch of the program needs. */
  uint64_t (*program_param_bytes)(const PyptxProgram* program);
  uint64_t (*program_shared_bytes)(const PyptxProgram* program);
  /* Bytes of the program's widest access to global memory, at least 1. Buffers should start at a multiple. */
  uint64_t (*program_alignment)(const PyptxProgram* program);

  /* Remembers for every later launch, in this process, of programs made from these image bytes: a Python
   * line per instruction, a tensor name per buffer position, where the kernel is defined (NULL where that
   * is not known), and the file's name of each register, "" for one that has none. Each count may be 0. Replaces what was registered before. Everything is copied. */
  void (*register_source)(const void* image, size_t bytes, const PyptxSourceLine* lines, size_t line_count,
                          const char* const* tensors, size_t tensor_count, const PyptxSourceLine* kernel,
                          const char* const* registers, size_t register_count);

  /* Runs a launch to its end. Never NULL, except when memory runs out. */
  PyptxResult* (*launch)(const PyptxProgram* program, const PyptxLaunch* launch);
  int32_t (*result_status)(const PyptxResult* result);
  /* The complete report for a person, "" for PYPTX_OK. */
  const char* (*result_message)(const PyptxResult* result);
  /* The same, structured: {"kernel", "status", "message", "findings": [...], "waits": [...]}. */
  const char* (*result_json)(const PyptxResult* result);
  /* NULL and *count 0 unless statistics were asked for. */
  const PyptxInstructionStatistics* (*result_statistics)(const PyptxResult* result, uint64_t* count);
  uint64_t (*result_instructions)(const PyptxResult* result); /* warp-instructions executed */
  /* What the launch printed with printf, of each CTA in the order of their ids: bytes, which may hold zeros.
   * The first 16 MiB, and a line that says how much more there was. */
  const char* (*result_printed)(const PyptxResult* result, uint64_t* bytes);
  /* Who touched the launch's watched ranges, in their order. */
  const PyptxVisit* (*result_visits)(const PyptxResult* result, uint64_t* count);
  void (*result_destroy)(PyptxResult* result);
  /* PyptxLaunch::schedules of launches in this process that do not say; 1 at first. */
  void (*set_schedules)(uint32_t schedules);
} PyptxEmulatorApi;

/* The entry point. The table is constant and lives as long as the library is loaded. */
PYPTX_EXPORT const PyptxEmulatorApi* pyptx_emulator_api(void);

#ifdef __cplusplus
}
#endif
#endif /* PYPTX_EMULATOR_H */
