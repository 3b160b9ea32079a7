            // Numbers of the next component come into registers while those of this one are worked on. The loop stays one: the
            // compiler would put loads of straight code right before their use.
            @T@ xv[2][@XV@], yv[2][@YV@];
            {
                const zf_u32 kk = 0u;
@READ@
            }
            ZF_UNROLL_BY(2) for (zf_u32 k2 = 0; k2 < @SLICE@u; k2 += 2u) {
                {
                    const zf_u32 kk = k2 + 1u;
@READ_NEXT@
                }
                {
                    const zf_u32 kk = k2;
                    const int now = 0;
                    (void)kk;
@EVERY@
                }
                {
                    const zf_u32 kk = (k2 + 2u) % @SLICE@u;
@READ@
                }
                {
                    const zf_u32 kk = k2 + 1u;
                    const int now = 1;
                    (void)kk;
@EVERY@
                }
            }