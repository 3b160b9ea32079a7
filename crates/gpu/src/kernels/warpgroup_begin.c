    // A slice is @STEP@ groups of the rows of a tile. Slices are fetched in the order of tiles, @STAGES@ at a time@HOW@.
    const size_t @A@_rows = (size_t)ZF_PANEL_@PA@(@FIRST_ROW@) * @GROUPS@u * 128u;
    zf_u32 ring = @LAST_RING@u;
    (void)ring;
#if defined(ZF_WARPGROUP)
    zf_u32 taken = 0u, fetched = 0u, slice = 0u, next = @NEXT@, ring_next = 0u;
    (void)ring_next;
    if (tid == 0u) {
        for (zf_u32 s = 0u; s < @STAGES@u; s++) { zf_barrier_make(&full[s], 1u); zf_barrier_make(&empty[s], 4u); }
        zf_barrier_make(&full[@STAGES@], 1u);
        zf_barriers_made();
    }
    ZF_BARRIER();
@START_AHEAD@
@STAY@
#else
@STAY_SLOWLY@
#endif
    ZF_COPY_WAIT(0);
    ZF_BARRIER();
