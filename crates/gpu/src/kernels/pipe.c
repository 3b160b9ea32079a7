    // @STAGES@ slices in shared memory: copies to them run on their own, @STAGES@ - 1 slices ahead of the work.
    // Places are one address a side and constants, so that loads need no arithmetic of their own.
    zf_u32 stage = 0u;
    ZF_GLOBAL const @T@* x_next = &x[x_panel + tid * @LANES@u];
    ZF_GLOBAL const @T@* y_next = &y[y_panel + tid * @LANES@u];
    ZF_UNROLL for (zf_u32 into = 0u; into < @STAGES@u - 1u; into++) {
        ZF_SHARED_ARG @T@* to = &slices[into * @STAGE@u + tid * @LANES@u];
        if (into * @SLICE@u < DIM) {
@COPY@
        }
        ZF_COPY_COMMIT();
        x_next += @SLICE@ * 128; y_next += @SLICE@ * 128;
    }
    for (zf_u32 k0 = 0; k0 < DIM; k0 += @SLICE@u) {
        ZF_COPY_WAIT(@WAIT@);
        ZF_BARRIER();
        const zf_u32 left = DIM - k0;
        (void)left;
        if (k0 + (@STAGES@u - 1u) * @SLICE@u < DIM) {
            ZF_SHARED_ARG @T@* to = &slices[(stage == 0u ? @STAGES@u - 1u : stage - 1u) * @STAGE@u + tid * @LANES@u];
@COPY@
        }
        ZF_COPY_COMMIT();
        x_next += @SLICE@ * 128; y_next += @SLICE@ * 128;
        ZF_SHARED_ARG const @T@* x_here = &slices[stage * @STAGE@u + @XT@ * 4u];
        ZF_SHARED_ARG const @T@* y_here = &slices[stage * @STAGE@u + @YT@ * 4u];
@WORK@
        stage = stage + 1u == @STAGES@u ? 0u : stage + 1u;
@CARRY@
    }
