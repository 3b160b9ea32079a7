            // Entries that may hold are decided; those that hold get slots, all of a tile or none, in pages that follow each other.
            ZF_BARRIER();
            const zf_u32 held = fill;
            zf_u32 kept = 0u;
            for (zf_u32 s = tid; s < held; s += 128u) {
                const zf_u32 entry = queue[s];
                if (entry < 0x8000u) {
                    const zf_u32 mine = first + entry / 128u, b = base + entry % 128u, i = @I@, j = @J@;
                    if (zf_exact(x_wide, y_wide, c_wide, i, j) == 0.0) { queue[s] = (zf_u16)0xffffu; continue; }
                }
                kept++;
            }
            if (kept > 0u) ZF_ADD_SHARED(&total, kept);
            ZF_BARRIER();
            if (tid == 0u && total > 0u) {
                slot = page * @PAGE@u + used;
                used += total;
                if (used > @PAGE@u) {
                    if (page != 0xffffffffu) fills[page] = used - total;
                    const zf_u32 more = (total + @PAGE@u - 1u) / @PAGE@u, now = ZF_ADD_GLOBAL(pool, more);
                    page = 0xffffffffu;
                    if (now < pages && more <= pages - now) {
                        for (zf_u32 p = 0u; p + 1u < more; p++) fills[now + p] = @PAGE@u;
                        page = now + more - 1u;
                        slot = now * @PAGE@u;
                        used = total - (more - 1u) * @PAGE@u;
                    }
                }
            }
            ZF_BARRIER();
            if (total > 0u && page == 0xffffffffu) { if (tid == 0u) resume[block] = base - from; @LEAVE@ }
            for (zf_u32 s = tid; s < held; s += 128u) {
                const zf_u32 entry = queue[s];
                if (entry == 0xffffu) continue;
                const zf_u32 mine = first + entry % 0x8000u / 128u, b = base + entry % 128u;
                const size_t put = ZF_ADD_SHARED(&slot, 1u);
                pairs[put * 2u] = @I@; pairs[put * 2u + 1u] = @J@;
            }
            ZF_BARRIER();
            if (tid == 0u) { fill = 0u; total = 0u; }
            ZF_BARRIER();
