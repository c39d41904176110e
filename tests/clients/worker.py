"""A service for the tests of the clients: protocol 1 on stdin and stdout, or on a socket, with commands that run without a
box. It keeps strictly to the credit it was given, counts what it sent, and misbehaves when it is told to.

usage: worker.py [--socket PATH]

Environment names that a run passes are orders: SBX_TEST_DIE=1 ends the worker when it starts that run, SBX_TEST_GARBAGE=1
sends a line that is no JSON. The label "refuse", "invalid", "missing", "busy" makes run.start fail. `run.list` also tells how
many bytes of each stream were sent, as "sent"."""

import base64
import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import threading

WINDOW = 64 * 1024
CHUNK = 16 * 1024
ERRORS = {"refuse": (-33000, "sandbox_unavailable", {"outcome": {"status": 125}, "hint": "install bubblewrap"}),
          "invalid": (-33001, "policy_invalid", {"findings": [{"code": "unknown-key"}]}),
          "missing": (-33002, "not_found", {}), "busy": (-32001, "overloaded", {"retryable": True})}


class Fault(Exception):
    def __init__(self, code, name, more=None):
        super().__init__(name)
        self.answer = {"code": code, "message": f"{name} for a test", "data": {"name": name, "retryable": False, **(more or {})}}


class Stream:
    """One output: reads the command only as far as there is credit."""

    def __init__(self, run, name, pipe, credit):
        self.run, self.name, self.pipe, self.credit = run, name, pipe, credit
        self.sent = 0
        self.more = threading.Condition()
        self.thread = threading.Thread(target=self.carry, daemon=True)

    def carry(self):
        while True:
            with self.more:
                self.more.wait_for(lambda: self.credit > 0)
                room = min(self.credit, CHUNK)
            data = os.read(self.pipe.fileno(), room)
            if not data:
                break
            with self.more:
                self.credit -= len(data)
                self.sent += len(data)
            try:
                text, encoding = data.decode("utf-8"), "text"
                if "\0" in text:
                    raise ValueError
            except ValueError:
                text, encoding = base64.b64encode(data).decode(), "base64"
            self.run.worker.note("output", run=self.run.name, stream=self.name, data=text, encoding=encoding)
        self.run.worker.note("closed", run=self.run.name, stream=self.name)

    def give(self, count):
        with self.more:
            self.credit += count
            self.more.notify_all()


def die_with_worker():
    """A worker that is killed leaves nothing behind, as the real one."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Run:
    def __init__(self, worker, name, params):
        self.worker, self.name, self.argv = worker, name, params["argv"]
        self.cancelled = False
        self.room = WINDOW
        pipe = params.get("stdin") == "pipe"
        self.process = subprocess.Popen(self.argv, cwd=params.get("cwd"), env=params.get("env"), start_new_session=True, preexec_fn=die_with_worker,
                                        stdin=subprocess.PIPE if pipe else subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
        credit = params.get("credit", WINDOW)
        self.streams = {name: Stream(self, name, getattr(self.process, name), credit) for name in ("stdout", "stderr")}

    def attend(self):
        self.worker.note("started", run=self.name, pid=self.process.pid)
        for stream in self.streams.values():
            stream.thread.start()
        for stream in self.streams.values():
            stream.thread.join()
        status = self.process.wait()
        self.result = {"status": status if status >= 0 else 128 - status, "started": True, "origin": "command",
                       "exit_code": status if status >= 0 else None, "signal": -status if status < 0 else None,
                       "limit": None, "denials": [], "error": None, "cancelled": self.cancelled}
        self.worker.note("exited", run=self.name, result=self.result)

    def kill(self, number):
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            pass


class Worker:
    def __init__(self, source, sink):
        self.source, self.sink = source, sink
        self.lock = threading.Lock()
        self.runs = {}

    def send(self, message):
        line = json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
        with self.lock:
            try:
                self.sink.write(line)
                self.sink.flush()
            except (OSError, ValueError):
                os._exit(0)

    def note(self, method, **params):
        self.send({"method": method, "params": params})

    def serve(self):
        for line in self.source:
            message = json.loads(line)
            method, params = message["method"], message.get("params", {})
            try:
                result = getattr(self, "do_" + method.replace(".", "_"))(params)
                if "id" in message:
                    self.send({"id": message["id"], "result": result})
                after = params.pop("_after", None)
                if after:
                    after()
            except Fault as fault:
                self.send({"id": message["id"], "error": fault.answer})
        for run in self.runs.values():
            run.kill(signal.SIGKILL)

    def run_of(self, params):
        if params["run"] not in self.runs:
            raise Fault(-33004, "no_such_run")
        return self.runs[params["run"]]

    def do_hello(self, params):
        if 1 not in params["protocol"]:
            raise Fault(-33009, "version")
        return {"protocol": 1, "server": {"name": "sbx", "version": "test"}, "platform": sys.platform, "connection": "c1",
                "limits": {"line": 1 << 20, "runs": 8, "runsPerClient": 8, "pending": 64, "window": WINDOW,
                           "stdinWindow": WINDOW}}

    def do_ping(self, params):
        return {}

    def do_cancel(self, params):
        return None

    def do_run_start(self, params):
        if params.get("label") in ERRORS:
            raise Fault(*ERRORS[params["label"]])
        env = params.get("env") or {}
        if env.get("SBX_TEST_DIE"):
            os._exit(3)
        if env.get("SBX_TEST_GARBAGE"):
            with self.lock:
                self.sink.write(b"this is no JSON\n")
                self.sink.flush()
        name = f"r{len(self.runs) + 1}"
        self.runs[name] = run = Run(self, name, params)
        params["_after"] = lambda: threading.Thread(target=run.attend, daemon=True).start()
        return {"run": name, "backend": "none", "digest": "0" * 64, "warm": False}

    def do_run_stdin(self, params):
        run = self.run_of(params)
        data = params["data"].encode() if params.get("encoding", "text") == "text" else base64.b64decode(params["data"])
        run.room -= len(data)
        if run.room < 0:
            raise Fault(-33007, "flow")

        def write():
            try:
                run.process.stdin.write(data)
                if params.get("eof"):
                    run.process.stdin.close()
            except OSError:
                pass
            run.room += len(data)
            if data:
                self.note("stdin", run=run.name, bytes=len(data))
        params["_after"] = write
        return {"queued": len(data)}

    def do_run_credit(self, params):
        self.run_of(params).streams[params["stream"]].give(params["bytes"])

    def do_run_signal(self, params):
        self.run_of(params).kill(getattr(signal, "SIG" + params["signal"]))
        return {}

    def do_run_cancel(self, params):
        run = self.run_of(params)
        run.cancelled = True
        run.kill(signal.SIGKILL)
        return {}

    def do_run_list(self, params):
        return {"runs": [{"run": run.name, "state": "running", "argv0": run.argv[0], "backend": "none", "ms": 0,
                          "sent": {name: stream.sent for name, stream in run.streams.items()}} for run in self.runs.values()]}

    def do_plan_explain(self, params):
        return {"text": f"the plan of {params['argv']}", "plan": {"argv": params["argv"]}}

    def do_manifest_verify(self, params):
        ok = params.get("manifest") == {} or os.path.exists(params.get("manifestFile", ""))
        return {"ok": ok, "findings": [] if ok else [{"code": "file-missing"}]}

    def do_doctor(self, params):
        return {"schema_version": 1, "command": "doctor", "ok": True, "rows": []}

    def do_session_open(self, params):
        return {"session": "s1"}

    def do_session_close(self, params):
        return {}

    def do_shutdown(self, params):
        params["_after"] = lambda: os._exit(0)
        for run in self.runs.values():
            run.kill(signal.SIGKILL)
        return {}


def main():
    if sys.argv[1:2] == ["--socket"]:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(sys.argv[2])
        listener.listen(1)
        print("ready", flush=True)
        stream = listener.accept()[0].makefile("rwb", buffering=0)
        Worker(stream, stream).serve()
    else:
        Worker(sys.stdin.buffer, sys.stdout.buffer).serve()


main()
