"""What clients can do to sbxd that mean harm, and that others do not notice: prints TAP.
usage: hostile.py ACTOR

Beside every attack a well-behaved client asks and runs commands, and must get right answers. After all of them the service has no
more descriptors than before, and has never had much memory."""

import json
import os
import pathlib
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "wire"))

import client  # noqa: E402  pylint: disable=wrong-import-position
import play  # noqa: E402  pylint: disable=wrong-import-position

MEMORY_KIB = 96 * 1024
NOBODY = 65534
HELLO = {"jsonrpc": "2.0", "id": 1, "method": "hello",
         "params": {"protocol": [1], "client": {"name": "hostile", "version": "1"}}}


def line(message):
    return json.dumps(message).encode() + b"\n"


class Neighbour(threading.Thread):
    """Somebody who only wants to work."""

    def __init__(self, world):
        super().__init__(daemon=True)
        self.world = world
        self.is_over = threading.Event()
        self.rounds = 0
        self.faults = []

    def run(self):
        one = client.Client(self.world.service.connect(), self.world.definitions)
        try:
            one.hello()
            while not self.is_over.is_set():
                word = f"round {self.rounds}"
                result = one.ask("run.start", argv=[str(self.world.actor), "say", word], cwd=str(self.world.folder),
                                 sandbox="none", allowNoSandbox=True)
                run = one.runs[result["run"]]
                one.wait(lambda run=run: run.result is not None, "the end")
                if run.bytes["stdout"].decode() != word or run.result["status"] != 0:
                    self.faults.append(f"{word}: {run.bytes} {run.result['status']}")
                if one.ask("ping") != {}:
                    self.faults.append("ping")
                self.rounds += 1
        except (client.Gone, client.Refused, OSError) as error:
            self.faults.append(f"round {self.rounds}: {type(error).__name__} {error}")
        self.faults += one.faults
        one.close()


class Attack:
    """The service, and what an attack needs to look at it."""

    def __init__(self, world):
        self.world = world
        self.pid = world.service.process.pid
        self.path = world.service.path
        self.failures = []

    def true(self, held, what):
        if not held:
            self.failures.append(what)

    def connect(self):
        return self.world.service.connect().socket

    def status(self, name):
        for row in pathlib.Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if row.startswith(name + ":"):
                return int(row.split()[1])
        return 0

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def answer_and_end(self, one, seconds=60):
        """What comes until the service closes; None when it does not."""
        one.settimeout(seconds)
        data = b""
        try:
            while part := one.recv(65536):
                data += part
        except ConnectionResetError:
            pass
        except TimeoutError:
            return None
        return data


def garbage(a):
    """garbage is answered once and costs its sender the connection"""
    for seed in range(100):
        one = a.connect()
        try:
            one.sendall(bytes((seed * 37 + i * i) % 256 for i in range(500)) + b"\n" + b"\n" * 100)
        except OSError:
            pass
        got = a.answer_and_end(one)
        a.true(got is not None and got.count(b"-32700") <= 1 and got.count(b"\n") <= 1, f"answered {got!r:.200}")
        one.close()


def half_lines(a):
    """a hundred half lines that are never finished keep nobody waiting"""
    held = []
    for _ in range(100):
        one = a.connect()
        one.sendall(line(HELLO) + b'{"jsonrpc":"2.0","id":5,"method":"pi')
        held.append(one)
    a.rounds(3)
    for one in held:
        one.close()


def long_line(a):
    """a line without end is cut off at 1 MiB"""
    one = a.connect()
    sent = 0
    piece = b"x" * 65536
    one.settimeout(60)
    try:
        one.sendall(b'{"a":"')
        while sent < 1 << 30:
            sent += one.send(piece)
    except OSError:
        pass
    # What the kernel holds for a connection is not read by anybody.
    a.true(sent < 16 << 20, f"{sent} bytes were taken")
    one.close()


def many_requests(a):
    """ten thousand requests at once are answered or refused, each once"""
    one = client.Client(a.world.service.connect(), a.world.definitions)
    one.hello()
    count = 10000
    result = one.ask("run.start", argv=[str(a.world.actor), "hold"], cwd=str(a.world.folder), sandbox="none",
                     allowNoSandbox=True)
    for number in range(count):
        one.asked[json.dumps(f"w{number}")] = ("run.wait", {})
    block = b"".join(line({"jsonrpc": "2.0", "id": f"w{number}", "method": "run.wait",
                           "params": {"run": result["run"]}}) for number in range(count))
    sender = threading.Thread(target=one.write, args=(block,), daemon=True)
    sender.start()
    pending = one.limits["pending"]
    one.wait(lambda: len(one.answers) >= count - pending, "refusals")
    names = {message["error"]["data"]["name"] for message in one.answers.values()}
    a.true(names == {"overloaded"}, f"refused as {names}")
    sender.join(60)
    one.ask_later("run.cancel", {"run": result["run"]}, "end")
    one.wait(lambda: len(one.answers) >= count, "the rest")
    a.failures += one.faults
    one.close()


def deaf(a):
    """a client that floods and does not read costs no more than its queue"""
    held = []
    for _ in range(4):
        one = a.connect()
        one.sendall(line(HELLO))
        for number in range(2, 6):
            one.sendall(line({"jsonrpc": "2.0", "id": number, "method": "run.start", "params": {
                "argv": [str(a.world.actor), "flood", "200000000"], "cwd": str(a.world.folder), "credit": 1 << 40,
                "sandbox": "none", "allowNoSandbox": True}}))
        held.append(one)
    a.rounds(3)
    for one in held:
        one.close()


def connections(a):
    """connections beyond the quota are refused, and free again when others go"""
    held = []
    try:
        for _ in range(1200):
            one = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            one.settimeout(5)
            one.connect(a.path)
            held.append(one)
    except OSError:
        pass
    for one in held:
        one.close()
    deadline = time.monotonic() + 60
    answered = False
    while not answered and time.monotonic() < deadline:
        one = a.connect()
        one.settimeout(5)
        try:
            one.sendall(line(HELLO))
            answered = b'"result"' in one.recv(65536)
        except OSError:
            time.sleep(0.1)
        one.close()
    a.true(answered, "nobody is answered afterwards")


def other_user(a):
    """another user is not answered, even when the socket can be reached"""
    folders = [pathlib.Path(a.path).parent, pathlib.Path(a.path).parent.parent]
    command = [str(a.world.actor), "reach", a.path, line(HELLO).decode().strip()]

    def ask(user):
        done = subprocess.run(command, user=user, group=user, extra_groups=[], stdout=subprocess.PIPE, check=False,
                              cwd="/", timeout=60)
        return done.stdout
    a.true(b'"result"' in ask(0), "control: the own user is not answered")
    a.true(b'"result"' not in ask(NOBODY), "another user is answered")
    modes = [path.stat().st_mode for path in (*folders, pathlib.Path(a.path))]
    for path in (*folders, pathlib.Path(a.path)):
        path.chmod(0o777)
    got = ask(NOBODY)
    a.true(b'"result"' not in got, f"another user that can reach the socket is answered {got!r}")
    for path, mode in zip((*folders, pathlib.Path(a.path)), modes):
        path.chmod(mode & 0o7777)


def from_a_box(a):
    """a process in a box does not reach the service"""
    actor = a.world.folder / "boxed-actor"
    os.link(a.world.actor, actor)
    words = [str(actor), "reach", a.path, line(HELLO).decode().strip()]
    one = client.Client(a.world.service.connect(), a.world.definitions)
    one.hello()

    def ask(**more):
        run = one.runs[one.ask("run.start", argv=words, cwd=str(a.world.folder), **more)["run"]]
        one.wait(lambda: run.result is not None, "the end")
        a.true(run.result["status"] == 0, f"it ended with {run.result['status']}")
        return run.bytes["stdout"]
    folder = str(pathlib.Path(a.path).parent)
    a.true(b'"result"' in ask(sandbox="none", allowNoSandbox=True), "control: it is not reached without a box")
    got = ask()
    a.true(b'"result"' not in got, f"it is reached from a box: {got!r}")
    opened = {"sandbox": {"mode": "workspace-write", "fs_write_allow": [folder]}}
    got = ask(manifest=opened)
    a.true(b'"result"' not in got, f"it is reached from a box that may write beside it: {got!r}")
    a.failures += one.faults
    one.close()


ATTACKS = (garbage, half_lines, long_line, many_requests, deaf, connections, other_user, from_a_box)


def settled(attack, before):
    """Descriptors that stay, and the most memory that was used."""
    deadline = time.monotonic() + 60
    while attack.descriptors() > before and time.monotonic() < deadline:
        time.sleep(0.05)
    return attack.descriptors(), attack.status("VmHWM")


def main():
    world = play.World("socket", True, sys.argv[1])
    attack = Attack(world)
    warm = Neighbour(world)
    warm.is_over.set()
    warm.run()
    before = attack.descriptors()
    is_instrumented = b"__asan_" in pathlib.Path(play.SBX).read_bytes()
    attacks = [one for one in ATTACKS if one is not other_user or os.geteuid() == 0]
    print(f"1..{len(attacks) + 2}")
    failed = False
    for number, one in enumerate(attacks, 1):
        attack.failures = []
        if one is from_a_box:  # after it boxes are kept warm, which has its price
            left, peak = settled(attack, before)
        neighbour = Neighbour(world)
        neighbour.start()

        def rounds(count, neighbour=neighbour):
            want = neighbour.rounds + count
            deadline = time.monotonic() + 120
            while neighbour.rounds < want and neighbour.is_alive() and time.monotonic() < deadline:
                time.sleep(0.01)
        attack.rounds = rounds
        rounds(1)
        try:
            one(attack)
            rounds(1)
        except (client.Gone, client.Refused, OSError) as error:
            attack.failures.append(f"{type(error).__name__}: {error}")
        neighbour.is_over.set()
        neighbour.join(120)
        attack.true(neighbour.rounds >= 2, f"the neighbour got {neighbour.rounds} rounds")
        failures = attack.failures + [f"neighbour: {fault}" for fault in neighbour.faults]
        failed = failed or bool(failures)
        print("".join(f"# {failure:.400}\n" for failure in failures[:10]), end="")
        print(f"{'not ok' if failures else 'ok'} {number} - {one.__doc__}", flush=True)
    is_small = peak < MEMORY_KIB or is_instrumented
    print(f"# {before} descriptors before, {left} after; {peak} KiB at most")
    print(f"{'ok' if left <= before and is_small else 'not ok'} {len(attacks) + 1} - nothing is left, and little was used")
    status, log = world.close()
    if failed or status != 0:
        print("".join(f"# service: {row}\n" for row in log.splitlines()[-20:]), end="")
    print(f"{'ok' if status == 0 else 'not ok'} {len(attacks) + 2} - the service ends with status 0")
    sys.exit(1 if failed or status != 0 or left > before or not is_small else 0)


if __name__ == "__main__":
    main()
