            // The cells of row p that are pairs of the domain, one bit each: a test for each cell would take a register for each column.
            zf_u32 there = 0u;
            ZF_UNROLL_BY(1) for (zf_u32 q = 0u; q < 16u; q++) {
                const zf_u32 col = ZF_COLUMN(p, q), b = base + col;
                (void)b;
                if (a < a1 && col < count && (@KEEP@)) there |= 1u << q;
            }
