            @ALONG@ for (zf_u32 kk = 0; kk < @SLICE@u; kk++) {
                @T@ xv[@XV@], yv[@YV@];
@READ@
@EVERY@
            }