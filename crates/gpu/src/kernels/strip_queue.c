            ZF_BARRIER();
            const zf_u32 held = fill;
            for (zf_u32 start = 0u; start < held; start += 128u) {
                const zf_u32 batch = held - start < 128u ? held - start : 128u;
                if (tid < batch) {
                    const zf_u32 entry = queue[start + tid], mine = first + entry / 128u, b = base + entry % 128u;
                    const zf_u32 i = @I@, j = @J@;
                    const double v = @EXACT@;
                    @TAKE@
                }
                @OWNERS@
            }
            ZF_BARRIER();
            if (tid == 0u) fill = 0u;
            @LIMITS@
            ZF_BARRIER();
