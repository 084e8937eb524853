// Compiled with -G: every variable in memory or a register of its own, and sections of DWARF.
__device__ __noinline__ int clamp(int value, int low, int high) {
    int result = value < low ? low : value;
    return result > high ? high : result;
}

extern "C" __global__ void clamped(const int *x, int *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int value = x[i];
        y[i] = clamp(value, -100, 100);
    }
}
