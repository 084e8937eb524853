// The part of DLPack 1.x (dmlc/dlpack, include/dlpack/dlpack.h) that the fast path reads: a framework's table of
// functions, which a class of tensors has as `__dlpack_c_exchange_api__`, a capsule "dlpack_exchange_api".
#ifndef PYPTX_LAUNCHER_DLPACK_H_
#define PYPTX_LAUNCHER_DLPACK_H_

#include <cstdint>

namespace pyptx::dlpack {

constexpr const char* kCapsule = "dlpack_exchange_api";
constexpr uint32_t kMajor = 1;
constexpr int32_t kCuda = 2;

struct DataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};

struct Tensor {
  void* data;
  int32_t device_type;
  int32_t device;
  int32_t rank;
  DataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; null where elements are one after the other
  uint64_t byte_offset;
};
static_assert(sizeof(Tensor) == 48);

struct ExchangeApi {
  uint32_t major, minor;
  ExchangeApi* previous;
  void* allocate;
  void* managed_from_object;
  void* managed_to_object;
  int (*from_object)(void* object, Tensor* tensor);  // borrows; 0, or -1 with an exception
  int (*current_stream)(int32_t device_type, int32_t device, void** stream);
};

}  // namespace pyptx::dlpack

#endif  // PYPTX_LAUNCHER_DLPACK_H_
