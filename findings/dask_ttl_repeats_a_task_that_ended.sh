#!/usr/bin/env bash
# distributed 2026.8.0: a task that keeps the interpreter longer than `worker-ttl` runs to its end more than once,
# with `retries=0` and no process lost.
#
# A worker's heartbeat comes from the process that runs its tasks. A call that keeps the interpreter lock (a C
# extension, a large integer's power; here libc's sleep through ctypes.PyDLL) keeps it silent. After worker-ttl the
# scheduler asks the nanny for a restart and gives the task to the next worker. The nanny waits 4 seconds before it
# kills, so a task a little longer than worker-ttl reaches its end first, with all that it writes; its result is
# thrown away. `retries` counts errors only; the bound is `allowed-failures` (3 by default): a task longer than
# worker-ttl + 4 s is begun four times, killed each time, and ends as KilledWorker.
#
# Seen with worker-ttl 5 s and two workers: a task of 8 s ended three times in 2 of 6 runs, once in 4 (the scheduler
# looks every 5 s, so it depends on when the task began), and the result was the third one's; one of 9 s ended three
# times and then counted as failed (`KilledWorker ... all those workers died while running it`); one of 20 s began four
# times and failed likewise.
#
# Who meets it: whoever trains inside a Dask task, with a shared folder as the output. The number of times that a
# task has ended must be kept by the task itself (a lock in the folder), or the training be a process of its own.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet distributed==2026.8.0
cat >"$folder/hold.py" <<'EOF'
import ctypes
import os
import sys
from pathlib import Path

import dask


def hold(seconds, log):
    with open(log, "a") as file:
        file.write(f"begins {os.getpid()}\n")
    ctypes.PyDLL(None).sleep(seconds)  # PyDLL keeps the interpreter lock
    with open(log, "a") as file:
        file.write(f"ends {os.getpid()}\n")
    return os.getpid()


if __name__ == "__main__":
    dask.config.set({"distributed.scheduler.worker-ttl": "5s"})
    from distributed import Client, KilledWorker, LocalCluster

    def run(seconds):
        """Return what a task wrote, and its result, on a fresh cluster of two workers."""
        log = Path(sys.argv[1], "log.txt")
        log.unlink(missing_ok=True)
        with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
            task = client.submit(hold, seconds, str(log), retries=0, pure=False)
            try:
                result = task.result(timeout=120)
            except KilledWorker:
                result = "KilledWorker"
        return log.read_text().split("\n"), result

    for attempt in range(6):
        lines, result = run(9)
        ended = [line for line in lines if line.startswith("ends")]
        print(f"9 s: ended {len(ended)} times, result {result}")
        if len(ended) > 1:
            break
    assert len(ended) > 1, lines
    lines, result = run(20)
    print(f"20 s: {lines}, result {result}")
    assert result == "KilledWorker" and [line.split()[0] for line in lines if line] == ["begins"] * 4, lines
EOF
"$folder/venv/bin/python" "$folder/hold.py" "$folder" 2>/dev/null
