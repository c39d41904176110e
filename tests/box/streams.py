"""Streams and signals of a command in a real box: byte for byte, signal for signal, as without sbx."""

import itertools
import hashlib
import os
import random
import signal
import subprocess
import time

from boxed import each, main, state_of
from harness import instrumented
from on_terminal import below, command_line, is_gone, wait_until

MIB = 1 << 20
USER = ("user",)  # where the user makes no difference


def peak_kib(pid):
    """The most memory a process has used (VmHWM)."""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        return next((int(line.split()[1]) for line in file if line.startswith("VmHWM")), 0)


def start_ready(box, script, *words, **options):
    """`sbx run` of a shell script that says "ready"; its Popen, once it has."""
    options.setdefault("stderr", subprocess.DEVNULL)
    process = box.start("run", *words, "--", "sh", "-c", script, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                        **options)
    box.t.equal(process.stdout.readline(), b"ready\n")
    return process


def finish(process, seconds=20):
    """(status as a shell would say it, the rest of standard output)"""
    out = process.stdout.read()
    status = process.wait(seconds)
    process.stdout.close()
    return (128 - status if status < 0 else status), out


# ---- statuses ----


@each("exit codes from 0 to 255 are exact", USER)
def _(box):
    t = box.t
    for code in (*range(0, 256, 15), 1, 2, 124, 125, 126, 127, 128, 254):
        t.equal(box.sbx("run", "-q", "--", "sh", "-c", f"exit {code}").status, code)


@each("a command that a signal ended is 128 and the signal, in text and outcome", USER)
def _(box):
    t = box.t
    for name in ("HUP", "INT", "QUIT", "ILL", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE", "ALRM",
                 "TERM", "XCPU", "SYS"):
        number = getattr(signal, "SIG" + name)
        done = box.sbx("run", "-q", "--json", "--", "sh", "-c", f"kill -{name} $$")
        t.equal(done.status, 128 + number, name)
        outcome = t.outcome(done)
        t.equal((outcome.get("signal"), outcome.get("exit_code"), outcome.get("origin")),
                (number, None, "command"), name)


# ---- streams ----


@each("ten million bytes go in and come out unchanged")
def _(box):
    t = box.t
    data = random.Random(3).randbytes(10 * MIB)
    done = box.sbx("run", "--", "cat", stdin=data)
    t.equal((done.status, len(done.out_bytes)), (0, len(data)), done.err)
    t.true(done.out_bytes == data)
    done = box.sbx("run", "--", "sh", "-c", "cat >&2", stdin=data)
    t.true(done.err_bytes == data, f"{len(done.err_bytes)} bytes on standard error")


@each("standard input may be a file, a pipe, /dev/null or closed", USER)
def _(box):
    t = box.t
    path = t.manifest("from the file\n", "input")
    with path.open("rb") as file:
        t.equal(box.sbx("run", "--", "cat", stdin=file).out, "from the file\n")
    t.equal(box.sbx("run", "--", "cat", stdin="from the pipe\n").out, "from the pipe\n")
    t.equal(box.sbx("run", "--", "cat", stdin=subprocess.DEVNULL).out, "")
    done = box.sbx("run", "--", "cat", prefix=("sh", "-c", 'exec "$@" <&-', "sh"))
    t.equal((done.status, done.out), (0, ""), done)


@each("closed standard streams of the caller break nothing and give the command no other file")
def _(box):
    t = box.t
    for closed in ("<&-", ">&-", "2>&-", "<&- >&-", "<&- 2>&-", ">&- 2>&-", "<&- >&- 2>&-"):
        done = box.sbx("run", "--", "sh", "-c", 'for i in 0 1 2; do readlink /proc/self/fd/$i; done >streams; exit 6',
                     prefix=("sh", "-c", f'exec "$@" {closed}', "sh"))
        t.equal(done.status, 6, f"{closed}: {done}")
        # Standard output of that loop is the file; the other two are what sbx gave.
        seen = (t.project / "streams").read_text().split("\n")
        if "<&-" in closed:
            t.equal(seen[0], "/dev/null", closed)
        if " 2>&-" in " " + closed:  # carried by sbx
            t.true(seen[2] == "/dev/null" or seen[2].startswith("pipe:"), f"{closed}: {seen}")


@each("a reader that goes away ends the writer soon", USER)
def _(box):
    t = box.t
    begin = time.monotonic()
    process = box.start("run", "-t", "30s", "--", "yes", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    t.equal(process.stdout.readline(), b"y\n")
    process.stdout.close()
    t.equal(process.wait(20), 128 + signal.SIGPIPE)
    t.true(time.monotonic() - begin < 10)


@each("a process left in the background holds nothing up, and ends with the command", USER)
def _(box):
    t = box.t
    for script in ("sleep 321 & echo over", "(setsid sleep 321 >/dev/null 2>&1 &) ; sleep 0.2; echo over",
                   "(trap '' HUP TERM INT; sleep 321) & echo over"):
        begin = time.monotonic()
        done = box.sbx("run", "--", "sh", "-c", script)
        t.equal((done.status, done.out), (0, "over\n"), done)
        t.true(time.monotonic() - begin < 8, script)
        box.nothing_runs(script)


@each("a hundred million bytes of output pass sbx by: its memory stays small", USER)
def _(box):
    t = box.t
    bound = (96 if instrumented() else 16) * 1024  # a sanitizer multiplies memory; still less than what passes
    size = 100 * MIB
    path = t.project / "large"
    with path.open("wb") as file:
        file.truncate(size)
    for redirect in ("", ">&2"):  # standard error is carried, to explain denials
        process = box.start("run", "--", "sh", "-c", f"cat large {redirect}; read answer", stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        source = process.stderr if redirect else process.stdout
        seen, count = hashlib.sha256(), 0
        while count < size:
            block = source.read1(MIB)
            if not block:
                break
            seen.update(block)
            count += len(block)
        t.equal(count, size)
        keeper = next(iter(below(process.pid)), None)
        for pid in (process.pid, keeper):
            t.true(0 < peak_kib(pid) < bound, f"{peak_kib(pid)} KiB")
        process.stdin.write(b"\n")
        process.stdin.close()
        process.wait(20)
        process.stdout.close()
        process.stderr.close()


# ---- signals ----


@each("INT TERM HUP QUIT USR1 USR2 reach the command, which decides")
def _(box):
    t = box.t
    for name in ("INT", "TERM", "HUP", "QUIT", "USR1", "USR2"):
        number = getattr(signal, "SIG" + name)
        process = start_ready(box, f"trap 'echo got-{name}; exit 9' {name}; echo ready; while :; do sleep 0.1; done")
        process.send_signal(number)
        t.equal(finish(process), (9, f"got-{name}\n".encode()), name)
        process = start_ready(box, "echo ready; while :; do sleep 0.1; done")
        process.send_signal(number)
        t.equal(finish(process), (128 + number, b""), f"{name} without a trap")


@each("a signal that comes before the command runs is not lost", USER)
def _(box):
    t = box.t
    # Without what it learned, sbx tries the machine first: nothing of that may swallow a signal either.
    learned = [box.home / f".local/state/sbx/{name}-probe" for name in ("native", "bwrap")]
    for delay, knows in itertools.product((0.0, 0.003, 0.006, 0.01, 0.02, 0.04, 0.08), (False, True)):
        for path in learned:
            if not knows:
                path.unlink(missing_ok=True)
        process = box.start("run", "--", "sleep", "20", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL)
        # Before sbx catches it, it ends sbx itself: that is the same to whoever sent it.
        time.sleep(delay)
        process.send_signal(signal.SIGTERM)
        t.equal(finish(process, 10)[0], 128 + signal.SIGTERM, delay)


@each("two interrupts end the box whatever it does, as a cancel")
def _(box):
    t = box.t
    process = start_ready(box, "trap 'echo got' INT TERM HUP QUIT; echo ready; while :; do sleep 0.1; done", "--json",
                          stderr=subprocess.PIPE)
    processes = below(process.pid)
    process.send_signal(signal.SIGINT)
    t.equal(process.stdout.readline(), b"got\n")
    process.send_signal(signal.SIGINT)
    status, _ = finish(process)
    outcome = t.json(process.stderr.read().decode().splitlines()[-1])
    process.stderr.close()
    t.equal((status, outcome.get("limit"), outcome.get("origin")), (128 + signal.SIGKILL, "cancel", "sbx"))
    t.true(wait_until(lambda: all(map(is_gone, processes))))


@each("TSTP to sbx stops the box's processes and sbx, CONT goes on with both", USER)
def _(box):
    t = box.t
    # A group of its own, with a parent in the same session, as a shell gives its jobs; others are never stopped.
    process = start_ready(box, "sleep 331 & echo ready; wait; echo over", preexec_fn=os.setpgrp)
    sbx = process.pid
    t.true(wait_until(lambda: any(command_line(pid) == "sleep 331" for pid in below(sbx))))
    sleeper = next(pid for pid in below(sbx) if command_line(pid) == "sleep 331")
    os.kill(sbx, signal.SIGTSTP)
    t.true(wait_until(lambda: state_of(sleeper) == "T", 5), "the box is stopped")
    t.true(wait_until(lambda: state_of(sbx) == "T", 5), "and sbx")
    os.kill(sbx, signal.SIGCONT)
    t.true(wait_until(lambda: state_of(sleeper) == "S" and state_of(sbx) == "S", 5), "both go on")
    os.kill(sbx, signal.SIGTERM)
    t.equal(finish(process)[0], 128 + signal.SIGTERM)
    t.true(wait_until(lambda: is_gone(sleeper), 5))


@each("the time limit ends a stopped box, also while sbx is stopped", USER)
def _(box):
    t = box.t
    process = start_ready(box, "echo ready; kill -STOP $$; echo went on", "-t", "1s")
    t.equal(finish(process)[0], 124)
    process = start_ready(box, "echo ready; sleep 100", "-t", "2s")
    processes = below(process.pid)[1:]
    process.send_signal(signal.SIGSTOP)
    t.true(wait_until(lambda: all(map(is_gone, processes)), 10), "the keeper goes on")
    process.send_signal(signal.SIGCONT)
    t.equal(finish(process)[0], 124)


@each("a command that ignores TERM is ended after a short grace", USER)
def _(box):
    t = box.t
    begin = time.monotonic()
    done = box.sbx("run", "-t", "500ms", "--", "sh", "-c", "trap '' TERM; while :; do sleep 0.1; done")
    t.equal(done.status, 124, done)
    t.true(time.monotonic() - begin < 8)
    done = box.sbx("run", "-t", "500ms", "--", "sh", "-c", "trap 'echo bye; exit 0' TERM; while :; do sleep 0.1; done")
    t.equal((done.status, done.out), (124, "bye\n"), done)


@each("when sbx is killed, nothing of the box is alive a second later")
def _(box):
    t = box.t
    process = start_ready(box, "(setsid sleep 341 &) ; sleep 342 & echo ready; wait")
    t.true(wait_until(lambda: {"sleep 341", "sleep 342"} <= {command_line(pid) for pid in below(process.pid)}))
    processes = below(process.pid)
    process.kill()
    t.true(wait_until(lambda: all(map(is_gone, processes)), 1), processes)
    process.wait()
    process.stdout.close()


@each("double forks, own sessions, closed descriptors and zombies change nothing about the end", USER)
def _(box):
    t = box.t
    script = """
import os, time
for _ in range(100):
    if os.fork() == 0:
        os._exit(0)
for _ in range(5):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.closerange(0, 256)
            time.sleep(351)
        os._exit(0)
time.sleep(0.3)
os._exit(4)
"""
    begin = time.monotonic()
    process = box.start("run", "--", "python3", "-c", script, stdin=subprocess.DEVNULL)
    processes = []
    while process.poll() is None:
        processes = list(set(processes) | set(below(process.pid)))
        time.sleep(0.01)
    t.equal(process.wait(), 4)
    t.true(time.monotonic() - begin < 10)
    t.true(wait_until(lambda: all(map(is_gone, processes)), 2), "something is left")


@each("a box signals nobody outside it")
def _(box):
    t = box.t
    bystander = subprocess.Popen(["sleep", "361"])
    try:
        # Processes outside have no number inside; everything that can be named is signalled.
        done = box.sbx("run", "-q", "--", "sh", "-c", "trap '' TERM; kill -TERM -1; kill -TERM 0; "
                     f"kill -TERM {bystander.pid} && echo reached; kill -TERM {os.getpid()} && echo reached; exit 8")
        t.equal((done.status, done.out), (8, ""), done)
        t.equal(bystander.poll(), None)
        bystander.terminate()
        t.equal(bystander.wait(5), -signal.SIGTERM, "outside it can be")
    finally:
        bystander.kill()
        bystander.wait()


main()
