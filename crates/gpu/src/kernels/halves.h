// Slices of four groups of 128 rows of both sides, multiplied: 32 components of 16 bits, or 16 of 32 bits. Group g of a row stands at
// g * 128 + (row ^ 2 g). The lanes of a warp have groups of their own, so the place of a row is one number of a lane and a constant.
// "Paired" rows r and r + 8 of x share their two places: first the lower halves of both groups by words, then the upper ones, as a product
// takes them.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define ZF_PRODUCT(name, shape, type) \
    ZF_FN void zf_product_##name(float* sum, zf_u32 a0, zf_u32 a1, zf_u32 a2, zf_u32 a3, zf_u32 b0, zf_u32 b1) { \
        asm volatile("mma.sync.aligned." shape ".row.col.f32." type "." type ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
            : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1)); \
    }
ZF_PRODUCT(f16, "m16n8k16", "f16")
ZF_PRODUCT(bf16, "m16n8k16", "bf16")
ZF_PRODUCT(tf32, "m16n8k8", "tf32")
// The upper 11 bits of a number, and the rest of it, which is exact before it is rounded to 11 bits too.
ZF_FN zf_u32 zf_upper(zf_u32 bits) { return (bits + 0x1000u) & 0xffffe000u; }
ZF_FN zf_u32 zf_rest(zf_u32 bits, zf_u32 upper) { return zf_upper(__float_as_uint(__uint_as_float(bits) - __uint_as_float(upper))); }
// Of the three products the small ones come first.
ZF_FN void zf_product_tf32x3(float* sum, zf_u32 a0, zf_u32 a1, zf_u32 a2, zf_u32 a3, zf_u32 b0, zf_u32 b1) {
    const zf_u32 c0 = zf_upper(a0), c1 = zf_upper(a1), c2 = zf_upper(a2), c3 = zf_upper(a3), d0 = zf_upper(b0), d1 = zf_upper(b1);
    zf_product_tf32(sum, zf_rest(a0, c0), zf_rest(a1, c1), zf_rest(a2, c2), zf_rest(a3, c3), d0, d1);
    zf_product_tf32(sum, c0, c1, c2, c3, zf_rest(b0, d0), zf_rest(b1, d1));
    zf_product_tf32(sum, c0, c1, c2, c3, d0, d1);
}
// Both sides number components alike, so a lane's group serves two products.
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
#define ZF_WORD_f16(a, b, to) ZF_PAIR(f16, a, b, to)
#define ZF_WORD_bf16(a, b, to) ZF_PAIR(bf16, a, b, to)
#define ZF_WORD_tf32(a, b, to) to = zf_fma_f(zf_of_bits_f(a), zf_of_bits_f(b), to);
#define ZF_WORD_tf32x3(a, b, to) ZF_WORD_tf32(a, b, to)
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
    ZF_WORD_##name(low ? q.x : p.x, b.x, to) ZF_WORD_##name(low ? q.y : p.y, b.y, to) ZF_WORD_##name(low ? q.z : p.z, b.z, to) ZF_WORD_##name(low ? q.w : p.w, b.w, to)
#define ZF_ADD_paired(name, low, p, q, b, to) \
    ZF_WORD_##name(low ? p.y : p.x, b.x, to) ZF_WORD_##name(low ? p.w : p.z, b.y, to) ZF_WORD_##name(low ? q.y : q.x, b.z, to) ZF_WORD_##name(low ? q.w : q.z, b.w, to)
#endif
ZF_MULTIPLY(f16, )
ZF_MULTIPLY(bf16, )
ZF_MULTIPLY(f16, _paired)
ZF_MULTIPLY(bf16, _paired)
ZF_MULTIPLY(tf32, _paired)
ZF_MULTIPLY(tf32x3, _paired)
