    ring = ring == @LAST_RING@u ? 0u : ring + 1u;
#if defined(ZF_WARPGROUP)
@START_HERE@
    zf_await(&full[taken % @STAGES@u], taken / @STAGES@u & 1u);
#else
    ZF_BARRIER();
@NUMBERS_SLOWLY@
    ZF_BARRIER();
#endif
    @STARTS@
    float sum[2][16][4];
    ZF_UNROLL for (int m = 0; m < 2; m++) ZF_UNROLL for (int n = 0; n < 16; n++) ZF_UNROLL for (int e = 0; e < 4; e++) sum[m][n][e] = @FIRST_SUM@;
#if defined(ZF_WARPGROUP)
    ZF_UNROLL_BY(1) for (zf_u32 k = 0u; k < @SLICES@u; k++) {
        const zf_u32 stage = taken % @STAGES@u;
        zf_await(&full[stage], taken / @STAGES@u & 1u);
        zf_products_begin();
        @MULTIPLY@
        zf_products_end();
        // The slice before is done with: the matrix units have work while the next one is fetched to its place.
        if (k > 0u) {
            zf_products_before();
            if (tid % 32u == 0u) zf_arrive(&empty[(taken - 1u) % @STAGES@u]);
            if (tid == 0u && @MORE@)
@FETCH@
        }
        taken++;
    }
    zf_products_all(sum);
    if (tid % 32u == 0u) zf_arrive(&empty[(taken - 1u) % @STAGES@u]);
@AFTER_LAST@
#else
    ZF_UNROLL_BY(1) for (zf_u32 k = 0u; k < @SLICES@u; k++) {
        const zf_u32 stage = 0u;
        ZF_BARRIER();
        for (zf_u32 g = 0u; g < @STEP@; g++) {
@COPY@
        }
        ZF_BARRIER();
        @MULTIPLY_SLOWLY@
    }
#endif
