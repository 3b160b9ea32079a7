        if (whole) {
            ZF_UNROLL_BY(@UNROLL@) for (zf_u32 jj = 0; jj < 128u; jj += @STEP@u) {
                @BREAD@
                @OPEN@
                ZF_UNROLL for (zf_u32 u = 0; u < @STEP@u; u++) {
                    const zf_u32 b = base + jj + u;
                    @BROW@
                    ZF_UNROLL for (int q = 0; q < @IP@; q++) {
@BODY@
                    }
                }
                @SETTLE@
            }
        } else {
            for (zf_u32 jj = 0; jj < count; jj += @STEP@u) {
                @BREAD@
                @OPEN@
                @TAIL@ for (zf_u32 u = 0; u < @STEP@u; u++) {
                    const zf_u32 b = base + jj + u;
                    @BROW@
                    ZF_UNROLL for (int q = 0; q < @IP@; q++) {
                        if (jj + u >= count || a[q] >= a1 || !(@KEEP@)) continue;
@BODY@
                    }
                }
                @SETTLE@
            }
        }
