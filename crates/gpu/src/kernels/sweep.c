// The rows of one side ("anchors": @IP@ a thread, in registers) meet all rows of the other, panel by panel.
// a0, a1: the anchors; b0, b1: the others; each block along y takes @SPAN@ others from b0 on, or each block takes its part of a list of
// runs: a group of anchors and the panels that it meets.
ZF_KERNEL ZF_BOUNDS(128, @BLOCKS@) void @NAME@(@INPUTS@@ARGS@,
    zf_u32 a0, zf_u32 a1, zf_u32 b0, zf_u32 b1, zf_u32 span)
{
    @SHARED@
    const zf_u32 tid = ZF_TID;
    @RUNS@
    const zf_u32 first = @FIRST@;
    const zf_u32 last = (first + @ROWS@u < a1 ? first + @ROWS@u : a1) - 1u;
    const int whole_block = first + @ROWS@u <= a1;
    zf_u32 a[@IP@];
    @ANCHORS@
    ZF_UNROLL for (int q = 0; q < @IP@; q++) {
        a[q] = first + q * 128u + tid;
        const zf_u32 held = a[q] < a1 ? a[q] : a1 - 1u;
        const size_t @A@_at = (size_t)ZF_PANEL_@PA@(held) * (@AW@u * 128u) + held % 128u;
        @ALOAD@
    }
    @STATE@
    const zf_u32 from = @FROM@;
    const zf_u32 to = @TO@;
    for (zf_u32 base = from; base < to; base += 128u) {
        const zf_u32 count = to - base < 128u ? to - base : 128u;
        const zf_u32 end = base + count - 1u;
        if (@SKIP@) continue;
        @BLOAD@
        const int whole = whole_block && count == 128u && (@ALL@);
        @BEFORE@
@STEPS@
        @AFTER@
    }
    @RUN_FINISH@
    @RUN_END@
    @FINISH@
}
