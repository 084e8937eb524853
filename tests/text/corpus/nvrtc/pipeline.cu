// Compiled at run time: copies that overlap with work, barriers that count bytes, clusters.
#include <cuda/barrier>
#include <cuda/ptx>

using barrier = cuda::barrier<cuda::thread_scope_block>;

extern "C" __global__ void staged(const float *in, float *out, int tiles) {
    __shared__ alignas(128) float tile[2][256];
    __shared__ barrier full[2];
    if (threadIdx.x == 0) {
        init(&full[0], blockDim.x);
        init(&full[1], blockDim.x);
    }
    __syncthreads();
    float sum = 0;
    for (int i = 0; i < tiles; ++i) {
        barrier &bar = full[i & 1];
        cuda::memcpy_async(&tile[i & 1][threadIdx.x], in + i * 256 + threadIdx.x, sizeof(float), bar);
        bar.arrive_and_wait();
        sum += tile[i & 1][255 - threadIdx.x];
        __syncthreads();
    }
    out[threadIdx.x] = sum;
}
