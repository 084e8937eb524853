/* A libcuda.so.1 that launches nothing, as quickly as it can: what is left of a call's time is the host's. */
#include <stddef.h>
#include <stdint.h>

static int object;

int cuGetErrorName(int result, const char** text) { *text = "error"; return result * 0; }
int cuGetErrorString(int result, const char** text) { *text = "error"; return result * 0; }
int cuDriverGetVersion(int* version) { *version = 13000; return 0; }
int cuCtxGetCurrent(void** context) { *context = &object; return 0; }
int cuCtxGetDevice(int* device) { *device = 0; return 0; }
int cuCtxPushCurrent_v2(void* context) { return context == NULL; }
int cuCtxPopCurrent_v2(void** context) { *context = &object; return 0; }
int cuDeviceGet(int* device, int ordinal) { *device = ordinal; return 0; }
int cuDevicePrimaryCtxRetain(void** context, int device) { *context = &object; return device * 0; }
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  *value = attribute == 75 ? 9 : attribute == 76 ? 0 : attribute == 16 ? 132 : 232448;
  return device * 0;
}
int cuModuleLoadData(void** module, const void* image) { *module = &object; return image == NULL; }
int cuModuleGetFunction(void** function, void* module, const char* name) {
  *function = module;
  return name == NULL;
}
int cuFuncSetAttribute(void* function, int attribute, int value) { return function == NULL && attribute && value; }
int cuFuncGetAttribute(int* value, int attribute, void* function) {
  *value = 1024;
  return function == NULL && attribute;
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* count, void* function, int threads, size_t shared) {
  *count = 1;
  return function == NULL && threads && shared;
}
int cuOccupancyMaxActiveClusters(int* count, void* function, const void* config) {
  *count = 30;
  return function == NULL && config;
}
int cuLaunchKernelEx(const void* config, void* function, void** parameters, void** extra) {
  return config == NULL || function == NULL || parameters == NULL || extra != NULL;
}
int cuMemsetD8Async(uint64_t address, unsigned char value, size_t count, void* stream) {
  return address == 0 && value && count && stream;
}
int cuMemsetD16Async(uint64_t address, unsigned short value, size_t count, void* stream) {
  return address == 0 && value && count && stream;
}
int cuMemsetD32Async(uint64_t address, unsigned value, size_t count, void* stream) {
  return address == 0 && value && count && stream;
}
int cuMemsetD2D32Async(uint64_t address, size_t pitch, unsigned value, size_t columns, size_t rows, void* stream) {
  return address == 0 && pitch && value && columns && rows && stream;
}
