// Inline assembly as libraries write it: scopes with their own registers and labels.
#include <cstdint>

__device__ __forceinline__ uint32_t shared_address(const void *p) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

__device__ __forceinline__ void wait(uint32_t barrier, uint32_t parity) {
    asm volatile(
        "{\n"
        ".reg .pred done;\n"
        "again:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@done bra finished;\n"
        "bra again;\n"
        "finished:\n"
        "}" ::"r"(barrier), "r"(parity) : "memory");
}

__device__ __forceinline__ uint32_t lane_mask() {
    uint32_t mask;
    asm("{ .reg .b32 t; mov.u32 t, %%lanemask_lt; popc.b32 %0, t; }" : "=r"(mask));
    return mask;
}

extern "C" __global__ void pipeline(const float4 *x, float4 *y, int n) {
    __shared__ alignas(128) float4 tile[2][128];
    __shared__ uint64_t full[2];
    if (threadIdx.x == 0) {
        for (int i = 0; i < 2; ++i)
            asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&full[i])), "r"(1));
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    for (int stage = 0; stage < n; ++stage) {
        uint32_t bar = shared_address(&full[stage & 1]);
        if (threadIdx.x == 0) {
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(2048));
            asm volatile(
                "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                ::"r"(shared_address(tile[stage & 1])), "l"(x + stage * 128), "r"(2048), "r"(bar)
                : "memory");
        }
        wait(bar, (stage >> 1) & 1);
        y[stage * 128 + threadIdx.x] = tile[stage & 1][threadIdx.x ^ lane_mask()];
        __syncthreads();
    }
}
