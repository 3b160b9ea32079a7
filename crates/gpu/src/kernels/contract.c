// Two tables to one: out[b, r, c] = fold over k of a[b, r, k] * b[b, c, k], each index a list of digits with a stride in every table.
//
// a thread block takes one tile of rows and columns of one configuration of b, and a range of k
// it looks up once where its rows and columns begin
// for each step of k: values of the next step are fetched while those of this one, in shared memory, are folded in registers
#define ROW(i) (((i) / @QUAD@u) * @ROWS_APART@u + row * @QUAD@u + (i) % @QUAD@u)
#define COLUMN(j) ((j) * @COLUMNS_APART@u + column)
// Entry e of a slice of one table: its place along the folded index, and its row or column.
#define STEP_OF(e, along, lines) ((along) ? (e) % @STEP@u : (e) / (lines))
#define LINE_OF(e, along, lines) ((along) ? (e) / @STEP@u : (e) % (lines))
#define FETCH_ONE(table, next, many, begins, along, lines, stride, which, from)                                                  \
    ZF_UNROLL for (zf_u32 i = 0u; i < (many); i++) {                                                                             \
        const zf_u32 e = ZF_TID + i * @THREADS@u, k = (from) + STEP_OF(e, along, lines);                                         \
        const zf_u32 inside = k < end ? k : end - 1u;                                                                            \
        const @INDEX@ at = linear ? inside * (stride) : depth[2u * inside + (which)];                                            \
        next[i] = k < end ? table[begins[LINE_OF(e, along, lines)] + at] : 0;                                                    \
    }
#define KEEP_ONE(next, many, held, along, lines, buffer)                                                                         \
    ZF_UNROLL for (zf_u32 i = 0u; i < (many); i++) {                                                                             \
        const zf_u32 e = ZF_TID + i * @THREADS@u;                                                                                \
        held[buffer][STEP_OF(e, along, lines)][LINE_OF(e, along, lines)] = next[i];                                              \
    }
#define FETCH(from)                                                                                                              \
    FETCH_ONE(a, next_a, @FETCH_A@u, from_a, @A_ALONG_K@, @ROWS@u, depth_a, 0u, from)                                            \
    FETCH_ONE(b, next_b, @FETCH_B@u, from_b, @B_ALONG_K@, @COLUMNS@u, depth_b, 1u, from)
#define KEEP(buffer)                                                                                                             \
    KEEP_ONE(next_a, @FETCH_A@u, held_a, @A_ALONG_K@, @ROWS@u, buffer)                                                           \
    KEEP_ONE(next_b, @FETCH_B@u, held_b, @B_ALONG_K@, @COLUMNS@u, buffer)
ZF_KERNEL ZF_BOUNDS(@THREADS@, 1) void zf_contract(ZF_IN(@T@) a, ZF_IN(@T@) b, ZF_OUT(@T@) out, ZF_IN(@INDEX@) sizes, ZF_IN(@INDEX@) depth@SHIFT@)
{
    ZF_SHARED @T@ held_a[2][@STEP@][@ROWS@ + 4];
    ZF_SHARED @T@ held_b[2][@STEP@][@COLUMNS@ + 4];
    ZF_SHARED @INDEX@ from_a[@ROWS@];
    ZF_SHARED @INDEX@ from_b[@COLUMNS@];
    ZF_SHARED @INDEX@ to_row[@ROWS@];
    ZF_SHARED @INDEX@ to_column[@COLUMNS@];
    const @INDEX@ rows = sizes[0], columns = sizes[1], out_len = sizes[7];
    const zf_u32 all = (zf_u32)sizes[2], range = (zf_u32)sizes[3];
    const zf_u32 row_digits = (zf_u32)sizes[4], column_digits = (zf_u32)sizes[5], batch_digits = (zf_u32)sizes[6];
    const int linear = sizes[8] != 0;
    const @INDEX@ depth_a = sizes[9], depth_b = sizes[10];
    ZF_IN(@INDEX@) row_digit = sizes + 11;
    ZF_IN(@INDEX@) column_digit = row_digit + 3u * row_digits;
    ZF_IN(@INDEX@) batch_digit = column_digit + 3u * column_digits;
    const zf_u32 row_tiles = (zf_u32)((rows + @ROWS@u - 1u) / @ROWS@u), column_tiles = (zf_u32)((columns + @COLUMNS@u - 1u) / @COLUMNS@u);
    zf_u32 group = ZF_GROUP_X;
    const @INDEX@ first_row = (@INDEX@)(group % row_tiles) * @ROWS@u;
    group /= row_tiles;
    const @INDEX@ first_column = (@INDEX@)(group % column_tiles) * @COLUMNS@u;
    group /= column_tiles;
    @INDEX@ base_a = 0, base_b = 0, base_out = (@INDEX@)ZF_GROUP_Y * out_len;
    for (zf_u32 d = 0u; d < batch_digits; d++) {
        const zf_u32 card = (zf_u32)batch_digit[4u * d], value = group % card;
        group /= card;
        base_a += value * batch_digit[4u * d + 1u];
        base_b += value * batch_digit[4u * d + 2u];
        base_out += value * batch_digit[4u * d + 3u];
    }
    for (zf_u32 i = ZF_TID; i < @ROWS@u; i += @THREADS@u) {
        @INDEX@ left = first_row + i < rows ? first_row + i : 0, from = base_a, to = 0;
        for (zf_u32 d = 0u; d < row_digits; d++) {
            const @INDEX@ card = row_digit[3u * d], value = left % card;
            left /= card;
            from += value * row_digit[3u * d + 1u];
            to += value * row_digit[3u * d + 2u];
        }
        from_a[i] = from;
        to_row[i] = to;
    }
    for (zf_u32 i = ZF_TID; i < @COLUMNS@u; i += @THREADS@u) {
        @INDEX@ left = first_column + i < columns ? first_column + i : 0, from = base_b, to = 0;
        for (zf_u32 d = 0u; d < column_digits; d++) {
            const @INDEX@ card = column_digit[3u * d], value = left % card;
            left /= card;
            from += value * column_digit[3u * d + 1u];
            to += value * column_digit[3u * d + 2u];
        }
        from_b[i] = from;
        to_column[i] = to;
    }
    ZF_BARRIER();
    const zf_u32 begin = ZF_GROUP_Y * range, end = begin + range < all ? begin + range : all;
    const zf_u32 column = ZF_TID % @COLUMNS_APART@u, row = ZF_TID / @COLUMNS_APART@u;
    @T@ next_a[@FETCH_A@], next_b[@FETCH_B@], total[@TALL@][@WIDE@];
    ZF_UNROLL for (zf_u32 i = 0u; i < @TALL@u; i++)
        ZF_UNROLL for (zf_u32 j = 0u; j < @WIDE@u; j++) total[i][j] = 0;
    FETCH(begin)
    KEEP(0)
    ZF_BARRIER();
    zf_u32 buffer = 0u;
    for (zf_u32 at = begin; at < end; at += @STEP@u) {
        const int more = at + @STEP@u < end;
        if (more) { FETCH(at + @STEP@u) }
        ZF_UNROLL for (zf_u32 k = 0u; k < @STEP@u; k++) {
            @T@ x[@TALL@], y[@WIDE@];
            ZF_UNROLL for (zf_u32 i = 0u; i < @TALL@u; i++) x[i] = held_a[buffer][k][ROW(i)];
            ZF_UNROLL for (zf_u32 j = 0u; j < @WIDE@u; j++) y[j] = held_b[buffer][k][COLUMN(j)];
            ZF_UNROLL for (zf_u32 i = 0u; i < @TALL@u; i++)
                ZF_UNROLL for (zf_u32 j = 0u; j < @WIDE@u; j++) total[i][j] = @FOLD@;
        }
        buffer ^= 1u;
        if (more) { KEEP(buffer) }
        ZF_BARRIER();
    }
    ZF_UNROLL for (zf_u32 i = 0u; i < @TALL@u; i++) {
        const zf_u32 r = ROW(i);
        if (first_row + r < rows) {
            ZF_UNROLL for (zf_u32 j = 0u; j < @WIDE@u; j++) {
                const zf_u32 c = COLUMN(j);
                if (first_column + c < columns) out[base_out + to_row[r] + to_column[c]] = @LAST@;
            }
        }
    }
}
