"""The service of sbx.exe under Wine: its verbs, and a service that runs while something is played against it.

One prefix has one service and one pipe: tests that use it hold the same RESOURCE_LOCK."""

import contextlib
import json
import os
import subprocess

PIPE = r"\\.\pipe\sbx"
SECONDS = 120


class Manager:
    def __init__(self, wine, program):
        self.wine = wine
        self.program = program

    def run(self, *words):
        """A program of Windows, to its end."""
        return subprocess.run([*self.wine, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=SECONDS, check=False, env=os.environ)

    def service(self, *words):
        return self.run(self.program, "service", *words)

    def state(self):
        return json.loads(self.service("status", "--json").stdout)

    def do(self, verb):
        """A verb that has to succeed."""
        done = self.service(verb)
        if done.returncode != 0:
            raise SystemExit(f"sbx service {verb}: status {done.returncode}: {done.stderr}")

    @contextlib.contextmanager
    def running(self):
        """Installed and started; stopped and removed at the end."""
        self.service("uninstall")  # what a test that was killed has left
        self.do("install")
        try:
            self.do("start")
            yield self
            self.do("stop")
        finally:
            self.service("uninstall")
