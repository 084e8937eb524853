// What programs use beside arithmetic: templates, functions that stay functions, shared memory of
// both kinds, atomics of every size, votes, groups, printf, constant and global variables.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cstdio>

namespace cg = cooperative_groups;

__constant__ float coefficients[4] = {1.0f, 0.5f, 0.25f, 0.125f};
__device__ unsigned long long visits = 3;

template <typename T> struct Pair {
    T first, second;
};

template <typename T, int STEPS> __device__ __noinline__ T polynomial(T x) {
    T sum = 0;
    for (int i = 0; i < STEPS; ++i) sum = sum * x + static_cast<T>(coefficients[i & 3]);
    return sum;
}

template <typename T> __device__ __noinline__ Pair<T> ordered(Pair<T> given) {
    return given.second < given.first ? Pair<T>{given.second, given.first} : given;
}

extern "C" __global__ void scan(const int *in, int *out, int n) {
    extern __shared__ int dynamic[];
    __shared__ int totals[32];
    int thread = threadIdx.x, at = blockIdx.x * blockDim.x + thread;
    int value = at < n ? in[at] : 0;
    for (int step = 1; step < 32; step *= 2) {
        int other = __shfl_up_sync(0xffffffffu, value, step);
        if ((thread & 31) >= step) value += other;
    }
    if ((thread & 31) == 31) totals[thread / 32] = value;
    dynamic[thread] = value;
    __syncthreads();
    for (int warp = 0; warp < thread / 32; ++warp) value += totals[warp];
    if (at < n) out[at] = value + dynamic[thread ^ 1] * 0;
}

extern "C" __global__ void count(const unsigned char *in, unsigned *histogram, float *sums,
                                 double *wide, unsigned short *flags, int n) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= n) return;
    unsigned value = in[at];
    atomicAdd(&histogram[value], 1u);
    atomicMax(&histogram[256], value);
    atomicXor(&histogram[257], value);
    atomicInc(&histogram[258], 1000u);
    atomicAdd(&sums[value & 7], 1.5f);
    atomicAdd(&wide[value & 7], 2.5);
    atomicCAS(&flags[value], static_cast<unsigned short>(0), static_cast<unsigned short>(1));
    atomicAdd(&visits, 1ull);
    unsigned active = __ballot_sync(__activemask(), value > 128u);
    if (__popc(active) > 16) atomicExch(&histogram[259], active);
    __threadfence();
}

extern "C" __global__ void groups(const float *in, float *out) {
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<16> tile = cg::tiled_partition<16>(block);
    float value = in[block.group_index().x * block.size() + block.thread_rank()];
    float sum = cg::reduce(tile, value, cg::plus<float>());
    float most = cg::reduce(tile, value, cg::greater<float>());
    block.sync();
    if (tile.thread_rank() == 0) out[block.thread_rank() / 16] = sum / most;
}

extern "C" __global__ void calls(const float *in, const double *wide, float *out, int n) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= n) return;
    float (*chosen)(float) = in[at] > 0 ? polynomial<float, 4> : polynomial<float, 7>;
    Pair<double> pair = ordered(Pair<double>{wide[at], polynomial<double, 3>(wide[at])});
    float result = chosen(in[at]) + static_cast<float>(pair.first - pair.second);
    if (result != result) printf("element %d of %d is %f\n", at, n, result);
    switch (at % 5) {
    case 0: result = sinf(result); break;
    case 1: result = expf(result); break;
    case 2: result = rsqrtf(fabsf(result)); break;
    case 3: result = fmaf(result, result, 1.0f); break;
    }
    out[at] = result;
}
