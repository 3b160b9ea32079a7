    // The next slice is fetched into registers while this one is worked on.
    zf_u32 stage = 0u;
    {
        const zf_u32 k0 = 0u;
@FETCH@
@PUT@
    }
    ZF_BARRIER();
    for (zf_u32 k0 = 0; k0 < DIM; k0 += @SLICE@u) {
        const zf_u32 left = DIM - k0;
        @VECTOR@ ahead[@FETCHES@];
        if (left > @SLICE@u) { const zf_u32 k1 = k0 + @SLICE@u;
@AHEAD@
        }
        ZF_SHARED_ARG const @T@* x_here = &slices[stage * @STAGE@u + @XT@ * 4u];
        ZF_SHARED_ARG const @T@* y_here = &slices[stage * @STAGE@u + @YT@ * 4u];
@WORK@
        if (left > @SLICE@u) {
            stage ^= 1u;
@PUT_AHEAD@
            ZF_BARRIER();
        }
@CARRY@
    }
