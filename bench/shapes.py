"""Contractions of two tables above 10^9 operations by the form of their digits, against the roofline of the same run.

usage: python shapes.py PROGRAM      needs numpy
PROGRAM is the example `shapes` of crate zipfold-product, which says how a form is read. The forms are joins of linkage networks, forward and backward, and those
of contractions.py. The roofline is max(operations / P, bytes / M), f64, every table moved once; P is the rate of NumPy's dgemm and M that of a copy on all
cores, both measured before and after the forms (the larger counts). Results go to memory that was written before. Prints one JSON object.
"""
import json, subprocess, sys
from buckets import machine

FORMS = [
    'k32 b2 r2 c4 r2 c2 b8 r4 c4 r2 b32 c2 r2 c8',
    'c32 b2 r2 k4 r2 k2 b8 r4 k4 r2 b32 k2 r2 k8',
    'c32 b2 k2 r4 k2 r2 b8 k4 r4 k2 b32 r2 k2 r8',
    'k64 r2 c2 r2 c4 r128 c2 b8 c4 r32',
    'c64 k2 r2 k2 r4 k128 r2 b8 r4 k32',
    'k128 r2 c8 r2 c8 r8 c16 r2 c8 r12',
    'c128 r2 k8 r2 k8 r8 k16 r2 k8 r12',
    'k16 r16 c16 r393216',
    'c16 k16 r16 k393216',
    'k32 c1024 r8 c128 r4 c12',
    'c32 k1024 r8 k128 r4 k12',
    'c32 r1024 k8 r128 k4 r12',
    'k72 r2 b2 c8 r2048 c8 r4 c2 r2',
    'k32 r128 c64 r128 b4 r4',
    'c32 k128 r64 k128 b4 k4',
    'k16 r8192 c32 r8 b4 r4',
    'c16 k8192 r32 k8 b4 k4',
    'k131072 c2 r2 c2 r2 c2 r2 b4 c6 r2 c2 r2',
    'c131072 k2 r2 k2 r2 k2 r2 b4 k6 r2 k2 r2',
    'k1024 r1024 c1024',
    'k256 c2 c2 b2 r2 r2 c2 b2 r2 c2 r2 b2 c2 b2 r2 c2 r2 r2 c2 b2 c2 r2 b2',
    'k128 c2 b2 c2 b2 c2 c2 r2 r2 r2 b2 b2 c2 b2 r2 r2 c2 b2 b2 r2 b2 b2 c2 r2',
    'k32 b2 c2 c2 c2 c2 b2 c2 r2 r2 b2 b2 b2 b2 b2 b2 b2 b2 r2 b2 r2 b2 b2 b2 b2 r2',
    'k16 c2 c2 r2 r2 c2 r2 b2 c2 c2 b2 b2 c2 c2 r2 r2 c2 b2 r2 c2 r2 b2 r2 r2 r2 c2 b2',
    'k256 r256 c256 b64',
    'k128 r128 c128 b512',
    'k32 r32 c32 b32768',
    'k16 r1024 c1024 b64',
]


def main():
    before = machine()
    text = subprocess.run([sys.argv[1], '-'], input='\n'.join(FORMS), capture_output=True, text=True, check=True).stdout
    after = machine()
    gemm, copy = (max(before[k], after[k]) for k in ('gemm f64', 'copy'))
    rows = []
    for done in map(json.loads, text.splitlines()):
        compute, memory = done['flop'] / gemm, done['moved'] / copy
        rows.append({'digits': done['digits'], 'flop': float(f"{done['flop']:.3g}"), 'megabytes': round(done['moved'] / 1e6),
                     'f64 milliseconds': round(1e3 * done['seconds'], 1), 'f32 milliseconds': round(1e3 * done['seconds f32'], 1),
                     'bound': 'compute' if compute > memory else 'memory', 'share_of_roofline': round(max(compute, memory) / done['seconds'], 2)})
    shares = {bound: sorted(r['share_of_roofline'] for r in rows if r['bound'] == bound) for bound in ('compute', 'memory')}
    print(json.dumps({'machine': {'gemm f64': gemm, 'copy': copy}, 'compute_bound': shares['compute'], 'memory_bound': shares['memory'],
                      'compute_bound_at_least_0.60': sum(s >= 0.6 for s in shares['compute']),
                      'memory_bound_at_least_0.70': sum(s >= 0.7 for s in shares['memory']), 'rows': rows}))


if __name__ == '__main__':
    main()
