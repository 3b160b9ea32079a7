            // Pairs that are none of the domain, or of rows past the last, are forgotten where a tile has some: the loop above has no test.
            if (!whole) {
                ZF_UNROLL for (int p = 0; p < 8; p++) {
                    const zf_u32 row = ZF_ROW(p), a = first + row;
@THERE@
                    const zf_u32 kept = there << p % 2 * 16 | 0xffff0000u >> p % 2 * 16;
                    @CLEAR@
                }
            }
