/* Seconds of 10^9 components of a formula's instruction mix on one core with AVX-512, everything in registers: the floor under
 * any code for it. Prints a line each: NAME PRECISION SECONDS.   cc -O2 -mavx512f -mavx512dq jit_mix.c -o jit_mix */
#include <immintrin.h>
#include <stdio.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

/* Eight accumulators, as the jit's tile has. %0 accumulates; %1 and %2 are a component of x and of y, %3 all bits but the
 * sign; temporaries are fixed. */
#define MIX(name, p, lanes, code)                                                                                    \
  {                                                                                                                  \
    double best = 1e9;                                                                                               \
    const long vectors = 4000000;                                                                                    \
    for (int turn = 0; turn < 9; turn++) {                                                                           \
      const int wide = p[1] == 'd';                                                                                  \
      __m512 x = wide ? _mm512_castpd_ps(_mm512_set1_pd(1.7)) : _mm512_set1_ps(1.7f);                                \
      __m512 y = wide ? _mm512_castpd_ps(_mm512_set1_pd(2.9)) : _mm512_set1_ps(2.9f);                                \
      __m512 acc[8], bits = _mm512_castsi512_ps(_mm512_set1_epi64(0x7fffffff7fffffff));                              \
      for (int i = 0; i < 8; i++) acc[i] = x;                                                                        \
      double t = now();                                                                                              \
      for (long i = 0; i < vectors / 8; i++)                                                                         \
        for (int j = 0; j < 8; j++)                                                                                  \
          __asm__ volatile(code : "+v"(acc[j]) : "v"(x), "v"(y), "v"(bits) : "zmm28", "zmm29", "zmm30", "zmm31", "k1"); \
      t = now() - t;                                                                                                 \
      if (t < best) best = t;                                                                                        \
    }                                                                                                                \
    printf("%s %s %.4f\n", name, p[1] == 'd' ? "f64" : "f32", best / (vectors * (double)lanes) * 1e9);              \
  }
#define ALL(p, lanes)                                                                                                \
  MIX("canberra", p, lanes,                                                                                          \
      "vadd" p " %1,%2,%%zmm28\n\tvcmp" p " $0,%1,%%zmm28,%%k1\n\tvsub" p " %1,%2,%%zmm29\n\tvand" p                 \
      " %3,%%zmm29,%%zmm29\n\tvdiv" p " %%zmm28,%%zmm29,%%zmm29\n\tvblendm" p                                        \
      " %1,%%zmm29,%%zmm30%{%%k1%}\n\tvadd" p " %%zmm30,%0,%0")                                                      \
  MIX("braycurtis", p, lanes,                                                                                        \
      "vsub" p " %1,%2,%%zmm28\n\tvand" p " %3,%%zmm28,%%zmm28\n\tvadd" p " %1,%2,%%zmm29\n\tvand" p                 \
      " %3,%%zmm29,%%zmm29\n\tvadd" p " %%zmm28,%0,%0\n\tvadd" p " %%zmm29,%1,%%zmm31")                         \
  MIX("hamming", p, lanes, "vcmp" p " $4,%1,%2,%%k1\n\tvadd" p " %1,%0,%0%{%%k1%}")                                  \
  MIX("five", p, lanes,                                                                                              \
      "vsub" p " %1,%2,%%zmm28\n\tvand" p " %3,%%zmm28,%%zmm28\n\tvadd" p " %1,%2,%%zmm29\n\tvmul" p                 \
      " %%zmm28,%%zmm29,%%zmm29\n\tvmul" p " %1,%%zmm29,%%zmm29\n\tvadd" p " %%zmm29,%0,%0")

int main(void) {
  ALL("pd", 8)
  ALL("ps", 16)
  return 0;
}
