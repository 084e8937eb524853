// Reductions over tiles of several warps, which exchange through shared memory with a barrier of their own.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

extern "C" __global__ void tiles(const float *in, float *out) {
    __shared__ cg::block_tile_memory<256> memory;
    cg::thread_block block = cg::this_thread_block(memory);
    auto tile = cg::tiled_partition<128>(block);
    float value = in[block.thread_rank()];
    float sum = cg::reduce(tile, value, cg::plus<float>());
    float most = cg::reduce(tile, value, cg::greater<float>());
    out[block.thread_rank()] = sum + most;
}
