// Any number of tables to one. The kept digits are rows, columns, or neither. A thread takes @TALL@ rows and @WIDE@ columns of one configuration
// of the digits that are neither, so that it reads a table without columns once for all of its columns, and one without rows once for all rows.
//
// the host lists where each configuration of the folded digits, each row and each column begin in every table; the last place is the result's
// a thread looks up where its rows and columns begin
// for each configuration of the folded digits:
//     once = product of the tables without rows and columns
//     x[i] = once * product of those with rows alone, y[j] = product of those with columns alone
//     total[i][j] = fold of x[i] * (those with both) * y[j]
//
// Reads wait for the caches, so a multiprocessor needs many threads: two thread blocks at least. What the result needs is looked up at the end.
ZF_KERNEL ZF_BOUNDS(@THREADS@, 2) void zf_visit(@INPUTS@, ZF_OUT(@T@) out, ZF_IN(@INDEX@) sizes, ZF_IN(@INDEX@) places@SHIFT@)
{
    const @INDEX@ out_len = sizes[0], rows = sizes[4], columns = sizes[5], row_tiles = sizes[6], column_tiles = sizes[7];
    const zf_u32 all = (zf_u32)sizes[1], range = (zf_u32)sizes[2], digits = (zf_u32)sizes[3];
    const @INDEX@ tile = (@INDEX@)ZF_GROUP_X * @THREADS@u + ZF_TID;
    if (tile >= sizes[8]) return;
    // Which of the three runs along the threads is the host's choice: what lies side by side in the result.
    const @INDEX@ first_column = tile / sizes[9] % column_tiles, first_row = tile / sizes[10] % row_tiles;
    @INDEX@ left = tile / sizes[11] % sizes[12], to = (@INDEX@)ZF_GROUP_Y * out_len;
    @INDEX@ @BASES@;
    ZF_IN(@INDEX@) digit = sizes + 13;
    for (zf_u32 d = 0u; d < digits; d++, digit += @TABLES@u + 2u) {
        const @INDEX@ card = digit[0], value = left % card;
        left /= card;
        @ADVANCE@
        to += value * digit[@TABLES@u + 1u];
    }
    ZF_IN(@INDEX@) row_list = places + (@INDEX@)all * @TABLES@u;
    ZF_IN(@INDEX@) column_list = row_list + rows * (@TABLES@u + 1u);
    @LINES@
    ZF_UNROLL for (zf_u32 i = 0u; i < @TALL@u; i++) {
        const @INDEX@ row = first_row + i * row_tiles;
        ZF_IN(@INDEX@) at = row_list + (row < rows ? row : 0) * (@TABLES@u + 1u);
        @ROW_LINES@
    }
    ZF_UNROLL for (zf_u32 j = 0u; j < @WIDE@u; j++) {
        const @INDEX@ column = first_column + j * column_tiles;
        ZF_IN(@INDEX@) at = column_list + (column < columns ? column : 0) * (@TABLES@u + 1u);
        @COLUMN_LINES@
    }
    @T@ total[@TALL@][@WIDE@];
    ZF_UNROLL for (zf_u32 i = 0u; i < @TALL@u; i++)
        ZF_UNROLL for (zf_u32 j = 0u; j < @WIDE@u; j++) total[i][j] = 0;
    const zf_u32 begin = ZF_GROUP_Y * range, end = begin + range < all ? begin + range : all;
    // Numbers of the next configuration are on their way while those of this one are folded, places of the one after it too.
    @NEXT@
    @INDEX@ @NEXT_PLACES@;
    ZF_IN(@INDEX@) at = places + (@INDEX@)begin * @TABLES@u;
    @LOOK_UP@
    @LOAD@
    at = places + (@INDEX@)(begin + 1u < end ? begin + 1u : begin) * @TABLES@u;
    @HERE@
    @LOOK_UP@
    for (zf_u32 k = begin; k < end; k++) {
        @T@ x[@TALL@], y[@WIDE@];
        @ONCE@
        ZF_UNROLL for (zf_u32 i = 0u; i < @TALL@u; i++) x[i] = @X@;
        ZF_UNROLL for (zf_u32 j = 0u; j < @WIDE@u; j++) y[j] = @Y@;
        @LOAD@
        ZF_UNROLL for (zf_u32 i = 0u; i < @TALL@u; i++)
            ZF_UNROLL for (zf_u32 j = 0u; j < @WIDE@u; j++) {
                const @T@ one = @ONE@;
                total[i][j] = @FOLD@;
            }
        @MOVE_ON@
        at = places + (@INDEX@)(k + 2u < end ? k + 2u : end - 1u) * @TABLES@u;
        @LOOK_UP@
    }
    ZF_UNROLL for (zf_u32 j = 0u; j < @WIDE@u; j++) {
        const @INDEX@ column = first_column + j * column_tiles;
        if (column < columns) {
            const @INDEX@ there = to + column_list[column * (@TABLES@u + 1u) + @TABLES@u];
            ZF_UNROLL for (zf_u32 i = 0u; i < @TALL@u; i++) {
                const @INDEX@ row = first_row + i * row_tiles;
                if (row < rows) out[there + row_list[row * (@TABLES@u + 1u) + @TABLES@u]] = @LAST@;
            }
        }
    }
}
