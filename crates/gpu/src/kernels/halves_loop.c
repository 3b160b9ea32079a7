    @NUMBER@ sum[@DOWN@][8][4];
    ZF_UNROLL for (int m = 0; m < @DOWN@; m++) ZF_UNROLL for (int n = 0; n < 8; n++) ZF_UNROLL for (int e = 0; e < 4; e++) sum[m][n][e] = @FIRST_SUM@;
    // Copies run on their own, @STAGES@ - 1 slices ahead of the work.
    ZF_UNROLL for (zf_u32 into = 0u; into < @STAGES@u - 1u; into++) {
        if (into * @STEP@u < @GROUPS@u) {
            const zf_u32 k8 = into * @STEP@u;
@COPY@
        }
        ZF_COPY_COMMIT();
    }
    zf_u32 stage = 0u;
    ZF_UNROLL_BY(1) for (zf_u32 k0 = 0u; k0 < @GROUPS@u; k0 += @STEP@u) {
        ZF_COPY_WAIT(@WAIT@);
        ZF_BARRIER();
        const zf_u32 k8 = k0 + (@STAGES@u - 1u) * @STEP@u, into = stage == 0u ? @STAGES@u - 1u : stage - 1u;
        if (k8 < @GROUPS@u) {
@COPY@
        }
        ZF_COPY_COMMIT();
        @MULTIPLY@
        stage = stage + 1u == @STAGES@u ? 0u : stage + 1u;
    }
