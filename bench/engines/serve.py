"""One engine as a process: python bench/engines/serve.py NAME, spoken to in lines of JSON.

`{"workload": …}` prepares it and answers `{"ready": false}` where this engine has no such task, else one untimed turn and
`{"ready": true, "digest": […]}`. `{"turn": true}` answers `{"seconds": …}`. Inputs are made, trees built where a user
would build them once, outside; results are made inside the timed call.
"""

import importlib
import json
import os
import sys
import time

import inputs


def main(name):
    answers, sys.stdout = sys.stdout, sys.stderr
    engine, call, task = importlib.import_module(name), None, None
    for line in sys.stdin:
        request = json.loads(line)
        if "workload" in request:
            workload = request["workload"]
            call, task = None, workload["task"]
            prepare = engine.TASKS.get(task)
            call = prepare(workload, *inputs.load(workload)) if prepare else None
            reply = {"ready": call is not None}
            if call is not None:
                reply["digest"] = inputs.digest(task, call())
        else:
            start = time.perf_counter()
            call()
            reply = {"seconds": time.perf_counter() - start}
        print(json.dumps(reply), file=answers, flush=True)


if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    main(sys.argv[1])
