// A cell a thread, of the part of a square tile on and above its diagonal.
ZF_KERNEL ZF_BOUNDS(256, 1) void @NAME@(ZF_IN(@T@) x, ZF_IN(@T@) y, ZF_IN(@T@) c, ZF_OUT(@T@) out, ZF_OUT(@T@) mirror,
    ZF_IN(zf_u32) table, zf_u32 row0, zf_u32 rows, zf_u32 col0, zf_u32 cols, zf_u32 across, zf_u32 launch)
{
    zf_u32 block_i = 0u, block_j = 0u;
    {
@MAP@
    }
    const zf_u32 i = row0 + block_i, j = col0 + block_j;
    const size_t x_at = (size_t)ZF_PANEL_X(i) * (@XW@u * 128u) + i % 128u, y_at = (size_t)ZF_PANEL_Y(j) * (@YW@u * 128u) + j % 128u;
    (void)x_at; (void)y_at;
    @YLOAD@
@PAIR@
    const @T@ cell = @VALUE@;
    out[(size_t)block_i * cols + block_j] = cell;
    @MIRROR@
}
