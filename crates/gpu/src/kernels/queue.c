// Computes the candidates of a thread in double precision and keeps those that belong: an entry is anchor << 20 | other.
ZF_SLOW_FN void zf_flush(ZF_IN(double) x_wide, ZF_IN(double) y_wide, ZF_IN(double) c_wide, ZF_OUT(double) near_v,
    ZF_OUT(zf_u32) near_i, ZF_SHARED_ARG const zf_u32* queue, zf_u32 held, zf_u32 anchor, zf_u32 from, size_t slot, size_t lanes@GIVEN@)
{
    for (zf_u32 e = 0u; e < held; e++) {
        const zf_u32 entry = queue[e * 128u], q = entry >> 20, b = from + (entry & 0xfffffu), mine = anchor + q * 128u;
        const zf_u32 i = @I@, j = @J@;
        zf_keep(near_v, near_i, slot + q * 128u, lanes, @EXACT@, @CALLED@);
    }
}
