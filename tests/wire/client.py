"""A client that believes nothing: every line from the service is read strictly, compared with `sbx schema rpc`, and with what the
protocol promises of every run (order, credit, encoding). What is wrong is noted, not raised: the case that plays says it."""

import base64
import collections
import json
import os
import queue
import threading
import time

import schema

CHUNK = 48 * 1024
LINE = 1 << 20
SECONDS = float(os.environ.get("SBX_WIRE_SECONDS", "90"))


class Gone(Exception):
    """The service closed the connection, or did not answer in time."""


class Refused(Exception):
    """An error instead of a result."""

    def __init__(self, error):
        super().__init__(f"{error.get('data', {}).get('name')}: {error.get('message')}")
        self.error = error
        self.name = error.get("data", {}).get("name")


def strict(line):
    def pairs(items):
        names = [name for name, _ in items]
        if len(set(names)) != len(names):
            raise ValueError("a member twice")
        return dict(items)

    def fraction(text):
        raise ValueError(f"a number that is not an integer: {text}")
    return json.loads(line.decode("utf-8"), object_pairs_hook=pairs, parse_float=fraction,
                      parse_constant=fraction)


class Run:
    """What is known of one run."""

    def __init__(self, name, streams, credit):
        self.name = name
        self.streams = streams
        self.bytes = {stream: b"" for stream in streams}
        self.credit = {stream: credit for stream in streams}
        self.closed = set()
        self.started = None
        self.result = None
        self.denied = []
        self.stdin = 0  # bytes that were asked for


class Client:
    """One connection. `peer` has write(bytes), read() -> bytes (b"" at the end), end(), close()."""

    def __init__(self, peer, definitions):
        self.peer = peer
        self.definitions = definitions
        self.faults = []
        self.runs = {}
        self.asked = {}  # id -> (method, params)
        self.answers = {}
        self.unasked = []  # errors with id null
        self.others = collections.Counter()  # notifications, by method
        self.limits = {}
        self.next_id = 0
        self.lines = queue.Queue()
        self.is_closed = False
        self.line_max = LINE
        self.reader = threading.Thread(target=self._receive, daemon=True)
        self.reader.start()

    def close(self):
        """Ends the connection. The descriptor is given back when nobody reads it: its number is soon another's."""
        self.peer.end()
        self.reader.join(SECONDS)
        self.peer.close()

    # ---- receiving ----

    def _receive(self):
        rest = b""
        while True:
            try:
                data = self.peer.read()
            except OSError:
                data = b""
            if not data:
                break
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self.lines.put(line)
        self.lines.put(None if not rest else ("half a line at the end", rest))

    def fault(self, text):
        self.faults.append(text)

    def pump(self, seconds):
        """Takes one line; False when none came in that time, Gone at the end."""
        if self.is_closed:
            raise Gone("the connection is closed")
        try:
            line = self.lines.get(timeout=max(seconds, 0.001))
        except queue.Empty:
            return False
        if line is None or isinstance(line, tuple):
            self.is_closed = True
            if line:
                self.fault(f"{line[0]}: {line[1][:80]!r}")
            raise Gone("the service closed the connection")
        if len(line) > self.line_max:
            self.fault(f"a line of {len(line)} bytes")
        try:
            message = strict(line)
        except ValueError as error:
            self.fault(f"not strict JSON: {error}: {line[:200]!r}")
            return True
        self.take(message)
        return True

    def check(self, name, message):
        for fault in schema.faults(self.definitions[name], message, name):
            self.fault(fault)

    def take(self, message):
        if "method" in message:
            name = message["method"]
            if name not in self.definitions or "id" in message:
                self.fault(f"a message that no client expects: {message!r:.200}")
                return
            self.check(name, message)
            self.notice(name, message.get("params", {}))
        elif "error" in message:
            self.check("error", message)
            if message["id"] is None:
                self.unasked.append(message["error"])
            else:
                self.answer(message)
        else:
            self.answer(message)

    def answer(self, message):
        key = json.dumps(message.get("id"))
        if key not in self.asked:
            self.fault(f"an answer that nobody asked for: {message!r:.200}")
            return
        method, params = self.asked.pop(key)
        if "result" in message:
            self.check(f"{method} result", message)
            if method == "run.start":
                self.begin(message["result"], params)
        self.answers[key] = message

    def begin(self, result, params):
        streams = ("tty",) if "tty" in params else ("stdout", "stderr")
        if params.get("fds"):
            streams = ()
        credit = params.get("credit", self.limits.get("window", 0))
        self.runs[result["run"]] = Run(result["run"], streams, credit)

    def notice(self, name, params):
        self.others[name] += 1
        run = self.runs.get(params.get("run"))
        if run is None:
            self.fault(f"{name} of a run that was not answered yet: {params!r:.200}")
        elif run.result is not None:
            self.fault(f"{name} after exited")
        elif name == "output":
            self.output(run, params)
        elif name == "closed":
            if params["stream"] in run.closed or params["stream"] not in run.streams:
                self.fault(f"closed {params['stream']} twice, or of a stream that the run has not")
            run.closed.add(params["stream"])
        elif name == "started":
            run.started = params
        elif name == "stdin":
            run.stdin += params["bytes"]
        elif name == "denied":
            run.denied.append(params["denial"])
        elif name == "exited":
            if run.closed != set(run.streams):
                self.fault(f"exited before closed: {run.closed}")
            run.result = params["result"]

    def output(self, run, params):
        stream = params["stream"]
        if params["encoding"] == "base64":
            data = base64.b64decode(params["data"], validate=True)
        else:
            data = params["data"].encode("utf-8")
            if b"\0" in data:
                self.fault("a NUL in text")
        if not 0 < len(data) <= CHUNK:
            self.fault(f"a chunk of {len(data)} bytes")
        if stream not in run.streams or stream in run.closed:
            self.fault(f"output of {stream}, which is closed or not there")
            return
        run.credit[stream] -= len(data)
        if run.credit[stream] < 0:
            self.fault(f"{-run.credit[stream]} bytes of {stream} without credit")
        run.bytes[stream] += data

    # ---- sending ----

    def write(self, data):
        try:
            self.peer.write(data)
        except OSError as error:
            raise Gone(f"cannot write: {error}") from error

    def send(self, message):
        self.write(json.dumps(message, ensure_ascii=False).encode("utf-8") + b"\n")

    def ask_later(self, method, params, key=None):
        """Sends a request; its id."""
        self.next_id += 1
        key = self.next_id if key is None else key
        self.asked[json.dumps(key)] = (method, params)
        self.send({"jsonrpc": "2.0", "id": key, "method": method, "params": params})
        return key

    def tell(self, method, **params):
        if method == "run.credit" and params.get("run") in self.runs:
            credit = self.runs[params["run"]].credit
            if params["stream"] in credit:
                credit[params["stream"]] += params["bytes"]
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def wait(self, condition, what, seconds=SECONDS):
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                raise Gone(f"waited {seconds} s for {what}")
            self.pump(deadline - time.monotonic())

    def answered(self, key):
        """The result of a request, or Refused."""
        key = json.dumps(key)
        self.wait(lambda: key in self.answers, f"an answer to {key}")
        message = self.answers.pop(key)
        if "error" in message:
            raise Refused(message["error"])
        return message["result"]

    def ask(self, method, **params):
        return self.answered(self.ask_later(method, params))

    def hello(self, **more):
        result = self.ask("hello", protocol=[1], client={"name": "conformance", "version": "1"}, **more)
        self.limits = result["limits"]
        self.line_max = more.get("maxLine", LINE)
        return result

    def wait_closed(self):
        try:
            self.wait(lambda: False, "the end of the connection")
        except Gone as gone:
            if not self.is_closed:
                raise
            return str(gone)

    def rest(self, seconds):
        """Takes what comes in that time."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self.pump(deadline - time.monotonic()):
            pass
