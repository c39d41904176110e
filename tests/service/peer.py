"""A daemon of its own in a directory of its own, and a client that is only as clever as these tests need."""

import json
import os
import pathlib
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time

SBX = pathlib.Path(os.environ["SBX"])
SBXD = SBX.parent / "sbxd"
SECONDS = 120
READ = {"cwd": "/", "manifest": {"sandbox": {"mode": "read-only"}}}


class Gone(Exception):
    """The connection has ended."""


def until(condition, what, seconds=SECONDS):
    """Waits for it; a busy machine gets its time."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"not in {seconds} s: {what}")
        time.sleep(0.02)


class Client:
    def __init__(self, path, hello=True):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(SECONDS)
        self.socket.connect(str(path))
        self.buffer = b""
        self.last = 0
        self.notes = []
        self.answers = {}
        if hello:
            self.call("hello", protocol=[1], client={"name": "test", "version": "1"})

    def send(self, method, **params):
        self.last += 1
        line = {"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}
        try:
            self.socket.sendall(json.dumps(line).encode() + b"\n")
        except OSError as error:
            raise Gone from error
        return self.last

    def tell(self, method, **params):
        self.socket.sendall(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode() + b"\n")

    def read(self):
        while b"\n" not in self.buffer:
            try:
                got = self.socket.recv(1 << 16)
            except ConnectionError as error:
                raise Gone from error
            if not got:
                raise Gone
            self.buffer += got
        line, self.buffer = self.buffer.split(b"\n", 1)
        return json.loads(line)

    def answer(self, number):
        """The result of a request, or its error with the key "error"; what comes before is kept."""
        while number not in self.answers:
            self.keep(self.read())
        line = self.answers.pop(number)
        return line["result"] if "result" in line else {"error": line["error"]}

    def keep(self, line):
        if "method" in line:
            self.notes.append(line)
        else:
            self.answers[line["id"]] = line

    def call(self, method, **params):
        return self.answer(self.send(method, **params))

    def note(self, method, run):
        """The next notification of this kind about this run."""
        while True:
            for index, line in enumerate(self.notes):
                if line.get("method") == method and line["params"]["run"] == run:
                    return self.notes.pop(index)["params"]
            self.keep(self.read())

    def run(self, *argv, **more):
        """Runs it to its end: its result and its output, stream after stream: between two of them there is no order."""
        started = self.call("run.start", argv=list(argv), **more)
        if "error" in started:
            return started, b""
        result = self.note("exited", started["run"])["result"]
        mine = [n["params"] for n in self.notes if n["params"]["run"] == started["run"]]
        out = "".join(p["data"] for stream in ("stdout", "stderr", "tty") for p in mine
                      if "data" in p and p["stream"] == stream)
        self.notes = [n for n in self.notes if n["params"]["run"] != started["run"]]
        return result | {"warm": started["warm"]}, out

    def close(self):
        self.socket.close()


class Daemon:
    """sbxd on a socket in a directory of its own."""

    def __init__(self, *options, folder=None, env=None):
        self.folder = pathlib.Path(folder or tempfile.mkdtemp(prefix="sbx-service-"))
        self.path = self.folder / "run" / "sbx.sock"
        self.options = options
        self.log = open(self.folder / "log", "ab")
        self.env = {"PATH": os.environ["PATH"], "HOME": str(self.folder)} | (env or {})
        self.env |= {name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS")}
        self.start()

    def start(self):
        self.process = subprocess.Popen([str(SBXD), "--socket", str(self.path), *self.options], env=self.env,
                                        stdout=self.log, stderr=self.log)
        until(lambda: self.answers() or self.process.poll() is not None, "sbxd listens")

    def answers(self):
        try:
            Client(self.path, hello=False).close()
            return True
        except OSError:
            return False

    def client(self):
        return Client(self.path)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(SECONDS)

    def end(self):
        self.process.kill()
        self.process.wait()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def fds(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def rss_kib(self):
        for line in open(f"/proc/{self.process.pid}/status", encoding="ascii"):
            if line.startswith("VmHWM:"):
                return int(line.split()[1])
        return 0


def marked(mark):
    """Processes whose words contain the mark: those of a box, wherever they are, and whoever started them."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if mark.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                pass
    return found


def is_readable(sock, seconds):
    return bool(select.select([sock], [], [], seconds)[0])
