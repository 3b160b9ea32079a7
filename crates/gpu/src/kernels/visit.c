// Any number of tables to one, an entry of the result by a thread: the digits of the entry say where it begins in every table, a list says
// where each configuration of the folded variables lies after that.
ZF_KERNEL ZF_BOUNDS(@THREADS@, 1) void zf_visit(@INPUTS@, ZF_OUT(@T@) out, ZF_IN(@INDEX@) sizes, ZF_IN(@INDEX@) depth)
{
    const @INDEX@ out_len = sizes[0];
    const zf_u32 all = (zf_u32)sizes[1], range = (zf_u32)sizes[2], digits = (zf_u32)sizes[3];
    const @INDEX@ entry = (@INDEX@)ZF_GROUP_X * @THREADS@u + ZF_TID;
    if (entry >= out_len) return;
    ZF_IN(@INDEX@) digit = sizes + 4;
    @INDEX@ left = entry;
    @INDEX@ @BASES@;
    for (zf_u32 d = 0u; d < digits; d++, digit += @TABLES@u + 1u) {
        const @INDEX@ card = digit[0], value = left % card;
        left /= card;
        @ADVANCE@
    }
    const zf_u32 begin = ZF_GROUP_Y * range, end = begin + range < all ? begin + range : all;
    @T@ total = 0;
    for (zf_u32 k = begin; k < end; k++) {
        ZF_IN(@INDEX@) at = depth + (@INDEX@)k * @TABLES@u;
        const @T@ product = @PRODUCT@;
        total = @FOLD@;
    }
    out[(@INDEX@)ZF_GROUP_Y * out_len + entry] = total;
}
