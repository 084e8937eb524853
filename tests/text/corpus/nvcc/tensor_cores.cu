// Matrix products of a warp: fragments that wmma loads, in three types.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

template <typename IN, typename OUT>
__device__ void product(const IN *a, const IN *b, OUT *c, int k) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, IN, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, IN, wmma::col_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, 16, OUT> sum;
    wmma::fill_fragment(sum, static_cast<OUT>(0));
    for (int step = 0; step < k; step += 16) {
        wmma::load_matrix_sync(left, a + step, k);
        wmma::load_matrix_sync(right, b + step, k);
        wmma::mma_sync(sum, left, right, sum);
    }
    wmma::store_matrix_sync(c, sum, 16, wmma::mem_row_major);
}

extern "C" __global__ void halves(const __half *a, const __half *b, float *c, int k) {
    product<__half, float>(a, b, c, k);
}

extern "C" __global__ void brains(const __nv_bfloat16 *a, const __nv_bfloat16 *b, float *c, int k) {
    product<__nv_bfloat16, float>(a, b, c, k);
}

extern "C" __global__ void bytes(const signed char *a, const signed char *b, int *c, int k) {
    product<signed char, int>(a, b, c, k);
}
