// The portable dialect on OpenCL C 1.2.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF
#define ZF_KERNEL __kernel
#define ZF_FN static inline
#define ZF_SLOW_FN static
#define ZF_IN(type) __global const type* restrict
#define ZF_OUT(type) __global type* restrict
#define ZF_CONSTANT __constant
#define ZF_GLOBAL __global
#define ZF_SHARED __local
#define ZF_DYNAMIC(type, name, count) ZF_SHARED type name[count]
#define ZF_SHARED_ARG __local
#define ZF_TID ((uint)get_local_id(0))
#define ZF_GROUP_X ((uint)get_group_id(0))
#define ZF_GROUP_Y ((uint)get_group_id(1))
#define ZF_GROUPS_X ((uint)get_num_groups(0))
#define ZF_GROUPS_Y ((uint)get_num_groups(1))
#define ZF_BARRIER() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
// Asked of all threads only where a device answers at once: here it may be so for any.
#define ZF_BARRIER_ANY(some) 1
// Where branches of threads end before the barrier of the next step. PoCL (3.1) takes a branch that reaches a barrier in two ways as
// the first thread of a block does.
#ifdef ZF_HOST
#define ZF_REJOIN() ZF_BARRIER()
#else
#define ZF_REJOIN()
#endif
#define ZF_ADD_SHARED(p, v) atomic_add(p, v)
#define ZF_FIRST_BIN 0x4b3fffffu
#define ZF_BIN_BASE(bins, copies, copy) 0u
#define ZF_COUNT(bins, base, place, copies, copy) atomic_add(&(bins)[((place) - ZF_FIRST_BIN) * (copies) + (copy)], 1u)
#define ZF_ADD_GLOBAL(p, v) atomic_add(p, v)
#define ZF_BOUNDS(threads, blocks) __attribute__((reqd_work_group_size(threads, 1, 1)))
// A processor that poses as a device indexes its registers as it likes; unrolled loops would only take it long to compile.
#ifdef ZF_HOST
#define ZF_UNROLL
#define ZF_UNROLL_BY(n)
#else
#define ZF_UNROLL __attribute__((opencl_unroll_hint))
#define ZF_UNROLL_BY(n) __attribute__((opencl_unroll_hint(n)))
#endif
typedef uint zf_u32;
typedef int zf_i32;
typedef ushort zf_u16;
typedef ulong zf_u64;
typedef long zf_i64;
typedef float2 zf_f2;
typedef float4 zf_f4;
typedef double2 zf_d2;
typedef uint4 zf_u4;
#define zf_of_bits(b) as_double((ulong)(b))
#define zf_bits(v) as_ulong((double)(v))
#define zf_of_bits_f(b) as_float((uint)(b))
#define zf_bits_f(v) as_uint((float)(v))
#define ZF_ONES(v) popcount(v)
#define ZF_LOWEST(v) (31u - (zf_u32)clz((v) & (0u - (v))))
// Copies of 4, 8 or 16 bytes into shared memory: ordinary ones, done before the next barrier.
#define ZF_COPY16(to, from) (*(__local uint4*)(to) = *(__global const uint4*)(from))
#define ZF_COPY8(to, from) (*(__local uint2*)(to) = *(__global const uint2*)(from))
#define ZF_COPY4(to, from) (*(__local uint*)(to) = *(__global const uint*)(from))
#define ZF_COPY_COMMIT()
#define ZF_COPY_WAIT(n)
#define zf_abs_f(a) fabs((float)(a))
#define zf_sqrt_f(a) sqrt((float)(a))
#define zf_rsqrt_f(a) rsqrt((float)(a))
#define zf_exp_f(a) exp((float)(a))
#define zf_log_f(a) log((float)(a))
#define zf_log2_f(a) log2((float)(a))
#define zf_log10_f(a) log10((float)(a))
#define zf_log1p_f(a) log1p((float)(a))
#define zf_expm1_f(a) expm1((float)(a))
#define zf_sin_f(a) sin((float)(a))
#define zf_cos_f(a) cos((float)(a))
#define zf_tan_f(a) tan((float)(a))
#define zf_asin_f(a) asin((float)(a))
#define zf_acos_f(a) acos((float)(a))
#define zf_atan_f(a) atan((float)(a))
#define zf_sinh_f(a) sinh((float)(a))
#define zf_cosh_f(a) cosh((float)(a))
#define zf_tanh_f(a) tanh((float)(a))
#define zf_erf_f(a) erf((float)(a))
#define zf_erfc_f(a) erfc((float)(a))
#define zf_lgamma_f(a) lgamma((float)(a))
#define zf_floor_f(a) floor((float)(a))
#define zf_ceil_f(a) ceil((float)(a))
#define zf_round_f(a) rint((float)(a))
#define zf_atan2_f(a, b) atan2((float)(a), (float)(b))
#define zf_powr_f(a, b) pow((float)(a), (float)(b))
#define zf_fma_f(a, b, c) fma((float)(a), (float)(b), (float)(c))
#define zf_trunc_f(a) trunc((float)(a))
#define zf_sqrt_fast(a) sqrt((float)(a))
#define zf_rsqrt_fast(a) rsqrt((float)(a))
#define zf_exp2_fast(a) exp2((float)(a))
#define zf_log2_fast(a) log2((float)(a))
ZF_FN float zf_max_f(float a, float b) {
    return a == b ? as_float(as_uint(a) & as_uint(b)) : ((a > b || a != a) ? a : b);
}
ZF_FN float zf_min_f(float a, float b) {
    return a == b ? as_float(as_uint(a) | as_uint(b)) : ((a < b || a != a) ? a : b);
}
#define zf_abs_d(a) fabs((double)(a))
#define zf_sqrt_d(a) sqrt((double)(a))
#define zf_log2_d(a) log2((double)(a))
#define zf_log10_d(a) log10((double)(a))
#define zf_log1p_d(a) log1p((double)(a))
#define zf_expm1_d(a) expm1((double)(a))
#define zf_sin_d(a) sin((double)(a))
#define zf_cos_d(a) cos((double)(a))
#define zf_tan_d(a) tan((double)(a))
#define zf_asin_d(a) asin((double)(a))
#define zf_acos_d(a) acos((double)(a))
#define zf_atan_d(a) atan((double)(a))
#define zf_sinh_d(a) sinh((double)(a))
#define zf_cosh_d(a) cosh((double)(a))
#define zf_tanh_d(a) tanh((double)(a))
#define zf_erf_d(a) erf((double)(a))
#define zf_erfc_d(a) erfc((double)(a))
#define zf_lgamma_d(a) lgamma((double)(a))
#define zf_floor_d(a) floor((double)(a))
#define zf_ceil_d(a) ceil((double)(a))
#define zf_round_d(a) rint((double)(a))
#define zf_atan2_d(a, b) atan2((double)(a), (double)(b))
#define zf_powr_d(a, b) pow((double)(a), (double)(b))
#define zf_trunc_d(a) trunc((double)(a))
