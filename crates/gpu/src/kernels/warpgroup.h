// Slices of 128 rows of both sides, multiplied by a warpgroup: its four warps have 128 x 128 cells, 2 x 16 products of 64 x 8. Group g of row r
// stands at g * 128 + r, as rows are packed: eight rows of a group are a core matrix of 128 bytes, which matrix units read from shared memory.
// One thread starts copies of whole slices. Barriers in shared memory tell when a slice is there, and when all warps are done with it.
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define ZF_WARPGROUP 1
ZF_FN zf_u32 zf_place(const void* at) { return (zf_u32)__cvta_generic_to_shared(at); }
// Core matrices along the components are 128 rows apart, along the rows they follow each other.
ZF_FN zf_u64 zf_matrix(const zf_u4* at) { return (zf_u64)((zf_place(at) & 0x3ffffu) >> 4) | 2048ull >> 4 << 16 | 128ull >> 4 << 32; }
#define ZF_4(s, i) "+f"(s[i]), "+f"(s[i + 1]), "+f"(s[i + 2]), "+f"(s[i + 3])
#define ZF_16(s, i) ZF_4(s, i), ZF_4(s, i + 4), ZF_4(s, i + 8), ZF_4(s, i + 12)
#define ZF_GROUP_PRODUCT(name, shape, type, turns) \
    ZF_FN void zf_group_product_##name(float* sum, zf_u64 x, zf_u64 y) { \
        asm volatile("wgmma.mma_async.sync.aligned." shape ".f32." type "." type " {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15," \
            "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47," \
            "%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63}, %64, %65, 1, 1, 1" turns ";" \
            : ZF_16(sum, 0), ZF_16(sum, 16), ZF_16(sum, 32), ZF_16(sum, 48) : "l"(x), "l"(y)); \
    }
ZF_GROUP_PRODUCT(f16, "m64n128k16", "f16", ", 0, 0")
ZF_GROUP_PRODUCT(bf16, "m64n128k16", "bf16", ", 0, 0")
ZF_GROUP_PRODUCT(tf32, "m64n128k8", "tf32", "")
// Sums belong to the matrix units from here on, until they are awaited.
ZF_FN void zf_products_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
ZF_FN void zf_products_end() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// All slices but the last, and all.
ZF_FN void zf_products_before() { asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory"); }
ZF_FN void zf_products_all(float (*sum)[16][4]) {
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    ZF_UNROLL for (int i = 0; i < 128; i++) asm volatile("" : "+f"(sum[0][0][i]) :: "memory");
}
ZF_FN void zf_barrier_make(zf_u64* at, zf_u32 arrivals) { asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(zf_place(at)), "r"(arrivals) : "memory"); }
ZF_FN void zf_barriers_made() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
ZF_FN void zf_expect(zf_u64* at, zf_u32 bytes) { asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(zf_place(at)), "r"(bytes) : "memory"); }
ZF_FN void zf_arrive(zf_u64* at) { asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(zf_place(at)) : "memory"); }
ZF_FN void zf_await(zf_u64* at, zf_u32 parity) {
    zf_u32 there = 0u;
    while (there == 0u)
        asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}" : "=r"(there) : "r"(zf_place(at)), "r"(parity) : "memory");
}
// What threads wrote there before a barrier is over when a copy writes there.
ZF_FN void zf_written() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
ZF_FN void zf_fetch(void* to, const void* from, zf_u32 bytes, zf_u64* at) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
        ::"r"(zf_place(to)), "l"(from), "r"(bytes), "r"(zf_place(at)) : "memory");
}
#define ZF_GROUP_MULTIPLY(name) \
    ZF_FN void zf_group_multiply_##name(const zf_u4* x, const zf_u4* y, zf_u32 groups, float (*sum)[16][4]) { \
        ZF_UNROLL for (zf_u32 g = 0u; g < groups; g += 2u) \
            ZF_UNROLL for (int m = 0; m < 2; m++) zf_group_product_##name(&sum[m][0][0], zf_matrix(x + g * 128u + m * 64), zf_matrix(y + g * 128u)); \
    }
#else
#define ZF_GROUP_MULTIPLY(name) \
    ZF_FN void zf_group_multiply_##name(ZF_SHARED_ARG const zf_u4* x, ZF_SHARED_ARG const zf_u4* y, zf_u32 groups, zf_u32 down, zf_u32 group, zf_u32 lane, float (*sum)[16][4]) { \
        for (zf_u32 g = 0u; g < groups; g++) for (zf_u32 m = 0u; m < 2u; m++) for (zf_u32 n = 0u; n < 16u; n++) for (zf_u32 e = 0u; e < 4u; e++) { \
            const zf_u4 a = x[g * 128u + down + m * 64u + e / 2u * 8u + group], b = y[g * 128u + n * 8u + lane * 2u + e % 2u]; \
            float total = sum[m][n][e]; \
            ZF_WORD_##name(a.x, b.x, total) ZF_WORD_##name(a.y, b.y, total) ZF_WORD_##name(a.z, b.z, total) ZF_WORD_##name(a.w, b.w, total) \
            sum[m][n][e] = total; \
        } \
    }
#endif
ZF_GROUP_MULTIPLY(f16)
ZF_GROUP_MULTIPLY(bf16)
ZF_GROUP_MULTIPLY(tf32)
