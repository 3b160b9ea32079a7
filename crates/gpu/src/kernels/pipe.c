    // @STAGES@ slices in shared memory: copies to them run on their own, @STAGES@ - 1 slices ahead of the work.
    zf_u32 stage = 0u;
    ZF_UNROLL for (zf_u32 into = 0u; into < @STAGES@u - 1u; into++) {
        const zf_u32 k1 = into * @SLICE@u;
        if (k1 < DIM) {
@COPY@
        }
        ZF_COPY_COMMIT();
    }
    for (zf_u32 k0 = 0; k0 < DIM; k0 += @SLICE@u) {
        ZF_COPY_WAIT(@WAIT@);
        ZF_BARRIER();
        const zf_u32 left = DIM - k0;
        (void)left;
        const zf_u32 k1 = k0 + (@STAGES@u - 1u) * @SLICE@u, into = stage == 0u ? @STAGES@u - 1u : stage - 1u;
        if (k1 < DIM) {
@COPY@
        }
        ZF_COPY_COMMIT();
@WORK@
        stage = stage + 1u == @STAGES@u ? 0u : stage + 1u;
@CARRY@
    }
