// Compiles only where src/launch/driver.h agrees with NVIDIA's cuda.h.
#include "driver.h"
#include "plan.h"

#include <cuda.h>

#include <cstddef>

using namespace pyptx::cuda;

static_assert(sizeof(CUlaunchConfig) == sizeof(LaunchConfig));
static_assert(offsetof(CUlaunchConfig, blockDimX) == offsetof(LaunchConfig, block));
static_assert(offsetof(CUlaunchConfig, sharedMemBytes) == offsetof(LaunchConfig, shared_bytes));
static_assert(offsetof(CUlaunchConfig, hStream) == offsetof(LaunchConfig, stream));
static_assert(offsetof(CUlaunchConfig, attrs) == offsetof(LaunchConfig, attributes));
static_assert(offsetof(CUlaunchConfig, numAttrs) == offsetof(LaunchConfig, attribute_count));
static_assert(sizeof(CUlaunchAttribute) == sizeof(LaunchAttribute));
static_assert(offsetof(CUlaunchAttribute, value) == offsetof(LaunchAttribute, value));
static_assert(int(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) == kLaunchAttributeClusterDimension);
static_assert(int(CU_LAUNCH_ATTRIBUTE_COOPERATIVE) == kLaunchAttributeCooperative);
static_assert(offsetof(CUlaunchAttributeValue, cooperative) == 0);
static_assert(sizeof(CUlaunchAttributeValue::cooperative) == sizeof(LaunchAttribute::value.cooperative));
static_assert(int(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION) ==
              kLaunchAttributeProgrammaticStreamSerialization);
static_assert(offsetof(CUlaunchAttributeValue, programmaticStreamSerializationAllowed) == 0);
static_assert(sizeof(CUlaunchAttributeValue::programmaticStreamSerializationAllowed) ==
              sizeof(LaunchAttribute::value.programmatic_stream_serialization_allowed));
static_assert(sizeof(CUtensorMap) == sizeof(EncodedMap) && alignof(EncodedMap) % alignof(CUtensorMap) == 0);
static_assert(int(CU_TENSOR_MAP_DATA_TYPE_UINT8) == int(pyptx::MapType::kU8));
static_assert(int(CU_TENSOR_MAP_DATA_TYPE_UINT16) == int(pyptx::MapType::kU16));
static_assert(int(CU_TENSOR_MAP_DATA_TYPE_UINT32) == int(pyptx::MapType::kU32));
static_assert(int(CU_TENSOR_MAP_DATA_TYPE_INT32) == int(pyptx::MapType::kS32));
static_assert(int(CU_TENSOR_MAP_DATA_TYPE_UINT64) == int(pyptx::MapType::kU64));
static_assert(int(CU_TENSOR_MAP_DATA_TYPE_INT64) == int(pyptx::MapType::kS64));
static_assert(int(CU_TENSOR_MAP_DATA_TYPE_FLOAT16) == int(pyptx::MapType::kF16));
static_assert(int(CU_TENSOR_MAP_DATA_TYPE_FLOAT32) == int(pyptx::MapType::kF32));
static_assert(int(CU_TENSOR_MAP_DATA_TYPE_FLOAT64) == int(pyptx::MapType::kF64));
static_assert(int(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16) == int(pyptx::MapType::kBF16));
static_assert(int(CU_TENSOR_MAP_INTERLEAVE_16B) == 1 && int(CU_TENSOR_MAP_INTERLEAVE_32B) == 2);
static_assert(int(CU_TENSOR_MAP_SWIZZLE_32B) == 1 && int(CU_TENSOR_MAP_SWIZZLE_128B) == 3);
static_assert(int(CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B) == 4 && int(CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B) == 6);
static_assert(int(CU_TENSOR_MAP_L2_PROMOTION_L2_64B) == 1 && int(CU_TENSOR_MAP_L2_PROMOTION_L2_256B) == 3);
static_assert(int(CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA) == 1);
static_assert(sizeof(CUdeviceptr) == sizeof(uint64_t));
static_assert(int(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES) == kFunctionSharedSizeBytes);
static_assert(int(CU_FUNC_ATTRIBUTE_NUM_REGS) == kFunctionRegisters);
static_assert(int(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) == kDeviceMultiprocessorCount);
static_assert(int(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) ==
              kFunctionMaxDynamicSharedSizeBytes);
static_assert(int(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) ==
              kFunctionNonPortableClusterSizeAllowed);
static_assert(int(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) == kDeviceComputeCapabilityMajor);
static_assert(int(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR) == kDeviceComputeCapabilityMinor);
static_assert(int(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) ==
              kDeviceMaxSharedMemoryPerBlockOptin);
// The numbers that driver.cc explains.
static_assert(CUDA_ERROR_INVALID_VALUE == 1 && CUDA_ERROR_OUT_OF_MEMORY == 2);
static_assert(CUDA_ERROR_NO_DEVICE == 100 && CUDA_ERROR_INVALID_IMAGE == 200);
static_assert(CUDA_ERROR_NO_BINARY_FOR_GPU == 209 && CUDA_ERROR_INVALID_PTX == 218);
static_assert(CUDA_ERROR_INVALID_SOURCE == 300 && CUDA_ERROR_NOT_FOUND == 500);
static_assert(CUDA_ERROR_ILLEGAL_ADDRESS == 700 && CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES == 701);
static_assert(CUDA_ERROR_LAUNCH_TIMEOUT == 702 && CUDA_ERROR_ASSERT == 710);
static_assert(CUDA_ERROR_HARDWARE_STACK_ERROR == 714 && CUDA_ERROR_ILLEGAL_INSTRUCTION == 715);
static_assert(CUDA_ERROR_MISALIGNED_ADDRESS == 716 && CUDA_ERROR_INVALID_ADDRESS_SPACE == 717);
static_assert(CUDA_ERROR_INVALID_PC == 718 && CUDA_ERROR_LAUNCH_FAILED == 719);
static_assert(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE == kErrorCooperativeLaunchTooLarge);
static_assert(CUDA_ERROR_INVALID_CLUSTER_SIZE == 912);
