// The @K@ best of an anchor in device memory, place p of slot s at [p · lanes + s]: ascending where they are few, a heap with
// the worst on top where they are many. An empty place has no index, and all come before it; NaN comes after every number.
ZF_FN int zf_before(double v, zf_u32 i, double w, zf_u32 j) {
    if (i == 0xffffffffu || j == 0xffffffffu) return i != 0xffffffffu;
    if (v != v || w != w) return (v != v && w != w) ? i < j : w != w;
    return v < w || (v == w && i < j);
}
#if @HEAP@
#define ZF_WORST 0u
// Lets (v, i) sink from the top of a heap of `end` places.
ZF_FN void zf_sink(ZF_OUT(double) near_v, ZF_OUT(zf_u32) near_i, size_t slot, size_t lanes, zf_u32 end, double v, zf_u32 i) {
    zf_u32 p = 0u;
    for (zf_u32 c = 1u; c < end; c = 2u * p + 1u) {
        double cv = near_v[c * lanes + slot];
        zf_u32 ci = near_i[c * lanes + slot];
        if (c + 1u < end) {
            const double dv = near_v[(c + 1u) * lanes + slot];
            const zf_u32 di = near_i[(c + 1u) * lanes + slot];
            if (zf_before(cv, ci, dv, di)) { cv = dv; ci = di; c++; }
        }
        if (!zf_before(v, i, cv, ci)) break;
        near_v[p * lanes + slot] = cv;
        near_i[p * lanes + slot] = ci;
        p = c;
    }
    near_v[p * lanes + slot] = v;
    near_i[p * lanes + slot] = i;
}
ZF_FN void zf_keep(ZF_OUT(double) near_v, ZF_OUT(zf_u32) near_i, size_t slot, size_t lanes, double v, zf_u32 i) {
    if (zf_before(v, i, near_v[slot], near_i[slot])) zf_sink(near_v, near_i, slot, lanes, @K@u, v, i);
}
// The heap turned into ascending order.
ZF_FN void zf_settle(ZF_OUT(double) near_v, ZF_OUT(zf_u32) near_i, size_t slot, size_t lanes) {
    for (zf_u32 end = @K@u - 1u; end > 0u; end--) {
        const double v = near_v[end * lanes + slot];
        const zf_u32 i = near_i[end * lanes + slot];
        near_v[end * lanes + slot] = near_v[slot];
        near_i[end * lanes + slot] = near_i[slot];
        zf_sink(near_v, near_i, slot, lanes, end, v, i);
    }
}
#else
#define ZF_WORST (@K@u - 1u)
ZF_FN void zf_keep(ZF_OUT(double) near_v, ZF_OUT(zf_u32) near_i, size_t slot, size_t lanes, double v, zf_u32 i) {
    zf_u32 p = ZF_WORST;
    if (!zf_before(v, i, near_v[p * lanes + slot], near_i[p * lanes + slot])) return;
    for (; p > 0u; p--) {
        const double pv = near_v[(p - 1u) * lanes + slot];
        const zf_u32 pi = near_i[(p - 1u) * lanes + slot];
        if (!zf_before(v, i, pv, pi)) break;
        near_v[p * lanes + slot] = pv;
        near_i[p * lanes + slot] = pi;
    }
    near_v[p * lanes + slot] = v;
    near_i[p * lanes + slot] = i;
}
#endif
ZF_FN void zf_empty(ZF_OUT(double) near_v, ZF_OUT(zf_u32) near_i, size_t slot, size_t lanes) {
    for (zf_u32 p = 0u; p < @K@u; p++) { near_v[p * lanes + slot] = ZF_INF_D; near_i[p * lanes + slot] = 0xffffffffu; }
}
