// The paper's bucket kernel: a thread block makes pages of the result, one after another, out of segments in shared memory.
//
// for each page of the block:
//     for each function with a segment: if the page before had another segment, all threads fetch the new one
//     for each entry of the page, in parallel: fold the products of the functions over the summed variables
ZF_KERNEL ZF_BOUNDS(@THREADS@, 1) void @NAME@(@INPUTS@, ZF_OUT(@T@) out)
{
@SEGMENTS@
    const @INDEX@ first = (@INDEX@)ZF_GROUP_X * @RUN@u;
    const @INDEX@ end = first + @RUN@u < @PAGES@u ? first + @RUN@u : @PAGES@u;
    for (@INDEX@ page = first; page < end; page++) {
@DIGITS@
        const zf_u32 values = @CARD@u - block * @VALUES@u < @VALUES@u ? (zf_u32)(@CARD@u - block * @VALUES@u) : @VALUES@u;
@FETCH@
        ZF_BARRIER();
        for (zf_u32 entry = ZF_TID; entry < values * @FAST@u; entry += @THREADS@u) {
@PLACES@
@FOLD@
            out[@START@ + entry] = total;
        }
        ZF_BARRIER();
    }
}
