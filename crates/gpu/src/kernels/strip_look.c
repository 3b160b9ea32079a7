                // Nearly all rows of a tile have no open pair: bits are set only where one is.
                int open = 0;
                ZF_UNROLL for (int q = 0; q < 16; q++) {
                    const zf_u32 col = ZF_COLUMN(p, q), b = base + col;
                    const size_t @A@_at = @A@_panel + row, @B@_at = @B@_panel + col;
                    (void)@A@_at; (void)@B@_at; (void)b;
@FINISH@
                    open |= @OPENING@;
                }
                if (open)
