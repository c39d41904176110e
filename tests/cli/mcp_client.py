"""A scripted host of `sbx mcp`: what the tests of the protocol and of the tools share."""

import json
import queue
import subprocess
import threading

REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18")
NEWEST = REVISIONS[-1]
SECONDS = 60


class Host:
    """Starts sbx mcp and talks to it. Every line it writes must be one JSON object (or a batch)."""

    def __init__(self, t, *words, env=None, cwd=None, revision=NEWEST):
        self.t = t
        self.process = t.start("mcp", *words, env=env, cwd=cwd, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.lines = queue.Queue()
        self.notes = []
        self.number = 0
        self.answers = {}
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        if revision:
            self.hello = self.call("initialize", protocolVersion=revision, capabilities={},
                                   clientInfo={"name": "test", "version": "1"})
            self.note("notifications/initialized")

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def raw(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message):
        self.raw(json.dumps(message).encode() + b"\n")

    def note(self, method, **params):
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def ask(self, method, **params):
        """Sends a request, returns its id."""
        self.number += 1
        self.send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        return self.number

    def next(self, seconds=SECONDS):
        """The next line as a value; None at the end."""
        line = self.lines.get(timeout=seconds)
        return None if line is None else json.loads(line)

    def answer(self, number, seconds=SECONDS):
        """The answer to that request; others are kept, notifications are collected."""
        while number not in self.answers:
            message = self.next(seconds)
            if message is None:
                raise AssertionError(f"sbx mcp ended: {self.process.stderr.read()!r}")
            if "id" in message:
                self.answers[message["id"]] = message
            else:
                self.notes.append(message)
        return self.answers.pop(number)

    def call(self, method, **params):
        return self.answer(self.ask(method, **params))

    def ask_tool(self, name, meta=None, **arguments):
        extra = {"_meta": meta} if meta else {}
        return self.ask("tools/call", name=name, arguments=arguments, **extra)

    def tool(self, name, **arguments):
        """The result of a tool; an error answer is a failed check and {}."""
        answer = self.answer(self.ask_tool(name, **arguments))
        self.t.has(answer, "result", answer)
        return answer.get("result", {})

    def fault(self, method, **params):
        """The error of a request that must have one."""
        answer = self.call(method, **params)
        self.t.has(answer, "error", answer)
        return answer.get("error", {"code": 0, "message": ""})

    def close(self):
        """Ends the input; the exit status."""
        self.process.stdin.close()
        try:
            return self.process.wait(SECONDS)
        finally:
            self.reader.join(SECONDS)
            self.process.stdout.close()
            self.process.stderr.close()


def text(result):
    return result["content"][0]["text"] if result.get("content") else ""
