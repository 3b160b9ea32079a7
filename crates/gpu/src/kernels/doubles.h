// Slices of 8 components of 128 rows of both sides in double precision, multiplied: a group is two components, group g of a row stands at
// g * 128 + (row ^ 2 g). Each of eight warps has 32 x 64 cells, as 2 x 8 products of 16 x 8 cells: more sums would not fit its registers.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
ZF_FN double zf_lower(zf_u4 v) { return __hiloint2double((int)v.y, (int)v.x); }
ZF_FN double zf_higher(zf_u4 v) { return __hiloint2double((int)v.w, (int)v.z); }
#if __CUDA_ARCH__ >= 900
ZF_FN void zf_product_f64(double* sum, zf_u4 p, zf_u4 q, zf_u4 b) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+d"(sum[0]), "+d"(sum[1]), "+d"(sum[2]), "+d"(sum[3])
        : "d"(zf_lower(p)), "d"(zf_lower(q)), "d"(zf_higher(p)), "d"(zf_higher(q)), "d"(zf_lower(b)), "d"(zf_higher(b)));
}
#else
ZF_FN void zf_product_f64_8(double* sum, double a, double b) {
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};" : "+d"(sum[0]), "+d"(sum[1]) : "d"(a), "d"(b));
}
ZF_FN void zf_product_f64(double* sum, zf_u4 p, zf_u4 q, zf_u4 b) {
    zf_product_f64_8(sum, zf_lower(p), zf_lower(b));
    zf_product_f64_8(sum + 2, zf_lower(q), zf_lower(b));
    zf_product_f64_8(sum, zf_higher(p), zf_higher(b));
    zf_product_f64_8(sum + 2, zf_higher(q), zf_higher(b));
}
#endif
ZF_FN void zf_multiply_f64(const zf_u4* x, const zf_u4* y, zf_u32 down, zf_u32 over, zf_u32 group, zf_u32 lane, double (*sum)[8][4]) {
    const zf_u32 at = lane * 128u + (group ^ lane * 2u);
    zf_u4 b[8];
    ZF_UNROLL for (int n = 0; n < 8; n++) b[n] = y[at + over + n * 8u];
    ZF_UNROLL for (int m = 0; m < 2; m++) {
        const zf_u4 p = x[at + down + m * 16u], q = x[at + down + m * 16u + 8u];
        ZF_UNROLL for (int n = 0; n < 8; n++) zf_product_f64(sum[m][n], p, q, b[n]);
    }
}
#else
ZF_FN double zf_double(zf_u32 low, zf_u32 high) { return zf_of_bits((zf_u64)high << 32 | low); }
ZF_FN void zf_multiply_f64(ZF_SHARED_ARG const zf_u4* x, ZF_SHARED_ARG const zf_u4* y, zf_u32 down, zf_u32 over, zf_u32 group, zf_u32 lane, double (*sum)[8][4]) {
    for (zf_u32 g = 0u; g < 4u; g++) for (zf_u32 m = 0u; m < 2u; m++) for (zf_u32 n = 0u; n < 8u; n++) for (zf_u32 e = 0u; e < 4u; e++) {
        const zf_u4 a = x[g * 128u + ((down + m * 16u + e / 2u * 8u + group) ^ g * 2u)], b = y[g * 128u + ((over + n * 8u + lane * 2u + e % 2u) ^ g * 2u)];
        sum[m][n][e] = fma(zf_double(a.z, a.w), zf_double(b.z, b.w), fma(zf_double(a.x, a.y), zf_double(b.x, b.y), sum[m][n][e]));
    }
}
#endif
