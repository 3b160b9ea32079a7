                    for (zf_u32 start = 0u; start < held; start += 128u) {
                        const zf_u32 batch = held - start < 128u ? held - start : 128u;
                        if (tid < batch) {
                            const zf_u32 entry = late[start + tid], row = entry >> 24, b = from + (entry & 0xffffffu);
                            const zf_u32 mine = first + row, i = @I@, j = @J@;
                            const double v = @EXACT@;
                            @TAKE@
                        }
                        @OWNERS@
                    }
