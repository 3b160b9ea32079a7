// Natural logarithms of mantissas and back, with a shift of double precision: of a large logarithm, single precision has few digits behind the point.
// In single precision the shift is a sum of two numbers, and ln 2 too, whose first part times a power is exact: conversions to double precision take
// as long as all of the rest.
#define ZF_LN2_HIGH 0.693359375f
#define ZF_LN2_LOW -2.12194440e-4f
// e^(log - shift): a power of two, exact, times a number near one.
ZF_FN float zf_mantissa_parts(float log, float high, float low) {
    const float far = log - high;
    // What the difference lost by rounding.
    const float back = far - log, lost = (log - (far - back)) - (high + back);
    const float power = zf_max_f(zf_min_f(zf_round_f(far * 1.44269504f), 127.0f), -126.0f);
    const float rest = zf_fma_f(power, -ZF_LN2_LOW, zf_fma_f(power, -ZF_LN2_HIGH, far)) + (lost - low);
    float sum = 1.9875691500e-4f;
    sum = zf_fma_f(sum, rest, 1.3981999507e-3f);
    sum = zf_fma_f(sum, rest, 8.3334519073e-3f);
    sum = zf_fma_f(sum, rest, 4.1665795894e-2f);
    sum = zf_fma_f(sum, rest, 1.6666665459e-1f);
    sum = zf_fma_f(sum, rest, 5.0000001201e-1f);
    sum = zf_fma_f(sum * rest, rest, rest) + 1.0f;
    const float all = sum * zf_of_bits_f((zf_u32)(127 + (zf_i32)power) << 23);
    return log == -ZF_INF_F ? 0.0f : all;
}
ZF_FN float zf_mantissa_f(float log, double shift) {
    const float high = (float)shift;
    return zf_mantissa_parts(log, high, (float)(shift - (double)high));
}
ZF_FN float zf_logarithm_parts(float mantissa, float high, float low) {
    const zf_u32 bits = zf_bits_f(mantissa) + (0x3f800000u - 0x3f3504f3u);
    const float power = (float)((zf_i32)(bits >> 23) - 127);
    const float f = zf_of_bits_f((bits & 0x007fffffu) + 0x3f3504f3u) - 1.0f, square = f * f;
    float sum = 7.0376836292e-2f;
    sum = zf_fma_f(sum, f, -1.1514610310e-1f);
    sum = zf_fma_f(sum, f, 1.1676998740e-1f);
    sum = zf_fma_f(sum, f, -1.2420140846e-1f);
    sum = zf_fma_f(sum, f, 1.4249322787e-1f);
    sum = zf_fma_f(sum, f, -1.6668057665e-1f);
    sum = zf_fma_f(sum, f, 2.0000714765e-1f);
    sum = zf_fma_f(sum, f, -2.4999993993e-1f);
    sum = zf_fma_f(sum, f, 3.3333331174e-1f);
    const float near = zf_fma_f(square * f, sum, zf_fma_f(-0.5f, square, f));
    const float all = zf_fma_f(power, ZF_LN2_HIGH, high) + (zf_fma_f(power, ZF_LN2_LOW, low) + near);
    return mantissa == 0.0f ? -ZF_INF_F : all;
}
ZF_FN float zf_logarithm_f(float mantissa, double shift) {
    const float high = (float)shift;
    return zf_logarithm_parts(mantissa, high, (float)(shift - (double)high));
}
ZF_FN double zf_mantissa_d(double log, double shift) { return zf_exp_d(log - shift); }
// As zf_log_d of a normal number, with a quotient by two steps of Newton from single precision.
ZF_FN double zf_logarithm_d(double mantissa, double shift) {
    const zf_u64 bits = zf_bits(mantissa) + (0x3ff0000000000000UL - 0x3fe6a09e00000000UL);
    const double k = (double)((zf_i32)(bits >> 52) - 1023);
    const double f = zf_of_bits((bits & 0x000fffffffffffffUL) + 0x3fe6a09e00000000UL) - 1.0;
    const double under = 2.0 + f;
    double turned = (double)(1.0f / (float)under);
    turned += turned * (1.0 - under * turned);
    turned += turned * (1.0 - under * turned);
    const double s = f * turned, z = s * s, w = z * z;
    const double even = w * (3.999999999940942e-1 + w * (2.2222198432149784e-1 + w * 1.5313837699209373e-1));
    const double odd = z * (6.666666666666735e-1 + w * (2.857142874366239e-1 + w * (1.818357216161805e-1 + w * 1.4798198605116586e-1)));
    const double half_square = 0.5 * f * f;
    const double near = s * (half_square + (even + odd)) - half_square + f;
    const double all = near + k * 1.9082149292705877e-10 + (k * 6.931471803691238e-1 + shift);
    return mantissa == 0.0 ? -ZF_INF_D : all;
}
