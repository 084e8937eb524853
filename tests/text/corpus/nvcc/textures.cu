// Textures and surfaces as programs use them, by CUDA's objects.

// A picture turned by an angle: normalized coordinates, filtered.
extern "C" __global__ void turn(cudaTextureObject_t picture, float *out, int width, int height,
                                float cosine, float sine) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x >= width) return;
    float u = (x + 0.5f) / width - 0.5f, v = (y + 0.5f) / height - 0.5f;
    out[y * width + x] = tex2D<float>(picture, u * cosine - v * sine + 0.5f,
                                      u * sine + v * cosine + 0.5f);
}

// Colours of bytes in a surface, each the other way round.
extern "C" __global__ void inverted(cudaSurfaceObject_t from, cudaSurfaceObject_t to, int width) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x >= width) return;
    uchar4 colour;
    surf2Dread(&colour, from, x * 4, y);
    colour = make_uchar4(255 - colour.x, 255 - colour.y, 255 - colour.z, colour.w);
    surf2Dwrite(colour, to, x * 4, y);
}

// y[i] = table[indices[i]], of a table in linear memory.
extern "C" __global__ void looked_up(cudaTextureObject_t table, const int *indices, float2 *y,
                                     int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = tex1Dfetch<float2>(table, indices[i]);
}

// The sum of what is around each voxel: offsets are coordinates in a volume.
extern "C" __global__ void around(cudaTextureObject_t volume, float *out, int width, int height) {
    int x = threadIdx.x, y = blockIdx.x, z = blockIdx.y;
    float sum = 0;
    for (int k = -1; k <= 1; ++k)
        for (int j = -1; j <= 1; ++j)
            for (int i = -1; i <= 1; ++i)
                sum += tex3D<float>(volume, x + i + 0.5f, y + j + 0.5f, z + k + 0.5f);
    out[(z * height + y) * width + x] = sum;
}
