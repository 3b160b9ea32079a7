// The matches of all pages, one page after another, without the empty slots behind them: a block of threads for each page. Most pages of a join
// with few matches are nearly empty, and bringing whole pages home takes longer than finding the matches.
ZF_KERNEL ZF_BOUNDS(256, 1) void zf_gather(ZF_IN(zf_u32) fills, ZF_IN(zf_u32) offsets, ZF_IN(zf_u64) slots, ZF_IN(zf_u64) values,
    ZF_OUT(zf_u64) pairs, ZF_OUT(zf_u64) kept, zf_u32 valued)
{
    const zf_u32 fill = fills[ZF_GROUP_X], to = offsets[ZF_GROUP_X];
    const size_t from = (size_t)ZF_GROUP_X * @PAGE@u;
    for (zf_u32 at = ZF_TID; at < fill; at += 256u) {
        pairs[to + at] = slots[from + at];
        if (valued != 0u) {
            kept[to + at] = values[from + at];
        }
    }
}
