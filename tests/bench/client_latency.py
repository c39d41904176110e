"""What a client adds to a run: `true` in a box, over one connection, by the clients for Python and Node.js and by a bare
exchange of the same lines, which is what any client has to do. On a busy machine only the fastest ones say something.

usage: client_latency.py SBXD [RUNS]"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "clients/python"))
sys.dont_write_bytecode = True

import sbx  # noqa: E402

NODE = """
const {connect} = await import(process.argv[1]);
const box = await connect({start: 'always', command: [process.argv[2], '--stdio']});
const times = [];
for (let i = 0; i < Number(process.argv[3]); i++) {
  const begin = process.hrtime.bigint();
  const done = await box.run(['true']);
  if (done.status !== 0) throw new Error(JSON.stringify(done));
  times.push(Number(process.hrtime.bigint() - begin) / 1e6);
}
await box.close();
console.log(JSON.stringify(times));
"""


def bare(sbxd, runs):
    """The same requests, written and read with nothing in between."""
    with subprocess.Popen([sbxd, "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as service:
        def ask(number, method, params):
            line = json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
            service.stdin.write(line.encode() + b"\n")
            service.stdin.flush()
        ask(0, "hello", {"protocol": [1], "client": {"name": "bench", "version": "1"}})
        service.stdout.readline()
        times = []
        params = {"argv": ["true"], "cwd": os.getcwd(), "env": dict(os.environ)}
        for number in range(1, runs + 1):
            begin = time.perf_counter()
            ask(number, "run.start", params)
            while b'"method":"exited"' not in service.stdout.readline():
                pass
            times.append((time.perf_counter() - begin) * 1000)
        service.stdin.close()
    return times


def python(sbxd, runs):
    times = []
    with sbx.connect(start="always", command=[sbxd, "--stdio"]) as box:
        for _ in range(runs):
            begin = time.perf_counter()
            if box.run(["true"]).status != 0:
                raise SystemExit("the command failed")
            times.append((time.perf_counter() - begin) * 1000)
    return times


def node(sbxd, runs):
    done = subprocess.run(["node", "--input-type=module", "-e", NODE, str(ROOT / "clients/node/index.mjs"), sbxd, str(runs)],
                          check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def main():
    sbxd, runs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 200
    rows = {name: [] for name in ("bare", "python", "node")}
    for _ in range(4):  # in turns, so that a busy machine is busy for all
        for name, way in (("bare", bare), ("python", python), ("node", node)):
            rows[name] += way(sbxd, runs // 4)
    base = rows["bare"]
    for name, times in rows.items():
        middle, least = statistics.median(times), min(times)
        print(f"{name:8} median {middle:7.2f} ms ({middle - statistics.median(base):+6.2f} to bare)   "
              f"fastest {least:6.2f} ms ({least - min(base):+6.2f} to bare)")


main()
