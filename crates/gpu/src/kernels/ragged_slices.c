        if (left >= @SLICE@u) {
@WHOLE@
        } else {
            @T@ xv[1][@XV@], yv[1][@YV@];
            for (zf_u32 kk = 0; kk < left; kk++) {
                const int now = 0;
@READ@
@EVERY@
            }
        }