// Inner products of rows by matrix units, tiles of 128 x 128 cells: slices of four groups of components in shared memory, some at
// a time. A thread has @DOWN@ x @OVER@ products of its warp, or of four warps together, summed in @NUMBER@.
// x and y are panels of 128 rows, by groups of 16 bytes: a group of a row is one load, and all a lane needs of its products.
// Rows are permuted in shared memory, so that the lanes of a warp meet in no bank.
ZF_KERNEL ZF_BOUNDS(@THREADS@, @BLOCKS@) void @NAME@(@INPUTS@,
    ZF_OUT(@NUMBER@) out, ZF_OUT(@NUMBER@) mirror, ZF_IN(zf_u32) table, zf_u32 row0, zf_u32 rows, zf_u32 col0, zf_u32 cols, zf_u32 across, zf_u32 launch)
{
    ZF_DYNAMIC(zf_u4, slices, @VECTORS@);
    @BARRIERS@
    const zf_u32 tid = ZF_TID;
    @CELLS@
    zf_u32 block_i = 0u, block_j = 0u;
    {
@MAP@
    }
    (void)c;
    const zf_u32 i0 = row0 + block_i * 128u, j0 = col0 + block_j * 128u;
@BEGIN@
@LOOP@    const size_t x_first = (size_t)ZF_PANEL_X(i0) * (@XA@u * 128u), y_first = (size_t)ZF_PANEL_Y(j0) * (@YA@u * 128u);
    ZF_UNROLL for (int m = 0; m < @DOWN@; m++) ZF_UNROLL for (int n = 0; n < @OVER@; n++) ZF_UNROLL for (int e = 0; e < 4; e++) {
        const size_t x_at = x_first + down + m * @APART@u + e / 2 * 8u + group, y_at = y_first + over + n * 8u + lane * 2u + e % 2;
        (void)x_at; (void)y_at;
        const @NUMBER@ @SUM@ = sum[m][n][e];
@FINISH@
        sum[m][n][e] = @VALUE@;
    }
    ZF_UNROLL for (int m = 0; m < @DOWN@; m++) ZF_UNROLL for (int h = 0; h < 2; h++) ZF_UNROLL for (int n = 0; n < @OVER@; n++) {
        const zf_u32 ii = i0 - row0 + down + m * @APART@u + h * 8u + group, jj = j0 - col0 + over + n * 8u + lane * 2u;
        const size_t at = (size_t)ii * cols + jj;
        if (ii < rows && jj + 1u < cols && cols % 2u == 0u) {
            @TWO@ v; v.x = sum[m][n][h * 2]; v.y = sum[m][n][h * 2 + 1];
            *(ZF_GLOBAL @TWO@*)&out[at] = v;
        } else if (ii < rows) {
            if (jj < cols) out[at] = sum[m][n][h * 2];
            if (jj + 1u < cols) out[at + 1u] = sum[m][n][h * 2 + 1];
        }
@MIRROR@
    }
}
