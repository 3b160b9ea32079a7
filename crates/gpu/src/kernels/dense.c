// Tiles of 128 x 128 cells: slices of @SLICE@ components of both sides in shared memory, fetched ahead while slices before
// are worked on; each thread keeps 8 x @TN@ cells (subtiles of 4 x 4: rows 64 apart, columns @APART@ apart) in registers.
// x and y are panels of 128 rows, component by component, so that a slice of a panel is one run of memory.
ZF_KERNEL ZF_BOUNDS(@THREADS@, @BLOCKS@) void @NAME@(ZF_IN(@T@) x, ZF_IN(@T@) y, ZF_IN(@T@) c, ZF_OUT(@T@) out, ZF_OUT(@T@) mirror,
    ZF_IN(zf_u32) table, zf_u32 row0, zf_u32 rows, zf_u32 col0, zf_u32 cols, zf_u32 across, zf_u32 launch)
{
    ZF_SHARED @T@ slices[@SHARED@];
    const zf_u32 tid = ZF_TID, tx = tid % @TX@u, ty = tid / @TX@u;
    zf_u32 block_i = 0u, block_j = 0u;
    {
@MAP@
    }
    const zf_u32 i0 = row0 + block_i * 128u, j0 = col0 + block_j * 128u;
    const size_t x_panel = (size_t)ZF_PANEL_X(i0) * (@XW@u * 128u), y_panel = (size_t)ZF_PANEL_Y(j0) * (@YW@u * 128u);
@START@
@LOOP@@CARRIED@
    @T@ cell[8][@TN@];
    ZF_UNROLL for (int p = 0; p < 8; p++) {
        ZF_UNROLL for (int q = 0; q < @TN@; q++) {
            const zf_u32 i = i0 + (p < 4 ? ty * 4u + p : 60u + ty * 4u + p), j = j0 + q / 4 * @APART@u + tx * 4u + q % 4;
            const size_t x_at = x_panel + i % 128u, y_at = y_panel + j % 128u;
            (void)x_at; (void)y_at; (void)i; (void)j;
@FINISH@
            cell[p][q] = @VALUE@;
        }
    }
    const int whole = i0 + 128u <= row0 + rows && j0 + 128u <= col0 + cols && cols % 4u == 0u && rows % 4u == 0u;
    ZF_UNROLL for (int p = 0; p < 8; p++) {
        const zf_u32 ii = i0 - row0 + (p < 4 ? ty * 4u + p : 60u + ty * 4u + p);
        ZF_UNROLL for (int part = 0; part < @TN@ / 4; part++) {
            const zf_u32 jj = j0 - col0 + part * @APART@u + tx * 4u;
            const size_t at = (size_t)ii * cols + jj;
            if (whole) {
@STORE_ROW@
            } else if (ii < rows) {
                ZF_UNROLL for (int u = 0; u < 4; u++) if (jj + u < cols) out[at + u] = cell[p][part * 4 + u];
            }
        }
    }
@MIRROR@
}
