// Compiled at run time, without headers: half precision by hand, loops with breaks, local arrays.
extern "C" __global__ void sort_rows(unsigned *rows, int length) {
    unsigned local[16];
    unsigned *row = rows + (blockIdx.x * blockDim.x + threadIdx.x) * length;
    for (int i = 0; i < length && i < 16; ++i) local[i] = row[i];
    for (int i = 1; i < length; ++i) {
        unsigned key = local[i];
        int j = i - 1;
        while (j >= 0) {
            if (local[j] <= key) break;
            local[j + 1] = local[j];
            --j;
        }
        local[j + 1] = key;
    }
    for (int i = 0; i < length && i < 16; ++i) row[i] = local[i];
}

extern "C" __global__ void packed(const uint4 *in, uint2 *out, long long *wide) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    uint4 four = in[at];
    unsigned low = __byte_perm(four.x, four.y, 0x5410), high = __byte_perm(four.z, four.w, 0x7632);
    unsigned sum;
    asm volatile("add.rn.f16x2 %0, %1, %2;" : "=r"(sum) : "r"(low), "r"(high));
    out[at] = make_uint2(sum, __funnelshift_l(low, high, 7));
    wide[at] = __mul64hi(static_cast<long long>(low) << 20, static_cast<long long>(high)) + clock64();
}
