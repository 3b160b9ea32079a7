            {
                const zf_u32 s = fetched % @STAGES@u;
                if (fetched >= @STAGES@u) zf_await(&empty[s], fetched / @STAGES@u - 1u & 1u);
                zf_expect(&full[s], @BYTES@);
                zf_fetch(&slices[s * @STAGE@u + @OTHERS_AT@u], &@B@[((size_t)ZF_PANEL_@PB@(next) * @GROUPS@u + slice * @STEP@u) * 128u], @SIDE@, &full[s]);
                @FETCH_ANCHORS@
                @FETCH_NUMBERS@
                fetched++;
                slice++;
                @ADVANCE@
            }
