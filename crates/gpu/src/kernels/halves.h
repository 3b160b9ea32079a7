// Slices of 32 components of 128 rows of both sides, multiplied: group g of a row stands at g * 128 + (row ^ 2 g). The lanes of a warp have
// groups of their own, so the place of a row is one number of a lane and a constant.
// "Paired" rows r and r + 8 of x share their two places: first components 0 to 3 of both by twos, then 4 to 7, as a product takes them.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define ZF_PRODUCT(name, type) \
    ZF_FN void zf_product_##name(float* sum, zf_u32 a0, zf_u32 a1, zf_u32 a2, zf_u32 a3, zf_u32 b0, zf_u32 b1) { \
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." type "." type ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
            : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1)); \
    }
ZF_PRODUCT(f16, "f16")
ZF_PRODUCT(bf16, "bf16")
// Both sides number components alike, so a lane's group of 8 serves two products of 16 components.
#define ZF_MULTIPLY(name, paired) \
    ZF_FN void zf_multiply_##name##paired(const zf_u4* x, const zf_u4* y, zf_u32 down, zf_u32 over, zf_u32 group, zf_u32 lane, float (*sum)[8][4]) { \
        const zf_u32 at = lane * 128u + (group ^ lane * 2u); \
        zf_u4 b[8]; \
        ZF_UNROLL for (int n = 0; n < 8; n++) b[n] = y[at + over + n * 8u]; \
        ZF_UNROLL for (int m = 0; m < 4; m++) { \
            const zf_u4 p = x[at + down + m * 16u], q = x[at + down + m * 16u + 8u]; \
            ZF_UNROLL for (int n = 0; n < 8; n++) ZF_FIRST##paired(name, sum[m][n], p, q, b[n]); \
            ZF_UNROLL for (int n = 0; n < 8; n++) ZF_SECOND##paired(name, sum[m][n], p, q, b[n]); \
        } \
    }
#define ZF_FIRST(name, sum, p, q, b) zf_product_##name(sum, p.x, q.x, p.y, q.y, b.x, b.y)
#define ZF_SECOND(name, sum, p, q, b) zf_product_##name(sum, p.z, q.z, p.w, q.w, b.z, b.w)
#define ZF_FIRST_paired(name, sum, p, q, b) zf_product_##name(sum, p.x, p.y, p.z, p.w, b.x, b.y)
#define ZF_SECOND_paired(name, sum, p, q, b) zf_product_##name(sum, q.x, q.y, q.z, q.w, b.z, b.w)
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
#define ZF_MULTIPLY(name, paired) \
    ZF_FN void zf_multiply_##name##paired(ZF_SHARED_ARG const zf_u4* x, ZF_SHARED_ARG const zf_u4* y, zf_u32 down, zf_u32 over, zf_u32 group, zf_u32 lane, float (*sum)[8][4]) { \
        for (zf_u32 g = 0u; g < 4u; g++) for (zf_u32 m = 0u; m < 4u; m++) for (zf_u32 n = 0u; n < 8u; n++) for (zf_u32 e = 0u; e < 4u; e++) { \
            const zf_u32 upper = g * 128u + ((down + m * 16u + group) ^ g * 2u); \
            const zf_u4 p = x[upper], q = x[upper + 8u], b = y[g * 128u + ((over + n * 8u + lane * 2u + e % 2u) ^ g * 2u)]; \
            float total = sum[m][n][e]; \
            ZF_ADD##paired(name, e / 2u, p, q, b, total) \
            sum[m][n][e] = total; \
        } \
    }
#define ZF_ADD(name, low, p, q, b, to) \
    ZF_PAIR(name, low ? q.x : p.x, b.x, to) ZF_PAIR(name, low ? q.y : p.y, b.y, to) ZF_PAIR(name, low ? q.z : p.z, b.z, to) ZF_PAIR(name, low ? q.w : p.w, b.w, to)
#define ZF_ADD_paired(name, low, p, q, b, to) \
    ZF_PAIR(name, low ? p.y : p.x, b.x, to) ZF_PAIR(name, low ? p.w : p.z, b.y, to) ZF_PAIR(name, low ? q.y : q.x, b.z, to) ZF_PAIR(name, low ? q.w : q.z, b.w, to)
#endif
ZF_MULTIPLY(f16, )
ZF_MULTIPLY(bf16, )
ZF_MULTIPLY(f16, _paired)
ZF_MULTIPLY(bf16, _paired)
