// Kernels of everyday CUDA: a reduction over warps and shared memory, a histogram, a switch,
// functions that are called and that are called through a table, printf, and local memory.
#include <cstdio>

__device__ unsigned long long launches;
__device__ int counter = 7;
__constant__ float weights[5] = {0.5f, 0.25f, 0.125f, 0.0625f, 0.03125f};
__device__ __align__(16) double anchors[3] = {1.0, -2.5, 1e300};

__device__ __noinline__ float polynomial(float x, int degree) {
    float sum = 0.0f;
    for (int i = 0; i < degree; ++i) sum = sum * x + weights[i % 5];
    return sum;
}

struct Pair { int key; double value; };

__device__ __noinline__ Pair swap_if(Pair a, bool yes) {
    if (yes) { a.key = -a.key; a.value = anchors[a.key & 1] - a.value; }
    return a;
}

__device__ int add_one(int a) { return a + 1; }
__device__ int times_seven(int a) { return a * 7; }
__device__ int shifted(int a) { return a << 3; }
typedef int (*Operation)(int);
__device__ Operation operations[3] = {add_one, times_seven, shifted};
__device__ int *where = &counter;

extern __shared__ float dynamic_tile[];

template <typename T>
__device__ T warp_sum(T value) {
    for (int offset = 16; offset > 0; offset >>= 1)
        value += __shfl_xor_sync(0xffffffffu, value, offset);
    return value;
}

extern "C" __global__ void __launch_bounds__(256, 2) block_sum(const float *x, float *y, int n) {
    __shared__ float partial[8];
    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += x[i];
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < 8 ? partial[threadIdx.x] : 0.0f;
        sum = warp_sum(sum);
        if (threadIdx.x == 0) atomicAdd(y, sum);
    }
}

extern "C" __global__ void histogram(const unsigned char *bytes, unsigned *bins, size_t n) {
    __shared__ unsigned local[256];
    local[threadIdx.x] = 0;
    __syncthreads();
    for (size_t i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&local[bytes[i]], 1u);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
    if (threadIdx.x == 0) atomicAdd(&launches, 1ull);
}

extern "C" __global__ void interpreter(const int *program, int *registers, int n) {
    int a = registers[0], b = registers[1];
    for (int i = 0; i < n; ++i) {
        switch (program[i]) {
            case 0: a += b; break;
            case 1: a -= b; break;
            case 2: a ^= b << 3; break;
            case 3: b = a * 5; break;
            case 4: b = ~b; break;
            case 5: a = max(a, b); break;
            case 6: a = __popc(a); break;
            case 7: b = __clz(a | 1); break;
            case 8: a = a / (b | 1); break;
            case 9: registers[i] = a; break;
            default: return;
        }
    }
    registers[0] = a;
    registers[1] = b;
}

extern "C" __global__ void calls(Pair *pairs, float *floats, int which) {
    int i = threadIdx.x;
    pairs[i] = swap_if(pairs[i], which > 2);
    floats[i] = polynomial(floats[i], which);
    pairs[i].key += operations[which % 3](pairs[i].key) + *where;
    dynamic_tile[i] = floats[i];
    __syncthreads();
    floats[i] = dynamic_tile[i ^ 1];
    if (i == 0) printf("%d of %f\n", pairs[0].key, floats[0]);
}

extern "C" __global__ void spills(int *out, int n) {
    int stack[64];
    for (int i = 0; i < 64; ++i) stack[i] = out[i];
    for (int i = 0; i < n; ++i) stack[(stack[i & 63] + i) & 63] += stack[(i * 7) & 63];
    for (int i = 0; i < 64; ++i) out[i] = stack[i];
}

extern "C" __global__ void doubles(const double *x, double *y, long long n) {
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[i] = sqrt(x[i]) / (1.0 + x[i] * x[i]) + fabs(x[i]) + floor(x[i]) + (double)(int)x[i];
}
