            // Once for all rows of a thread: kernels must fit the instruction cache.
            ZF_UNROLL_BY(1) for (zf_u32 w = 0u; w < 4u; w++) {
                zf_u32 bits = w == 0u ? @BITS@[0] : w == 1u ? @BITS@[1] : w == 2u ? @BITS@[2] : @BITS@[3];
                while (bits != 0u) {
                    const zf_u32 n = ZF_LOWEST(bits), p = w * 2u + n / 16u, q = n % 16u;
                    const zf_u32 row = ZF_ROW(p), col = ZF_COLUMN(p, q);
                    bits &= bits - 1u;
                    queue[ZF_ADD_SHARED(&fill, 1u)] = (zf_u16)(row * 128u + col@MARK@);
                }
            }
