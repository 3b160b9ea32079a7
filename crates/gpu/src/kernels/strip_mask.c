            // Pairs that are none of the domain, or of rows past the last, are forgotten where a tile has some: the loop above has no test.
            if (!whole) {
                ZF_UNROLL for (int w = 0; w < 4; w++) {
                    zf_u32 there = 0u;
                    ZF_UNROLL_BY(1) for (zf_u32 n = 0u; n < 32u; n++) {
                        const zf_u32 p = (zf_u32)w * 2u + n / 16u, q = n % 16u;
                        const zf_u32 row = ZF_ROW(p), col = ZF_COLUMN(q), a = first + row, b = base + col;
                        (void)b;
                        if (a < a1 && col < count && (@KEEP@)) there |= 1u << n;
                    }
                    @CLEAR@
                }
            }
