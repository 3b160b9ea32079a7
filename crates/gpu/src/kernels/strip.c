// Tiles of 128 anchors x 128 others, one after another along the others: slices of components of both sides in shared memory,
// 8 x 16 cells a thread in registers, and the fold takes them from there. ZF_ROW(p) and ZF_COLUMN(p, q) are the places of a thread's cells.
// a0, a1: the anchors; b0, b1: the others; each block along y takes `span` others from b0 on.
ZF_KERNEL ZF_BOUNDS(128, @BLOCKS@) void @NAME@(@INPUTS@@ARGS@,
    zf_u32 a0, zf_u32 a1, zf_u32 b0, zf_u32 b1, zf_u32 span)
{
    @SLICES@
    @OWN@
    const zf_u32 tid = ZF_TID;
    @PLACES@
    const zf_u32 first = a0 + ZF_GROUP_X * 128u;
    const zf_u32 last = (first + 128u < a1 ? first + 128u : a1) - 1u;
    const int whole_block = first + 128u <= a1;
    const zf_u32 a_mine = first + tid;
    const size_t @A@_panel = (size_t)ZF_PANEL_@PA@(first) * (@AW@u * 128u);
    const zf_u32 from = b0 + ZF_GROUP_Y * span;
    const zf_u32 to = b1 - from < span ? b1 : from + span;
    @BEGIN@
    @STATE@
@FIRST_SLICES@
    for (zf_u32 base = from; base < to; base += 128u) {
        const zf_u32 count = to - base < 128u ? to - base : 128u;
        const zf_u32 end = base + count - 1u;
        if (@SKIP@) continue;
        const size_t @B@_panel = (size_t)ZF_PANEL_@PB@(base) * (@BW@u * 128u);
        const int whole = whole_block && count == 128u && (@ALL@);
        @TILE_BEGINS@
@START@
@LOOP@@CARRIED@
        @TILE_IS_THERE@
        @FIRST@
        const int rounds = @ROUNDS@;
        for (int round = 0; round < rounds; round++) {
            (void)round;
            @OPEN@
            ZF_UNROLL for (int p = 0; p < 8; p++) {
                const zf_u32 row = ZF_ROW(p), a = first + row;
                (void)a;
                @LINE@
                @LOOK@
                ZF_UNROLL for (int q = 0; q < 16; q++) {
                    const zf_u32 col = ZF_COLUMN(p, q), b = base + col;
                    @TEST@
                    const size_t @A@_at = @A@_panel + row, @B@_at = @B@_panel + col;
                    (void)@A@_at; (void)@B@_at; (void)b; (void)col;
@FINISH@
@ABSORB@
                }
                @AFTER_LINE@
            }
            @MASK@
            @SETTLE@
        }
        @AFTER@
    }
    @END@
}
