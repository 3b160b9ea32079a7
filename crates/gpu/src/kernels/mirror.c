    ZF_UNROLL for (int q = 0; q < @TN@; q++) {
        const zf_u32 jj = j0 - col0 + q / 4 * @APART@u + tx * 4u + q % 4;
        ZF_UNROLL for (int part = 0; part < 2; part++) {
            const zf_u32 ii = i0 - row0 + part * 64u + ty * 4u;
            const size_t at = (size_t)jj * rows + ii;
            if (whole) {
@STORE_COLUMN@
            } else if (jj < cols) {
                ZF_UNROLL for (int u = 0; u < 4; u++) if (ii + u < rows) mirror[at + u] = cell[part * 4 + u][q];
            }
        }
    }
