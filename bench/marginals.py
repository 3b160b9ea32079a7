"""All marginals of real networks by two builds: predicted, planning and wall seconds, and whether the answers are the same.

usage: python marginals.py OLD NEW FOLDER [NAME ...]
FOLDER holds the folders uai, uai2008 and bif. Prints a row for every network whose plan is by groups or whose seconds differ by a fifth, and the sums.
"""
import glob, json, os, subprocess, sys, tempfile, time


def ask(program, path, folder):
    base = path.rsplit('.', 2)[0]
    seen = [e for e in (base + '.uai.evid', path[:-3] + '.evid.gz') if os.path.exists(e)]
    out = os.path.join(folder, os.path.basename(program) + '.MAR')
    command = [program, 'infer', path, '--task', 'mar', '--memory', '8GiB', '--json', '-o', out, '--format', 'uai', '--force']
    start = time.perf_counter()
    done = subprocess.run(command + [w for e in seen for w in ('--evidence', e)], capture_output=True, text=True)
    wall = time.perf_counter() - start
    if done.returncode:
        return {'wall': wall, 'refused': True}
    report = json.loads(done.stdout)
    plan = report['plan'] or {'seconds': 0.0}
    numbers = [float(w) for w in open(out).read().split()[1:]]
    return {'wall': wall, 'plan': report['seconds']['simplify'] + report['seconds']['plan'], 'predicted': plan['seconds'],
            'groups': plan.get('groups', 1), 'log10': report['log10'], 'numbers': numbers}


def told(run):
    return f"refused after {run['wall']:.2f}" if 'refused' in run else f"{run['predicted']:.4f} / {run['plan']:.4f} / {run['wall']:.3f}"


def main():
    old, new, root, *names = sys.argv[1:]
    paths = sorted(p for kind in ('uai/*.uai.gz', 'uai2008/*.erg.gz', 'bif/*.bif.gz') for p in glob.glob(os.path.join(root, kind)))
    paths = [p for p in paths if not names or any(n in os.path.basename(p) for n in names)]
    sums, answered, worst = [0.0, 0.0], [0, 0], 0.0
    print('| network | groups | OLD predicted / planning / wall s | NEW | largest difference |\n|---|---:|---:|---:|---:|')
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            a, b = ask(old, path, folder), ask(new, path, folder)
            for at, run in enumerate((a, b)):
                answered[at] += 'refused' not in run
            both = 'refused' not in a and 'refused' not in b
            gap = max((abs(x - y) for x, y in zip(a['numbers'], b['numbers'])), default=0.0) if both else None
            if both:
                sums = [sums[0] + a['wall'], sums[1] + b['wall']]
                worst = max(worst, gap)
            if not both or b['groups'] > 1 or max(a['wall'], b['wall']) > 1.2 * min(a['wall'], b['wall']) + 0.02:
                shown = '' if gap is None else f'{gap:.0e}'
                print(f"| {os.path.basename(path)} | {b.get('groups', '')} | {told(a)} | {told(b)} | {shown} |", flush=True)
    print(f'\n{len(paths)} networks; answered {answered[0]} and {answered[1]}; wall s of those that both answer {sums[0]:.2f} and {sums[1]:.2f}; '
          f'largest difference {worst:.0e}')


main()
