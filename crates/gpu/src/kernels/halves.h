// Slices of 32 components of 128 rows of both sides, multiplied: group g of a row stands at g * 128 + (row ^ 2 g).
#define ZF_GROUP(slice, g, row) (slice)[(g) * 128u + ((row) ^ (g) * 2u)]
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define ZF_PRODUCT(name, type) \
    ZF_FN void zf_product_##name(float* sum, zf_u32 a0, zf_u32 a1, zf_u32 a2, zf_u32 a3, zf_u32 b0, zf_u32 b1) { \
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." type "." type ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
            : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1)); \
    }
ZF_PRODUCT(f16, "f16")
ZF_PRODUCT(bf16, "bf16")
// Both sides number components alike, so a lane's group of 8 serves two products of 16 components.
#define ZF_MULTIPLY(name) \
    ZF_FN void zf_multiply_##name(const zf_u4* x, const zf_u4* y, zf_u32 down, zf_u32 over, zf_u32 group, zf_u32 lane, float (*sum)[8][4]) { \
        zf_u4 b[8]; \
        ZF_UNROLL for (int n = 0; n < 8; n++) b[n] = ZF_GROUP(y, lane, over + n * 8u + group); \
        ZF_UNROLL for (int m = 0; m < 4; m++) { \
            const zf_u4 p = ZF_GROUP(x, lane, down + m * 16u + group), q = ZF_GROUP(x, lane, down + m * 16u + 8u + group); \
            ZF_UNROLL for (int n = 0; n < 8; n++) zf_product_##name(sum[m][n], p.x, q.x, p.y, q.y, b[n].x, b[n].y); \
            ZF_UNROLL for (int n = 0; n < 8; n++) zf_product_##name(sum[m][n], p.z, q.z, p.w, q.w, b[n].z, b[n].w); \
        } \
    }
#else
ZF_FN float zf_value_bf16(zf_u32 bits) { return zf_of_bits_f(bits << 16); }
ZF_FN float zf_value_f16(zf_u32 bits) {
    const zf_u32 rest = (bits & 0x7fffu) << 13, sign = (bits & 0x8000u) << 16;
    const float finite = zf_of_bits_f(rest) * 5.192296858534828e33f;
    return zf_of_bits_f((rest >= 0x0f800000u ? rest | 0x7f800000u : zf_bits_f(finite)) | sign);
}
#define ZF_PAIR(name, a, b, to) \
    to = zf_fma_f(zf_value_##name((a) & 0xffffu), zf_value_##name((b) & 0xffffu), to); \
    to = zf_fma_f(zf_value_##name((a) >> 16), zf_value_##name((b) >> 16), to);
#define ZF_MULTIPLY(name) \
    ZF_FN void zf_multiply_##name(ZF_SHARED_ARG const zf_u4* x, ZF_SHARED_ARG const zf_u4* y, zf_u32 down, zf_u32 over, zf_u32 group, zf_u32 lane, float (*sum)[8][4]) { \
        for (zf_u32 g = 0u; g < 4u; g++) for (zf_u32 m = 0u; m < 4u; m++) for (zf_u32 n = 0u; n < 8u; n++) for (zf_u32 e = 0u; e < 4u; e++) { \
            const zf_u4 a = ZF_GROUP(x, g, down + m * 16u + e / 2u * 8u + group), b = ZF_GROUP(y, g, over + n * 8u + lane * 2u + e % 2u); \
            float total = sum[m][n][e]; \
            ZF_PAIR(name, a.x, b.x, total) ZF_PAIR(name, a.y, b.y, total) ZF_PAIR(name, a.z, b.z, total) ZF_PAIR(name, a.w, b.w, total) \
            sum[m][n][e] = total; \
        } \
    }
#endif
ZF_MULTIPLY(f16)
ZF_MULTIPLY(bf16)
