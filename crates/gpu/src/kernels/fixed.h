// Sums that do not depend on the order of their terms: whole numbers of two's complement in words of 32 bits, the lowest first
// (core: fold/scale.rs). Every addition that wraps a word carries into the next one, by whoever made it wrap.

// Adds 1, or -1, to a sum in device memory from word `at` on.
ZF_SLOW_FN void zf_carry(ZF_OUT(zf_u32) sum, zf_u32 at, zf_u32 words, int less) {
    for (; at < words; at++) {
        const zf_u32 old = ZF_ADD_GLOBAL(&sum[at], less ? 0xffffffffu : 1u);
        if (old != (less ? 0u : 0xffffffffu)) break;
    }
}
// A finite term, cut off toward zero at 2^lowest: its magnitude in three words from `first` on, and whether it is negative.
typedef struct { zf_u64 low; zf_u32 top, first; int less; } zf_digits;
ZF_FN zf_digits zf_digits_of(zf_i32 lowest, double term) {
    const zf_u64 bits = zf_bits(term);
    const zf_i32 field = (zf_i32)((bits >> 52) & 0x7ffUL);
    zf_u64 digits = (bits & 0x000fffffffffffffUL) | (field != 0 ? 0x0010000000000000UL : 0UL);
    zf_i32 above = (field != 0 ? field : 1) - 1075 - lowest;
    if (above < 0) { digits = above > -64 ? digits >> (zf_u32)(-above) : 0UL; above = 0; }
    const zf_u32 shift = (zf_u32)above % 32u;
    zf_digits out;
    out.low = digits << shift;
    out.top = shift != 0u ? (zf_u32)(digits >> (64u - shift)) : 0u;
    out.first = (zf_u32)above / 32u;
    out.less = (int)(bits >> 63);
    return out;
}
// Its word `at`, which is not below the first.
ZF_FN zf_u64 zf_word_of(zf_digits digits, zf_u32 at) {
    const zf_u32 place = at - digits.first;
    return place == 0u ? (zf_u64)(zf_u32)digits.low : place == 1u ? digits.low >> 32 : place == 2u ? (zf_u64)digits.top : 0UL;
}
// Adds a finite term, cut off toward zero at 2^lowest, to a sum in device memory.
ZF_SLOW_FN void zf_add_term(ZF_OUT(zf_u32) sum, zf_u32 words, zf_i32 lowest, double term) {
    const zf_digits digits = zf_digits_of(lowest, term);
    zf_u64 carry = 0UL;
    for (zf_u32 at = digits.first; at < words; at++) {
        const zf_u64 word = zf_word_of(digits, at) + carry;
        if (word == 0UL && at > digits.first + 1u) break;
        const zf_u32 v = (zf_u32)word;
        const zf_u32 old = ZF_ADD_GLOBAL(&sum[at], digits.less ? 0u - v : v);
        carry = (word >> 32) + (digits.less ? old < v : (zf_u32)(old + v) < old);
    }
}
// Adds digits to a sum of a block that has their three words, and whose last word has the sign; what overflows it goes to device
// memory. Without a loop: threads of a warp that leave loops at different steps work one after another.
ZF_FN void zf_put_digits(ZF_SHARED_ARG zf_u32* to, zf_u32 next, zf_u32 count, zf_digits digits, ZF_OUT(zf_u32) sum, zf_u32 words) {
    const zf_u32 flip = digits.less ? 0xffffffffu : 0u;
    zf_u32 at = digits.first;
    zf_u32 v = (zf_u32)digits.low;
    zf_u32 old = ZF_ADD_SHARED(&to[at * next], (v ^ flip) - flip);
    zf_u64 word = (digits.low >> 32) + (digits.less ? old < v : (zf_u32)(old + v) < old);
    v = (zf_u32)word;
    at++;
    old = ZF_ADD_SHARED(&to[at * next], (v ^ flip) - flip);
    v = digits.top + (zf_u32)(word >> 32) + (digits.less ? old < v : (zf_u32)(old + v) < old);
    at++;
    old = ZF_ADD_SHARED(&to[at * next], (v ^ flip) - flip);
    zf_u32 now = old + ((v ^ flip) - flip);
    zf_u32 carry = digits.less ? old < v : now < old;
    zf_u32 over = digits.less ? (old ^ v) & (old ^ now) : (old ^ now) & (v ^ now);
    // Hardly ever a word further.
    while (carry != 0u && at + 1u < count) {
        at++;
        v = 1u;
        old = ZF_ADD_SHARED(&to[at * next], (v ^ flip) - flip);
        now = old + ((v ^ flip) - flip);
        carry = digits.less ? old < v : now < old;
        over = digits.less ? (old ^ v) & (old ^ now) : (old ^ now) & (v ^ now);
    }
    if (at + 1u == count && (over >> 31) != 0u) zf_carry(sum, count, words, digits.less);
}
// As zf_add_term, to a sum of a block.
ZF_SLOW_FN void zf_add_digits(ZF_SHARED_ARG zf_u32* to, zf_u32 next, zf_u32 count, zf_i32 lowest, double term, ZF_OUT(zf_u32) sum,
    zf_u32 words) {
    zf_put_digits(to, next, count, zf_digits_of(lowest, term), sum, words);
}
// Terms of any size (plan: device/fixed.rs). The bits of a magnitude, those of infinity, and the exponent of the last digit.
#define ZF_SIZE(term) (zf_bits(term) & 0x7fffffffffffffffUL)
#define ZF_ENDLESS 0x7ff0000000000000UL
#define ZF_LEAST (-1074)
// Adds a term to a sum in device memory, or marks behind its words what is not finite.
ZF_SLOW_FN void zf_add_far(ZF_OUT(zf_u32) sum, zf_u32 words, double term) {
    const zf_u64 size = ZF_SIZE(term);
    if (size > ZF_ENDLESS) sum[words] = 1u;
    else if (size == ZF_ENDLESS) sum[words + 1u + (zf_u32)(zf_bits(term) >> 63)] = 1u;
    else if (size != 0UL) zf_add_term(sum, words, ZF_LEAST, term);
}
// Adds a term to the words from `from` on that a block has, where it fits there.
ZF_SLOW_FN void zf_add_near(ZF_SHARED_ARG zf_u32* to, zf_u32 next, zf_u32 count, zf_u32 from, double term, ZF_OUT(zf_u32) sum,
    zf_u32 words) {
    const zf_u64 size = ZF_SIZE(term);
    if (size == 0UL) return;
    zf_digits digits = zf_digits_of(ZF_LEAST, term);
    if (size >= ZF_ENDLESS || digits.first < from || digits.first + 2u >= from + count) {
        zf_add_far(sum, words, term);
        return;
    }
    digits.first -= from;
    zf_put_digits(to, next, count, digits, sum + from, words - from);
}
// Adds a sum of a block, the last of whose words has the sign, to one in device memory.
ZF_SLOW_FN void zf_add_sum(ZF_SHARED_ARG const zf_u32* from, zf_u32 next, zf_u32 count, ZF_OUT(zf_u32) sum, zf_u32 words) {
    const int less = (int)(from[(count - 1u) * next] >> 31);
    zf_u64 one = (zf_u64)less, carry = 0UL;
    for (zf_u32 at = 0u; at < words; at++) {
        zf_u64 word = 0UL;
        if (at < count) {
            // The magnitude.
            word = (zf_u64)(less ? ~from[at * next] : from[at * next]) + one;
            one = word >> 32;
            word &= 0xffffffffUL;
        }
        word += carry;
        if (at >= count && word == 0UL) break;
        const zf_u32 v = (zf_u32)word;
        carry = word >> 32;
        if (v != 0u) {
            const zf_u32 old = ZF_ADD_GLOBAL(&sum[at], less ? 0u - v : v);
            carry += less ? old < v : (zf_u32)(old + v) < old;
        }
    }
}
