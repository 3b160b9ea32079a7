// The values of all cells of a rectangle: a thread keeps one row of y and walks over rows of x.
ZF_KERNEL void @NAME@(ZF_IN(@T@) x, ZF_IN(@T@) y, ZF_IN(@T@) c, ZF_OUT(@T@) out,
    zf_u32 row0, zf_u32 rows, zf_u32 col0, zf_u32 cols)
{
    const zf_u32 jj = ZF_GROUP_X * @THREADS@u + ZF_TID;
    if (jj >= cols) return;
    const zf_u32 j = col0 + jj;
    const size_t y_at = (size_t)ZF_PANEL_Y(j) * (@YW@u * 128u) + j % 128u;
    @YLOAD@
    for (zf_u32 ii = ZF_GROUP_Y; ii < rows; ii += ZF_GROUPS_Y) {
        const zf_u32 i = row0 + ii;
        const size_t x_at = (size_t)ZF_PANEL_X(i) * (@XW@u * 128u) + i % 128u;
        const size_t at = (size_t)ii * cols + jj, part = (size_t)rows * cols;
@PAIR@
@STORE@
    }
}
