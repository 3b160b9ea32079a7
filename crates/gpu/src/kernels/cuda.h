// The portable dialect on CUDA C++.
#define ZF_KERNEL extern "C" __global__
#define ZF_FN static __device__ __forceinline__
#define ZF_SLOW_FN static __device__ __noinline__
#define ZF_IN(type) const type* __restrict__
#define ZF_OUT(type) type* __restrict__
#define ZF_CONSTANT __device__ const
#define ZF_GLOBAL
#define ZF_SHARED __shared__ __align__(16)
// Shared memory beyond what a kernel has without asking: the launch says how much.
#define ZF_DYNAMIC(type, name, count) extern __shared__ __align__(16) type name[]
#define ZF_SHARED_ARG
#define ZF_TID threadIdx.x
#define ZF_GROUP_X blockIdx.x
#define ZF_GROUP_Y blockIdx.y
#define ZF_GROUPS_X gridDim.x
#define ZF_GROUPS_Y gridDim.y
#define ZF_BARRIER() __syncthreads()
// A barrier that tells whether something may be so for any thread.
#define ZF_BARRIER_ANY(some) __syncthreads_or(some)
#define ZF_REJOIN()
#define ZF_ADD_SHARED(p, v) atomicAdd(p, v)
// Counters in shared memory at a place that is a bin as the bits of a float: an address is one shift and one addition.
#define ZF_FIRST_BIN 0x4b3fffffu
#define ZF_BIN_BASE(bins, copies, copy) ((zf_u32)__cvta_generic_to_shared(bins) + (copy) * 4u - ZF_FIRST_BIN * 4u * (copies))
#define ZF_COUNT(bins, base, place, copies, copy) zf_count((base) + (place) * (4u * (copies)))
#define ZF_ADD_GLOBAL(p, v) atomicAdd(p, v)
#define ZF_SHUFFLE(v, lane) __shfl_sync(0xffffffffu, v, lane)
#define ZF_BOUNDS(threads, blocks) __launch_bounds__(threads, blocks)
#define ZF_UNROLL _Pragma("unroll")
#define ZF_PRAGMA(text) _Pragma(#text)
#define ZF_UNROLL_BY(n) ZF_PRAGMA(unroll n)
typedef unsigned int zf_u32;
typedef int zf_i32;
typedef unsigned short zf_u16;
typedef unsigned long long zf_u64;
typedef long long zf_i64;
typedef float2 zf_f2;
typedef float4 zf_f4;
typedef double2 zf_d2;
typedef uint4 zf_u4;
ZF_FN double zf_of_bits(zf_u64 b) { return __longlong_as_double((zf_i64)b); }
ZF_FN zf_u64 zf_bits(double v) { return (zf_u64)__double_as_longlong(v); }
ZF_FN float zf_of_bits_f(zf_u32 b) { return __uint_as_float(b); }
ZF_FN zf_u32 zf_bits_f(float v) { return __float_as_uint(v); }
#define ZF_LOWEST(v) ((zf_u32)(__ffs((int)(v)) - 1))
#define zf_abs_f fabsf
#define zf_sqrt_f sqrtf
#define zf_rsqrt_f rsqrtf
#define zf_exp_f expf
#define zf_log_f logf
#define zf_log2_f log2f
#define zf_log10_f log10f
#define zf_log1p_f log1pf
#define zf_expm1_f expm1f
#define zf_sin_f sinf
#define zf_cos_f cosf
#define zf_tan_f tanf
#define zf_asin_f asinf
#define zf_acos_f acosf
#define zf_atan_f atanf
#define zf_sinh_f sinhf
#define zf_cosh_f coshf
#define zf_tanh_f tanhf
#define zf_erf_f erff
#define zf_erfc_f erfcf
#define zf_lgamma_f lgammaf
#define ZF_ONES(v) __popcll(v)
#define zf_floor_f floorf
#define zf_ceil_f ceilf
#define zf_round_f rintf
#define zf_atan2_f atan2f
#define zf_powr_f powf
#define zf_fma_f fmaf
#define zf_trunc_f truncf
ZF_FN void zf_count(zf_u32 at) { asm volatile("red.shared.add.u32 [%0], 1;" ::"r"(at) : "memory"); }
// Copies of 4, 8 or 16 bytes into shared memory that run on their own, in groups; before compute capability 8.0 they are ordinary ones.
#if __CUDA_ARCH__ >= 800
ZF_FN void zf_copy16(void* to, const void* from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((zf_u32)__cvta_generic_to_shared(to)), "l"(from) : "memory");
}
template <int bytes> ZF_FN void zf_copy(void* to, const void* from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"((zf_u32)__cvta_generic_to_shared(to)), "l"(from), "n"(bytes) : "memory");
}
#define ZF_COPY16(to, from) zf_copy16(to, from)
#define ZF_COPY8(to, from) zf_copy<8>(to, from)
#define ZF_COPY4(to, from) zf_copy<4>(to, from)
#define ZF_COPY_COMMIT() asm volatile("cp.async.commit_group;" ::: "memory")
#define ZF_COPY_WAIT(n) asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")
#else
#define ZF_COPY16(to, from) (*(float4*)(to) = *(const float4*)(from))
#define ZF_COPY8(to, from) (*(float2*)(to) = *(const float2*)(from))
#define ZF_COPY4(to, from) (*(float*)(to) = *(const float*)(from))
#define ZF_COPY_COMMIT()
#define ZF_COPY_WAIT(n)
#endif
// Approximations of the special function unit, for fast paths that bound their error.
ZF_FN float zf_sqrt_fast(float v) { float r; asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v)); return r; }
ZF_FN float zf_rsqrt_fast(float v) { float r; asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v)); return r; }
ZF_FN float zf_exp2_fast(float v) { float r; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v)); return r; }
ZF_FN float zf_log2_fast(float v) { float r; asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v)); return r; }
ZF_FN float zf_max_f(float a, float b) { float r; asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b)); return r; }
ZF_FN float zf_min_f(float a, float b) { float r; asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b)); return r; }
#define zf_abs_d fabs
#define zf_sqrt_d sqrt
#define zf_log2_d log2
#define zf_log10_d log10
#define zf_log1p_d log1p
#define zf_expm1_d expm1
#define zf_sin_d sin
#define zf_cos_d cos
#define zf_tan_d tan
#define zf_asin_d asin
#define zf_acos_d acos
#define zf_atan_d atan
#define zf_sinh_d sinh
#define zf_cosh_d cosh
#define zf_tanh_d tanh
#define zf_erf_d erf
#define zf_erfc_d erfc
#define zf_lgamma_d lgamma
#define zf_floor_d floor
#define zf_ceil_d ceil
#define zf_round_d rint
#define zf_atan2_d atan2
#define zf_powr_d pow
#define zf_trunc_d trunc
