// What a device reaches: multiply-adds in registers, operands from shared memory, copies.
ZF_KERNEL ZF_BOUNDS(256, 1) void zf_operations(ZF_OUT(@T@) out, double turns)
{
    const @T@ x = (@T@)0.999, y = (@T@)(ZF_TID + 1u);
    @T@ a = 0, b = 1, c = 2, d = 3, e = 4, f = 5, g = 6, h = 7;
    for (zf_u32 turn = 0u; turn < (zf_u32)turns; turn++) {
        a = fma(a, x, y); b = fma(b, x, y); c = fma(c, x, y); d = fma(d, x, y);
        e = fma(e, x, y); f = fma(f, x, y); g = fma(g, x, y); h = fma(h, x, y);
    }
    out[ZF_GROUP_X * 256u + ZF_TID] = a + b + c + d + e + f + g + h;
}
ZF_KERNEL ZF_BOUNDS(256, 1) void zf_operands(ZF_OUT(@T@) out, double turns)
{
    ZF_SHARED @T@ s[1024];
    for (zf_u32 at = ZF_TID; at < 1024u; at += 256u) s[at] = (@T@)at;
    ZF_BARRIER();
    @T@ total = 0;
    for (zf_u32 turn = 0u; turn < (zf_u32)turns; turn++) {
        const zf_u32 own = (turn & 511u) + ZF_TID, same = turn * 7u & 511u;
        ZF_UNROLL for (zf_u32 k = 0u; k < 16u; k++) total = fma(s[own + 8u * k], s[same + k], total);
    }
    out[ZF_GROUP_X * 256u + ZF_TID] = total;
}
ZF_KERNEL ZF_BOUNDS(256, 1) void zf_copy(ZF_IN(@T@) from, ZF_OUT(@T@) out, double turns, double entries)
{
    // Entries are a power of two. Each turn moves on, so that no processor reads the same entries again.
    const zf_u32 mask = (zf_u32)entries - 1u, step = ZF_GROUPS_X * 256u;
    for (zf_u32 turn = 0u; turn < (zf_u32)turns; turn++)
        for (zf_u32 at = ZF_GROUP_X * 256u + ZF_TID; at <= mask; at += step) {
            const zf_u32 place = (at + turn * 40960u) & mask;
            out[place] = from[place];
        }
}
