        if (left >= @SLICE@u) {
@WHOLE@
        } else {
            for (zf_u32 kk = 0; kk < left; kk++) {
                @T@ xv[@XV@], yv[@YV@];
@READ@
@EVERY@
            }
        }