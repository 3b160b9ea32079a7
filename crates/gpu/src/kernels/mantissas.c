// Whole tables: parts folded in their order, the least and the greatest entry above zero, a common factor, logarithms to mantissas and back.
ZF_KERNEL ZF_BOUNDS(256, 1) void zf_parts(ZF_IN(@T@) parts, ZF_OUT(@T@) out, double many, double entries@SHIFT@)
{
    const zf_u64 len = (zf_u64)entries, step = (zf_u64)ZF_GROUPS_X * 256u;
    for (zf_u64 at = (zf_u64)ZF_GROUP_X * 256u + ZF_TID; at < len; at += step) {
        @T@ total = parts[at];
        for (zf_u64 part = 1; part < (zf_u64)many; part++) {
            const @T@ more = parts[part * len + at];
            total = @FOLD@;
        }
        out[at] = @LAST@;
    }
}
ZF_KERNEL ZF_BOUNDS(256, 1) void zf_ends(ZF_IN(@T@) table, ZF_OUT(@T@) out, double entries)
{
    ZF_SHARED @T@ least[256];
    ZF_SHARED @T@ most[256];
    const zf_u64 len = (zf_u64)entries, step = (zf_u64)ZF_GROUPS_X * 256u;
    @T@ low = @INFINITY@, high = 0;
    for (zf_u64 at = (zf_u64)ZF_GROUP_X * 256u + ZF_TID; at < len; at += step) {
        const @T@ value = table[at];
        low = value > 0 && value < low ? value : low;
        high = value > high ? value : high;
    }
    least[ZF_TID] = low;
    most[ZF_TID] = high;
    ZF_BARRIER();
    for (zf_u32 apart = 128u; apart > 0u; apart >>= 1) {
        if (ZF_TID < apart) {
            least[ZF_TID] = least[ZF_TID + apart] < least[ZF_TID] ? least[ZF_TID + apart] : least[ZF_TID];
            most[ZF_TID] = most[ZF_TID + apart] > most[ZF_TID] ? most[ZF_TID + apart] : most[ZF_TID];
        }
        ZF_BARRIER();
    }
    if (ZF_TID == 0u) {
        out[2u * ZF_GROUP_X] = least[0];
        out[2u * ZF_GROUP_X + 1u] = most[0];
    }
}
ZF_KERNEL ZF_BOUNDS(256, 1) void zf_scale(ZF_OUT(@T@) table, double factor, double entries)
{
    const zf_u64 len = (zf_u64)entries, step = (zf_u64)ZF_GROUPS_X * 256u;
    for (zf_u64 at = (zf_u64)ZF_GROUP_X * 256u + ZF_TID; at < len; at += step) table[at] *= (@T@)factor;
}
ZF_KERNEL ZF_BOUNDS(256, 1) void zf_exponentials(ZF_IN(@T@) logs, ZF_OUT(@T@) out, double shift, double entries)
{
    const zf_u64 len = (zf_u64)entries, step = (zf_u64)ZF_GROUPS_X * 256u;
    for (zf_u64 at = (zf_u64)ZF_GROUP_X * 256u + ZF_TID; at < len; at += step) out[at] = @MANTISSA@(logs[at], shift);
}
ZF_KERNEL ZF_BOUNDS(256, 1) void zf_logarithms(ZF_OUT(@T@) table, double shift, double entries)
{
    const zf_u64 len = (zf_u64)entries, step = (zf_u64)ZF_GROUPS_X * 256u;
    for (zf_u64 at = (zf_u64)ZF_GROUP_X * 256u + ZF_TID; at < len; at += step) table[at] = @LOGARITHM@(table[at], shift);
}
