"""The SCM service of sbx under Wine: installed, started, talked to over its pipe, stopped, crashed, removed.
usage: service.py RELAY [WINE...]; SBX names sbx.exe.

What Wine does not do is not shown here: it enforces no descriptor of a pipe or a service, gives the service its own
token instead of the client's, never restarts a service, and keeps no event log."""

import json
import os
import subprocess
import sys

from manager import PIPE, SECONDS, Manager

SBX = os.environ["SBX"]
RELAY, WINE = sys.argv[1], sys.argv[2:]
SOURCE = r"HKLM\SYSTEM\CurrentControlSet\Services\EventLog\Application\sbx"
SERVICE = r"HKLM\SYSTEM\CurrentControlSet\Services\sbx"

cases = []
faults = []


def promise(text):
    def register(function):
        cases.append((text, function))
        return function
    return register


def equal(got, want, more=""):
    if got != want:
        faults.append(f"got:  {got!r}\nwant: {want!r}\n{more}")


manager = Manager(WINE, SBX)
run, sbx, state = manager.run, manager.service, manager.state


def has_key(key):
    return run("reg", "query", key).returncode == 0


class Client:
    """A connection over the pipe."""

    def __init__(self):
        self.process = subprocess.Popen([*WINE, RELAY, PIPE], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL)
        self.number = 0

    def line(self):
        line = self.process.stdout.readline()
        return json.loads(line) if line else None

    def ask(self, method, **params):
        """The answer; what comes before it is kept in `seen`."""
        self.number += 1
        self.seen = []
        text = json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        self.process.stdin.write(text.encode() + b"\n")
        self.process.stdin.flush()
        while True:
            got = self.line()
            if got is None or got.get("id") == self.number:
                return got
            self.seen.append(got)

    def hello(self):
        return self.ask("hello", protocol=[1], client={"name": "test", "version": "1"})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            self.process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self.process.stdout.close()


# ---- installing -------------------------------------------------------------------------------------


@promise("a machine without the service says so")
def _():
    equal(sbx("status").returncode, 1)
    equal((state()["state"], state()["events"]), ("absent", False))
    for verb in ("start", "stop"):
        done = sbx(verb)
        equal((done.returncode, "service install" in done.stderr), (1, True), done.stderr)


@promise("install registers the service, stopped, with a quoted path, and its event source")
def _():
    done = sbx("install", "--json")
    equal(done.returncode, 0, done.stderr)
    got = state()
    equal((got["state"], got["events"], got["endpoint"]), ("stopped", True, PIPE))
    equal((got["program"][0], got["program"].endswith('sbx.exe" service run')), ('"', True))
    source = run("reg", "query", SOURCE).stdout
    equal(("EventMessageFile" in source and "sbx.exe" in source, "TypesSupported" in source), (True, True), source)


@promise("a second installation is refused and changes nothing")
def _():
    equal(sbx("install").returncode, 1)
    equal(state()["state"], "stopped")


@promise("start returns when the service runs, and a second start is no error")
def _():
    equal(sbx("start").returncode, 0)
    got = state()
    equal((got["state"], got["pid"] > 0), ("running", True))
    equal(sbx("start").returncode, 0)
    equal(state()["pid"], got["pid"])
    equal(sbx("status").returncode, 0)


@promise("run by hand is refused")
def _():
    done = run(SBX, "service", "run")
    equal((done.returncode, "service start" in done.stderr), (1, True), done.stderr)


# ---- talking ----------------------------------------------------------------------------------------


@promise("a client over the pipe says hello and is answered")
def _():
    with Client() as client:
        got = client.hello()
        equal((got or {}).get("result", {}).get("protocol"), 1, str(got))
        equal((got or {}).get("result", {}).get("platform"), "windows", str(got))
        equal((client.ask("ping") or {}).get("result"), {})


@promise("two clients share a launcher, and a client that says nothing keeps nobody out")
def _():
    with Client(), Client() as one, Client() as two:
        equal(((one.hello() or {}).get("result") or {}).get("protocol"), 1)
        equal(((two.hello() or {}).get("result") or {}).get("protocol"), 1)


@promise("the plan of a command is explained over the pipe")
def _():
    with Client() as client:
        client.hello()
        got = client.ask("plan.explain", argv=["cmd", "/c", "exit"], cwd="C:\\windows")
        equal("plan" in ((got or {}).get("result") or {}), True, str(got)[:400])


@promise("without AppContainers a run is refused, and with both keys it runs and its output arrives")
def _():
    with Client() as client:
        client.hello()
        got = client.ask("run.start", argv=["cmd", "/c", "echo hello"], cwd="C:\\windows")
        equal(((got or {}).get("error") or {}).get("code"), -33000, str(got)[:400])
        got = client.ask("run.start", argv=["cmd", "/c", "echo hello"], cwd="C:\\windows", sandbox="none",
                         allowNoSandbox=True)
        equal("run" in ((got or {}).get("result") or {}), True, str(got)[:400])
        name = ((got or {}).get("result") or {}).get("run")
        got = client.ask("run.wait", run=name)
        said = "".join(each["params"]["data"] for each in client.seen if each.get("method") == "output")
        equal((((got or {}).get("result") or {}).get("exit_code"), said.strip()), (0, "hello"), str(got)[:400])


@promise("what is no frame gets an error, and the next client is served")
def _():
    with Client() as client:
        client.process.stdin.write(b"\x00\xff{]\n")
        client.process.stdin.flush()
        got = client.line()
        equal(((got or {}).get("error") or {}).get("code"), -32700, str(got))
        equal(client.line(), None)
    with Client() as client:
        equal(((client.hello() or {}).get("result") or {}).get("protocol"), 1)


# ---- ending -----------------------------------------------------------------------------------------


@promise("stop returns when the service is gone, and a second stop is no error")
def _():
    equal((sbx("stop").returncode, state()["state"], has_key(SERVICE + r"\Alive")), (0, "stopped", False))
    equal(sbx("stop").returncode, 0)
    equal((sbx("start").returncode, has_key(SERVICE + r"\Alive")), (0, True))


@promise("stop ends the clients' connections, the launcher, and the service")
def _():
    with Client() as client:
        client.hello()
        equal(sbx("stop").returncode, 0)
        equal(client.line(), None)
    equal(state()["state"], "stopped")
    equal(has_key(SERVICE + r"\Alive"), False)


@promise("the launcher ends with a service that is killed, and the next one will know")
def _():
    equal(sbx("start").returncode, 0)
    with Client() as client:
        client.hello()
        pid = state()["pid"]
        equal(run("taskkill", "/f", "/pid", str(pid)).returncode, 0)
        equal(client.line(), None)  # the launcher ended with the service
    equal(has_key(SERVICE + r"\Alive"), True)  # by which the next one knows


@promise("uninstall leaves nothing, and a second one is no error")
def _():
    done = sbx("uninstall")
    equal(done.returncode, 0, done.stderr)
    equal((state()["state"], state()["events"]), ("absent", False))
    equal((has_key(SOURCE), has_key(SERVICE)), (False, False))
    equal(sbx("uninstall").returncode, 0)


def main():
    print(f"1..{len(cases)}")
    status = 0
    try:
        for number, (text, function) in enumerate(cases, 1):
            faults.clear()
            try:
                function()
            except Exception as error:  # pylint: disable=broad-except
                faults.append(f"{type(error).__name__}: {error}")
            for fault in faults:
                print("#   " + fault.strip().replace("\n", "\n#   "))
            print(f"{'not ok' if faults else 'ok'} {number} - {text}", flush=True)
            status = 1 if faults else status
    finally:
        sbx("uninstall")
    sys.exit(status)


if __name__ == "__main__":
    main()
