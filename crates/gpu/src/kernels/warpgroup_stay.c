    if (tid == 0u) {
        zf_expect(&full[@STAGES@], @GROUPS@u * 2048u);
        zf_fetch(&slices[@STAYING_AT@u], &@A@[@A@_rows], @GROUPS@u * 2048u, &full[@STAGES@]);
    }
    zf_await(&full[@STAGES@], 0u);
