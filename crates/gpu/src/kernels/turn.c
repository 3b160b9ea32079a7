ZF_BARRIER();
    ZF_UNROLL for (zf_u32 p = 0u; p < 4u; p++) {
        const zf_u32 ii = block_i * 32u + tx, down = block_j * 32u + p * 8u + ty;
        if (ii < rows && down < cols) mirror[(size_t)down * rows + ii] = turned[(p * 8u + ty) * 33u + tx];
    }
