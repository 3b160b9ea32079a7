        if (whole_block && count == 128u && base >= first && base < first + @ROWS@u) {
            // A panel of the block's own rows: anchors of panels before it meet all of it.
            const zf_u32 own = (base - first) / 128u;
            for (zf_u32 jj = 0; own > 0u && jj < 128u; jj += @STEP@u) {
                @BREAD@
                @OPEN@
                ZF_UNROLL for (zf_u32 u = 0; u < @STEP@u; u++) {
                    const zf_u32 b = base + jj + u;
                    @BROW@
                    ZF_UNROLL for (int q = 0; q < @IP@; q++) {
                        if (q >= (int)own) continue;
@BODY@
                    }
                }
                @SETTLE@
            }
            // Anchors of the panel itself take the rows that follow their own, around its end: as many for every thread.
            for (zf_u32 k = @NEXT@u; k <= 64u; k++) {
                const zf_u32 jj = (tid + k) % 128u, u = 0u;
                const zf_u32 b = base + jj;
                @OPEN@
                @BOWN@
                ZF_UNROLL for (int q = 0; q < @IP@; q++) {
                    if (q != (int)own || (k == 64u && tid >= 64u)) continue;
@BODY_OWN@
                }
                @SETTLE@
            }
        } else
