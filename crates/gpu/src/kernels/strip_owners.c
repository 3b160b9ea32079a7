ZF_BARRIER();
                        // A thread finds what is its own first: lists are changed by all threads at a time, and not by one after another.
                        zf_u32 own[4];
                        ZF_UNROLL for (zf_u32 w = 0u; w < 4u; w++) {
                            own[w] = 0u;
                            ZF_UNROLL_BY(8) for (zf_u32 n = 0u; n < 32u; n++) own[w] |= (zf_u32)(w * 32u + n < batch && owned[w * 32u + n] == tid) << n;
                        }
                        while ((own[0] | own[1] | own[2] | own[3]) != 0u) {
                            const zf_u32 w = own[0] != 0u ? 0u : own[1] != 0u ? 1u : own[2] != 0u ? 2u : 3u;
                            const zf_u32 bits = w == 0u ? own[0] : w == 1u ? own[1] : w == 2u ? own[2] : own[3], n = w * 32u + ZF_LOWEST(bits), rest = bits & (bits - 1u);
                            if (w == 0u) own[0] = rest; else if (w == 1u) own[1] = rest; else if (w == 2u) own[2] = rest; else own[3] = rest;
                            @LIST@
                            zf_keep(near_v, near_i, slot, lanes, values[n], others[n]);
                        }
                        ZF_BARRIER();
