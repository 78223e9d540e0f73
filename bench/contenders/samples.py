"""Samples of a call, for references that bench/contenders/called.mjs starts."""
import json
import sys
import time

import numpy as np


def measure(call, seconds, together):
    """One sample. `together`: the calls that are timed as one."""
    latencies = []
    began, cpu_began = time.perf_counter(), time.process_time()
    while True:
        before = time.perf_counter()
        for _ in range(together):
            call()
        now = time.perf_counter()
        latencies.append((now - before) / together)
        if now - began >= seconds:
            break
    count, elapsed = len(latencies) * together, now - began
    return {
        "usPerRequest": elapsed * 1e6 / count,
        "perSecond": count / elapsed,
        "p50Us": float(np.median(latencies)) * 1e6,
        "p99Us": float(np.percentile(latencies, 99)) * 1e6,
        "cpuUs": (time.process_time() - cpu_began) * 1e6 / count,
        "requests": count,
    }


def answer_lines(call, lines, together=1):
    """Says that the call is ready; then prints a sample for each line of stdin, its seconds."""
    print(json.dumps({"event": "ready"}), file=lines, flush=True)
    for line in sys.stdin:
        print(json.dumps(measure(call, float(line), together)), file=lines, flush=True)
