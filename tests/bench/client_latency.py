"""What a client adds to a run: `true` in a box through one service, by the clients for Python and Node.js and by the C client.
They take turns, run by run, 30 ms apart, so that what else the machine does hits all of them alike.

usage: client_latency.py SBXD BENCH_CLIENT [RUNS]"""

import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAUSE_S = 0.03  # a host thinks between its calls
WARM_UP = 10
LIMIT_MS = 2.5

# Each driver runs the command once for every line it reads, and answers with milliseconds and whether the box stood ready.
PYTHON = """
import sys, time
sys.path.insert(0, sys.argv[1])
import sbx
with sbx.connect(sys.argv[2], start="never") as box:
    for _ in sys.stdin:
        begin = time.perf_counter()
        with box.start(["true"]) as run:
            done = run.wait()
        took = (time.perf_counter() - begin) * 1000
        if done.status != 0:
            raise SystemExit("the command failed")
        print(took, int(bool(run.warm)), flush=True)
"""

NODE = """
import readline from 'node:readline';
const {connect} = await import(process.argv[1]);
const box = await connect({start: 'never', socket: process.argv[2]});
for await (const line of readline.createInterface({input: process.stdin})) {
  const begin = process.hrtime.bigint();
  const run = await box.start(['true']);
  const done = await run.wait();
  const took = Number(process.hrtime.bigint() - begin) / 1e6;
  if (done.status !== 0) throw new Error(JSON.stringify(done));
  console.log(`${took} ${Number(run.warm)}`);
}
await box.close();
"""


def drivers(bench_client, socket):
    return {
        "C": [bench_client, socket],
        "Python": [sys.executable, "-B", "-c", PYTHON, str(ROOT / "clients/python"), socket],
        "Node.js": ["node", "--input-type=module", "-e", NODE, str(ROOT / "clients/node/index.mjs"), socket],
    }


def ask(driver):
    driver.stdin.write("\n")
    driver.stdin.flush()
    took, is_warm = driver.stdout.readline().split()
    time.sleep(PAUSE_S)
    return float(took), is_warm == "1"


def measure(sbxd, bench_client, runs):
    with tempfile.TemporaryDirectory(prefix="sbx-latency-") as directory:
        socket = os.path.join(directory, "s")
        service = subprocess.Popen([sbxd, "--socket", socket])
        started = {}
        try:
            while not os.path.exists(socket):
                time.sleep(0.01)
            for name, command in drivers(bench_client, socket).items():
                started[name] = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            rows = {name: [] for name in started}
            for number in range(-WARM_UP, runs):
                for name, driver in started.items():
                    sample = ask(driver)
                    if number >= 0:
                        rows[name].append(sample)
            return rows
        finally:
            for driver in started.values():
                driver.stdin.close()
                driver.wait()
            service.terminate()
            service.wait()


def main():
    rows = measure(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 200)
    base = statistics.median(took for took, _ in rows["C"])
    status = 0
    for name, samples in rows.items():
        times = sorted(took for took, _ in samples)
        middle = statistics.median(times)
        status |= middle - base > LIMIT_MS
        print(f"{name:8} median {middle:6.2f} ms ({middle - base:+6.2f} to C, at most {LIMIT_MS:+.1f})   "
              f"fastest {times[0]:6.2f} ms   {sum(warm for _, warm in samples)} of {len(samples)} warm")
    return status


if __name__ == "__main__":
    sys.exit(main())
