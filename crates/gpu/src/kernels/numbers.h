// The elementary functions behind every reference value: the bits of `core/number`, operation by operation.
#define ZF_INF_D zf_of_bits(0x7ff0000000000000UL)
#define ZF_NAN_D zf_of_bits(0x7ff8000000000000UL)
#define ZF_INF_F zf_of_bits_f(0x7f800000u)
#define ZF_NAN_F zf_of_bits_f(0x7fc00000u)
ZF_FN double zf_exp_d(double x) {
    const double shift = 6755399441055744.0;
    double clamped = x < -746.0 ? -746.0 : x;
    clamped = clamped > 710.0 ? 710.0 : clamped;
    const double shifted = clamped * 1.4426950408889634 + shift;
    const double k = shifted - shift;
    const double r = (clamped - k * 6.931471803691238e-1) - k * 1.9082149292705877e-10;
    double q = 1.0 / 6227020800.0;
    q = q * r + 1.0 / 479001600.0;
    q = q * r + 1.0 / 39916800.0;
    q = q * r + 1.0 / 3628800.0;
    q = q * r + 1.0 / 362880.0;
    q = q * r + 1.0 / 40320.0;
    q = q * r + 1.0 / 5040.0;
    q = q * r + 1.0 / 720.0;
    q = q * r + 1.0 / 120.0;
    q = q * r + 1.0 / 24.0;
    q = q * r + 1.0 / 6.0;
    q = q * r + 0.5;
    const double p = r + r * r * q;
    const zf_i64 ki = (zf_i64)zf_bits(shifted) - (zf_i64)zf_bits(shift);
    const zf_i64 low = ki >> 1;
    const double a = zf_of_bits((zf_u64)((1023 + low) << 52));
    const double b = zf_of_bits((zf_u64)((1023 + ki - low) << 52));
    const double y = (1.0 + p) * a * b;
    return x != x ? x : y;
}
ZF_FN double zf_log_d(double x) {
    const int tiny = x < 2.2250738585072014e-308;
    const double scaled = tiny ? x * 18014398509481984.0 : x;
    const zf_u64 bits = zf_bits(scaled);
    const zf_u64 shifted = bits + (0x3ff0000000000000UL - 0x3fe6a09e00000000UL);
    const zf_i64 biased = (zf_i64)(shifted >> 52) - 1023;
    const double mantissa = zf_of_bits((shifted & 0x000fffffffffffffUL) + 0x3fe6a09e00000000UL);
    const double k = (double)biased - (tiny ? 54.0 : 0.0);
    const double f = mantissa - 1.0;
    const double s = f / (2.0 + f);
    const double z = s * s;
    const double w = z * z;
    const double even =
        w * (3.999999999940942e-1 + w * (2.2222198432149784e-1 + w * 1.5313837699209373e-1));
    const double odd = z * (6.666666666666735e-1
        + w * (2.857142874366239e-1 + w * (1.818357216161805e-1 + w * 1.4798198605116586e-1)));
    const double half_square = 0.5 * f * f;
    double y = s * (half_square + (even + odd)) + k * 1.9082149292705877e-10 - half_square + f + k * 6.931471803691238e-1;
    y = x == 0.0 ? -ZF_INF_D : y;
    y = x == ZF_INF_D ? x : y;
    return (x < 0.0 || x != x) ? ZF_NAN_D : y;
}
ZF_FN double zf_max_d(double a, double b) {
    return a == b ? zf_of_bits(zf_bits(a) & zf_bits(b)) : ((a > b || a != a) ? a : b);
}
ZF_FN double zf_min_d(double a, double b) {
    return a == b ? zf_of_bits(zf_bits(a) | zf_bits(b)) : ((a < b || a != a) ? a : b);
}
// The nearest image in a box of length l; without a division where it has the same bits (core: Orthorhombic::nearest_within).
ZF_FN double zf_image_d(double d, double l) {
    const double middle = 0.5 * l;
    const double down = d > middle ? -l : 0.0;
    return zf_abs_d(d) <= l ? d + (d < -middle ? l : down) : d - l * zf_round_d(d / l);
}
#define zf_sign_d(x) ((x) > 0.0 ? 1.0 : ((x) < 0.0 ? -1.0 : (x)))
#define zf_sign_f(x) ((x) > 0.0f ? 1.0f : ((x) < 0.0f ? -1.0f : (x)))
ZF_FN double zf_popcount_d(double x) {
    return x >= 0.0 && x < 9007199254740992.0 && x == zf_floor_d(x) ? (double)ZF_ONES((zf_u64)x) : ZF_NAN_D;
}
ZF_FN double zf_bitand_d(double x, double y) {
    return x >= 0.0 && x < 9007199254740992.0 && x == zf_floor_d(x) && y >= 0.0 && y < 9007199254740992.0 && y == zf_floor_d(y)
        ? (double)((zf_u64)x & (zf_u64)y) : ZF_NAN_D;
}
ZF_FN float zf_bitand_f(float x, float y) { return (float)zf_bitand_d((double)x, (double)y); }
ZF_FN float zf_popcount_f(float x) { return (float)zf_popcount_d((double)x); }
#define ZF_POWER(name, type, sqrt, powr, trunc, abs) \
    ZF_FN type name##i(type x, zf_i32 n) { \
        type result = 1; \
        type square = x; \
        zf_u32 left = n < 0 ? (zf_u32)(-n) : (zf_u32)n; \
        int started = 0; \
        while (left > 0) { \
            if (left & 1) { result = started ? result * square : square; started = 1; } \
            left >>= 1; \
            if (left > 0) square *= square; \
        } \
        return n < 0 ? 1 / result : result; \
    } \
    ZF_FN type name##h(type x, zf_i32 n) { \
        const zf_i32 whole = (n < 0 ? -n : n) / 2; \
        const type root = sqrt(x); \
        const type power = (whole == 0 ? root : root * name##i(x, whole)) + (type)0; \
        return n < 0 ? 1 / power : power; \
    } \
    ZF_FN type name(type x, type p) { \
        if (p == trunc(p) && abs(p) <= 64) return name##i(x, (zf_i32)p); \
        if (2 * p == trunc(2 * p) && abs(p) <= 16) return name##h(x, (zf_i32)(2 * p)); \
        return powr(x, p); \
    }
ZF_POWER(zf_pow_d, double, zf_sqrt_d, zf_powr_d, zf_trunc_d, zf_abs_d)
ZF_POWER(zf_pow_f, float, zf_sqrt_f, zf_powr_f, zf_trunc_f, zf_abs_f)
// 0 for under, 1 + bin, bins + 1 for over and NaN: the bin is the largest b with edge[b] <= v (core: Axis::place).
ZF_SLOW_FN zf_u32 zf_place(ZF_IN(double) edges, zf_u32 bins, double v, int closed, int kind, double lo, double rate) {
    if (v < edges[0]) return 0u;
    if (v >= edges[bins] || v != v) return (closed && v == edges[bins]) ? bins : bins + 1u;
    zf_u32 bin = 0u;
    if (kind != 0) {
        const double t = ((kind == 2 ? zf_sqrt_d(v) : v) - lo) * rate;
        bin = t > 0.0 ? (t < (double)bins ? (zf_u32)t : bins - 1u) : 0u;
    } else {
        zf_u32 end = bins;
        while (bin + 1u < end) { const zf_u32 mid = (bin + end) / 2u; if (edges[mid] <= v) bin = mid; else end = mid; }
    }
    while (edges[bin] > v) bin--;
    while (edges[bin + 1u] <= v) bin++;
    return bin + 1u;
}
// As zf_place, of bins of equal width: values a millionth of a bin off all edges need none of them.
ZF_FN zf_u32 zf_place_even(ZF_IN(double) edges, zf_u32 bins, double v, int closed, int kind, double lo, double rate) {
    const double t = ((kind == 2 ? zf_sqrt_d(v) : v) - lo) * rate;
    if (t >= (double)bins + 1.0) return bins + 1u;
    const double shifted = t + 6755399441055744.0;
    const double nearest = shifted - 6755399441055744.0;
    if (t > -1.0 && zf_abs_d(t - nearest) > 1e-6) return (zf_u32)zf_bits(shifted) + (nearest > t ? 0u : 1u);
    return zf_place(edges, bins, v, closed, kind, lo, rate);
}
