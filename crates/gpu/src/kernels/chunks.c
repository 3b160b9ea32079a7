        for (zf_u32 jj = 0; jj < count; jj += @STEP@u) {
            @CHUNK@
            @BREAD@
            @OPEN@
            if (whole) {
                ZF_UNROLL for (zf_u32 u = 0; u < @STEP@u; u++) {
                    const zf_u32 b = base + jj + u;
                    @BROW@
                    ZF_UNROLL for (int q = 0; q < @IP@; q++) {
@BODY@
                    }
                }
            } else {
                @TAIL@ for (zf_u32 u = 0; u < @STEP@u; u++) {
                    const zf_u32 b = base + jj + u;
                    @BROW@
                    ZF_UNROLL for (int q = 0; q < @IP@; q++) {
                        if (jj + u >= count || a[q] >= a1 || !(@KEEP@)) continue;
@BODY@
                    }
                }
            }
            @SETTLE@
            ZF_REJOIN();
        }
