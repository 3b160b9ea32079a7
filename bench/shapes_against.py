"""Contractions of the forms of shapes.py by two builds of the example `shapes`, in turns on one thread.

usage: python shapes_against.py OLD NEW [TURNS=3] [ISA]
Prints a line for each form and type: the least seconds of both and their ratio, then the median, the least and the largest ratio. With ISA (avx2, scalar)
NEW runs with ZIPFOLD_ISA set to it.
"""
import json, os, statistics, subprocess, sys
from shapes import FORMS


def seconds(program, form, isa):
    env = {**os.environ, 'RAYON_NUM_THREADS': '1', **({'ZIPFOLD_ISA': isa} if isa else {})}
    out = subprocess.run([program, '-'], input=form + '\n', capture_output=True, text=True, check=True, env=env).stdout
    return json.loads(out.splitlines()[0])


def main():
    old, new = sys.argv[1:3]
    turns = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    isa = sys.argv[4] if len(sys.argv) > 4 else None
    ratios = []
    for form in FORMS:
        found = {}
        for _ in range(turns):
            for name, program, way in (('old', old, None), ('new', new, isa)):
                done = seconds(program, form, way)
                for kind in ('seconds', 'seconds f32'):
                    found[name, kind] = min(found.get((name, kind), float('inf')), done[kind])
        for kind in ('seconds', 'seconds f32'):
            ratios.append(found['new', kind] / found['old', kind])
            print(f"{1e3 * found['old', kind]:9.2f} {1e3 * found['new', kind]:9.2f} {ratios[-1]:6.3f}  {'f32' if 'f32' in kind else 'f64'}  {form}", flush=True)
    print(f'median {statistics.median(ratios):.3f}, least {min(ratios):.3f}, largest {max(ratios):.3f}')


if __name__ == '__main__':
    main()
