            @T@ xv[1][@XV@], yv[1][@YV@];
            ZF_UNROLL for (zf_u32 kk = 0; kk < @SLICE@u; kk++) {
                const int now = 0;
@READ@
@EVERY@
            }