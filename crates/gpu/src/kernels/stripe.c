// Any number of tables to one, as visit.c, where the rows of a thread block are the same for all of its threads: they lie in shared memory as
// products of all tables without columns, and a thread reads four at once. Threads side by side take columns side by side.
//
// a thread block takes some times @TALL@ rows, and @THREADS@ times @WIDE@ columns of one configuration of the digits that are neither, or of several
// it looks up where these begin in every table
// for each piece of the folded digits, which are several pieces only where the block takes @TALL@ rows:
//     together: x[configuration][step][row] = product of the tables without columns
//     for each @TALL@ rows and each step of the piece, @AHEAD@ steps together, then @REST@:
//         y[j] = product of the tables with columns alone
//         total[i][j] = fold of x[i] * (those with both) * y[j]
#define X(of) ((ZF_SHARED_ARG @T@*)held + (of) * apart)
// Some steps from k on: their reads wait together. The last ones may be beyond the end, where they read what the last one does and are not folded.
#define STEPS(many, last)                                                                                                        \
    @T@ ahead[many][@WIDE@];                                                                                                     \
    ZF_UNROLL for (zf_u32 q = 0u; q < many; q++) {                                                                               \
        ZF_SHARED_ARG const @INDEX@* at = deep + ((last) && k + q >= steps ? steps - 1u : k + q) * @TABLES@u;                    \
        (void)at;                                                                                                                \
        ZF_UNROLL for (zf_u32 j = 0u; j < @WIDE@u; j++) ahead[q][j] = @Y@;                                                       \
    }                                                                                                                            \
    ZF_UNROLL for (zf_u32 q = 0u; q < many; q++) if (!(last) || k + q < steps) {                                                 \
        ZF_SHARED_ARG const @INDEX@* at = deep + (k + q) * @TABLES@u;                                                            \
        (void)at;                                                                                                                \
        @T@ x[@TALL@], y[@WIDE@];                                                                                                \
        ZF_UNROLL for (zf_u32 j = 0u; j < @WIDE@u; j++) y[j] = ahead[q][j];                                                      \
        ZF_UNROLL for (zf_u32 i = 0u; i < @TALL@u; i += @QUAD@u) {                                                               \
            const @VECTOR@ some = *(ZF_SHARED_ARG const @VECTOR@*)(mine_x + (k + q) * tall + i);                                 \
            @SPREAD@                                                                                                             \
        }                                                                                                                        \
        ZF_UNROLL for (zf_u32 i = 0u; i < @TALL@u; i++)                                                                          \
            ZF_UNROLL for (zf_u32 j = 0u; j < @WIDE@u; j++) {                                                                    \
                const @T@ one = @ONE@;                                                                                           \
                total[i][j] = @FOLD@;                                                                                            \
            }                                                                                                                    \
    }
ZF_KERNEL ZF_BOUNDS(@THREADS@, @BLOCKS@) void zf_stripe(@INPUTS@, ZF_OUT(@T@) out, ZF_IN(@INDEX@) sizes, ZF_IN(@INDEX@) places@SHIFT@)
{
    ZF_SHARED @VECTOR@ held[@HELD@ / @QUAD@];
    ZF_SHARED @INDEX@ begins[@SPANNED@ * (@TABLES@ + 1)];
    ZF_SHARED @INDEX@ row_begins[@ROWS@ * (@TABLES@ + 1)];
    ZF_SHARED @INDEX@ deep[@PIECE@ * @TABLES@];
    const @INDEX@ out_len = sizes[0], rows = sizes[4], columns = sizes[5], row_groups = sizes[6], column_tiles = sizes[7], lanes = sizes[8];
    const zf_u32 all = (zf_u32)sizes[1], range = (zf_u32)sizes[2], piece = (zf_u32)sizes[9], turns = (zf_u32)sizes[10], tall = turns * @TALL@u;
    const @INDEX@ first_row = ZF_GROUP_X % row_groups * tall, first_lane = ZF_GROUP_X / row_groups * (@INDEX@)@THREADS@u;
    const @INDEX@ first = first_lane / column_tiles, last_lane = (first_lane + @THREADS@u < lanes ? first_lane + @THREADS@u : lanes) - 1;
    const zf_u32 many = (zf_u32)(last_lane / column_tiles - first) + 1u, apart = piece * tall + @QUAD@u;
    const int live = first_lane + ZF_TID <= last_lane;
    const @INDEX@ lane = live ? first_lane + ZF_TID : first_lane;
    const zf_u32 mine = (zf_u32)(lane / column_tiles - first);
    const @INDEX@ first_column = lane % column_tiles;
    ZF_IN(@INDEX@) row_list = places + (@INDEX@)all * @TABLES@u;
    ZF_IN(@INDEX@) column_list = row_list + rows * (@TABLES@u + 1u);
    ZF_IN(@INDEX@) other_list = column_list + columns * (@TABLES@u + 1u) + first * (@TABLES@u + 1u);
    for (zf_u32 e = ZF_TID; e < many * (@TABLES@u + 1u); e += @THREADS@u) begins[e] = other_list[e];
    for (zf_u32 e = ZF_TID; e < tall * (@TABLES@u + 1u); e += @THREADS@u) {
        const @INDEX@ row = first_row + e / (@TABLES@u + 1u);
        row_begins[e] = row_list[(row < rows ? row : 0) * (@TABLES@u + 1u) + e % (@TABLES@u + 1u)];
    }
    @LINES@
    @INDEX@ there[@WIDE@];
    ZF_UNROLL for (zf_u32 j = 0u; j < @WIDE@u; j++) {
        const @INDEX@ column = first_column + j * column_tiles;
        ZF_IN(@INDEX@) at = column_list + (column < columns ? column : 0) * (@TABLES@u + 1u);
        @COLUMN_LINES@
        there[j] = at[@TABLES@u];
    }
    const zf_u32 begin = ZF_GROUP_Y * range, end = begin + range < all ? begin + range : all;
    ZF_BARRIER();
    ZF_SHARED_ARG const @INDEX@* own = begins + mine * (@TABLES@u + 1u);
    ZF_UNROLL for (zf_u32 j = 0u; j < @WIDE@u; j++) { @ADD_OWN@ there[j] += own[@TABLES@u] + (@INDEX@)ZF_GROUP_Y * out_len; }
    @T@ total[@TALL@][@WIDE@];
    for (zf_u32 from = begin; from < end; from += piece) {
        const zf_u32 steps = end - from < piece ? end - from : piece;
        ZF_IN(@INDEX@) depth = places + (@INDEX@)from * @TABLES@u;
        for (zf_u32 e = ZF_TID; e < steps * @TABLES@u; e += @THREADS@u) deep[e] = depth[e];
        ZF_UNROLL_BY(4) for (zf_u32 e = ZF_TID; e < many * steps * tall; e += @THREADS@u) {
            const zf_u32 of = e % many, i = e / many % tall, k = e / many / tall;
            ZF_SHARED_ARG const @INDEX@* here = begins + of * (@TABLES@u + 1u);
            ZF_SHARED_ARG const @INDEX@* row = row_begins + i * (@TABLES@u + 1u);
            ZF_IN(@INDEX@) at = depth + k * @TABLES@u;
            (void)here; (void)row; (void)at;
            X(of)[k * tall + i] = first_row + i < rows ? @X@ : 0;
        }
        ZF_BARRIER();
        for (zf_u32 turn = 0u; turn < turns; turn++) {
            const zf_u32 row0 = turn * @TALL@u;
            if (first_row + row0 >= rows) break;
            ZF_SHARED_ARG const @T@* mine_x = X(mine) + row0;
            if (from == begin) {
                ZF_UNROLL for (zf_u32 i = 0u; i < @TALL@u; i++)
                    ZF_UNROLL for (zf_u32 j = 0u; j < @WIDE@u; j++) total[i][j] = 0;
            }
            zf_u32 k = 0u;
            for (; k + @AHEAD@u <= steps; k += @AHEAD@u) { STEPS(@AHEAD@u, 0) }
            @REST_LOOP@ { STEPS(@REST@u, 1) }
            if (from + piece >= end) {
                ZF_UNROLL for (zf_u32 j = 0u; j < @WIDE@u; j++)
                    if (live && first_column + j * column_tiles < columns) {
                        ZF_UNROLL for (zf_u32 i = 0u; i < @TALL@u; i++)
                            if (first_row + row0 + i < rows) out[there[j] + row_begins[(row0 + i) * (@TABLES@u + 1u) + @TABLES@u]] = @LAST@;
                    }
            }
        }
        ZF_BARRIER();
    }
}
