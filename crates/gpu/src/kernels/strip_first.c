        // The k-th least of sixteen groups of a row bounds the k-th least of all from above: so few pairs of the first tile are open.
        if (fresh) {
            ZF_SHARED_ARG float* least = (ZF_SHARED_ARG float*)scratch;
            ZF_UNROLL for (int p = 0; p < 8; p++) {
                const zf_u32 row = ZF_ROW(p), a = first + row;
                float low[2];
                low[0] = ZF_INF_F; low[1] = ZF_INF_F;
                zf_u32 some = 0xffffu;
                if (!whole) {
@THERE@
                    some = there;
                }
                ZF_UNROLL for (int q = 0; q < 16; q++) {
                    const zf_u32 col = ZF_COLUMN(p, q), b = base + col;
                    if ((some >> q & 1u) == 0u) continue;
                    const size_t @A@_at = @A@_panel + row, @B@_at = @B@_panel + col;
                    (void)@A@_at; (void)@B@_at; (void)b;
@FINISH@
                    const float value = @VALUE@;
                    low[q / 8] = value < low[q / 8] ? value : low[q / 8];
                }
                least[ZF_PART(p) * 256u + row] = low[0];
                least[ZF_PART(p) * 256u + 128u + row] = low[1];
            }
            ZF_BARRIER();
            float far = ZF_INF_F;
            for (zf_u32 n = 0u; n < @K@u; n++) {
                zf_u32 at = 0u;
                far = ZF_INF_F;
                for (zf_u32 group = 0u; group < 16u; group++) {
                    const float next = least[group * 128u + tid];
                    if (next < far) { far = next; at = group; }
                }
                least[at * 128u + tid] = ZF_INF_F;
            }
            if (far < ZF_INF_F) {
                const double near = (double)far + @ABSOLUTE@;
                @LIMIT@
            }
            ZF_BARRIER();
        }
