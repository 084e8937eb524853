/* A libcuda.so.1 for launch_case: device memory is the host's, and a "cubin" is a word that says what its kernel does:

   copy    the first argument's bytes to the second's buffer
   skip    nothing, so that the second buffer stays as it was
   drift   as copy, with a number of the launch in the first byte
   hang    does not end
   fail    ends with an error */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kBytes = 64, kFailed = 719 };

static int object, launches;
static const char* loaded;

int cuInit(unsigned flags) { return flags != 0; }
int cuGetErrorName(int result, const char** text) { *text = "CUDA_ERROR_STUB"; return result * 0; }
int cuGetErrorString(int result, const char** text) { *text = "as the stub says"; return result * 0; }
int cuDriverGetVersion(int* version) { *version = 13000; return 0; }
int cuCtxGetCurrent(void** context) { *context = &object; return 0; }
int cuCtxGetDevice(int* device) { *device = 0; return 0; }
int cuCtxPushCurrent_v2(void* context) { return context == NULL; }
int cuCtxPopCurrent_v2(void** context) { *context = &object; return 0; }
int cuDeviceGet(int* device, int ordinal) { *device = ordinal; return 0; }
int cuDevicePrimaryCtxRetain(void** context, int device) { *context = &object; return device; }
int cuDevicePrimaryCtxRelease_v2(int device) { return device; }
int cuDeviceGetAttribute(int* value, int attribute, int device) { *value = attribute; return device; }
int cuModuleLoadData(void** module, const void* image) { *module = &object; loaded = image; return 0; }
int cuModuleUnload(void* module) { return module == NULL; }
int cuModuleGetFunction(void** function, void* module, const char* name) {
  *function = module;
  return strcmp(name, "kernel") != 0;
}
int cuFuncSetAttribute(void* function, int attribute, int value) { return function == NULL && attribute && value; }
int cuFuncGetAttribute(int* value, int attribute, void* function) { *value = attribute; return function == NULL; }
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* count, void* function, int threads, size_t shared) {
  *count = 1;
  return function == NULL && threads && shared;
}
int cuOccupancyMaxActiveClusters(int* count, void* function, const void* config) {
  *count = 1;
  return function == NULL && config;
}
int cuMemAlloc_v2(uint64_t* address, size_t bytes) { *address = (uintptr_t)malloc(bytes); return *address == 0; }
int cuMemFree_v2(uint64_t address) { free((void*)(uintptr_t)address); return 0; }
int cuMemcpyHtoD_v2(uint64_t to, const void* from, size_t bytes) { memcpy((void*)(uintptr_t)to, from, bytes); return 0; }
int cuMemcpyDtoH_v2(void* to, uint64_t from, size_t bytes) { memcpy(to, (void*)(uintptr_t)from, bytes); return 0; }
int cuMemsetD8_v2(uint64_t to, unsigned char value, size_t bytes) { memset((void*)(uintptr_t)to, value, bytes); return 0; }
int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, void* s) { return to && value && bytes && s; }
int cuMemsetD16Async(uint64_t to, unsigned short value, size_t bytes, void* s) { return to && value && bytes && s; }
int cuMemsetD32Async(uint64_t to, unsigned value, size_t bytes, void* s) { return to && value && bytes && s; }
int cuMemsetD2D32Async(uint64_t to, size_t pitch, unsigned value, size_t columns, size_t rows, void* s) {
  return to && pitch && value && columns && rows && s;
}
/* The "map" has the tensor's address in front. */
int cuTensorMapEncodeTiled(uint64_t* map, int type, unsigned rank, void* address, const uint64_t* sizes,
                           const uint64_t* strides, const unsigned* box, const unsigned* steps, int interleave,
                           int swizzle, int promotion, int fill) {
  map[0] = (uintptr_t)address;
  return type != 7 || rank != 2 || sizes[0] != 8 || strides[0] != 32 || box[0] != 4 || steps[1] != 1 || interleave ||
         swizzle || promotion || fill;
}

int cuLaunchKernelEx(const void* config, void* function, void** parameters, void** extra) {
  char* from = *(char**)parameters[0];
  char* to = *(char**)parameters[1];
  ++launches;
  if (strcmp(loaded, "copy") == 0 || strcmp(loaded, "drift") == 0) memcpy(to, from, kBytes);
  if (strcmp(loaded, "drift") == 0) to[0] = (char)launches;
  return config == NULL || function == NULL || extra != NULL;
}

int cuCtxSynchronize(void) {
  while (strcmp(loaded, "hang") == 0) pause();
  return strcmp(loaded, "fail") == 0 ? kFailed : 0;
}
