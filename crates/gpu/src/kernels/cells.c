// Tiles of 32 x 32 cells: a thread computes four cells of a column, so that lines are written whole.
ZF_KERNEL ZF_BOUNDS(256, 1) void @NAME@(ZF_IN(@T@) x, ZF_IN(@T@) y, ZF_IN(@T@) c, ZF_OUT(@T@) out, ZF_OUT(@T@) mirror,
    ZF_IN(zf_u32) table, zf_u32 row0, zf_u32 rows, zf_u32 col0, zf_u32 cols, zf_u32 across, zf_u32 launch)
{
    @TURNED@
    const zf_u32 tid = ZF_TID, tx = tid % 32u, ty = tid / 32u;
    zf_u32 block_i = 0u, block_j = 0u;
    {
@MAP@
    }
    const zf_u32 jj = block_j * 32u + tx, j = col0 + (jj < cols ? jj : cols - 1u);
    const size_t y_at = (size_t)ZF_PANEL_Y(j) * (@YW@u * 128u) + j % 128u;
    (void)y_at;
    @YLOAD@
    ZF_UNROLL for (zf_u32 p = 0u; p < 4u; p++) {
        const zf_u32 ii = block_i * 32u + p * 8u + ty, i = row0 + (ii < rows ? ii : rows - 1u);
        const size_t x_at = (size_t)ZF_PANEL_X(i) * (@XW@u * 128u) + i % 128u;
        (void)x_at;
@PAIR@
        const @T@ cell = @VALUE@;
        if (ii < rows && jj < cols) out[(size_t)ii * cols + jj] = cell;
        @TURN@
    }
    @MIRROR@
}
