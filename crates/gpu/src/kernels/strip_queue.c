            // Pairs that double precision decides wait until there is one for each thread. Those that find no place wait for the next round.
            int crowded;
            if (ZF_BARRIER_ANY((@BITS@[0] | @BITS@[1] | @BITS@[2] | @BITS@[3]) != 0u@NOW@)) do {
                // Once for all rows of a thread: kernels must fit the instruction cache.
                ZF_UNROLL_BY(1) for (zf_u32 w = 0u; w < 4u; w++) {
                    zf_u32 bits = w == 0u ? @BITS@[0] : w == 1u ? @BITS@[1] : w == 2u ? @BITS@[2] : @BITS@[3];
                    while (bits != 0u) {
                        const zf_u32 n = ZF_LOWEST(bits), p = w * 2u + n / 16u, q = n % 16u;
                        const zf_u32 row = ZF_ROW(p), col = ZF_COLUMN(p, q), at = ZF_ADD_SHARED(&waits, 1u);
                        if (at >= @LATE@u) break;
                        late[at] = row << 24 | (base - from + col);
                        bits &= bits - 1u;
                    }
                    if (w == 0u) @BITS@[0] = bits; else if (w == 1u) @BITS@[1] = bits; else if (w == 2u) @BITS@[2] = bits; else @BITS@[3] = bits;
                }
                ZF_BARRIER();
                const zf_u32 all = waits, held = all < @LATE@u ? all : @LATE@u;
                crowded = all > @LATE@u;
                if (held >= 128u || crowded@NOW@) {
@FLUSH@
                    ZF_BARRIER();
                    if (tid == 0u) waits = 0u;
                    @LIMITS@
                }
                ZF_BARRIER();
            } while (crowded);
