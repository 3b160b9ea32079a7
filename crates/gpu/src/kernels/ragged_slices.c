        if (left >= @SLICE@u) {
@WHOLE@
        } else {
            for (zf_u32 kk = 0; kk < left; kk++) {
                const zf_u32 k = k0 + kk; (void)k;
                @T@ xv[@XV@], yv[@YV@];
@READ@
@EVERY@
            }
        }