"""When a box ends, all of it ends; limits end it, and say so; its streams and statuses are the command's own."""

import os
import pathlib
import pty
import signal
import termios
import time

from scenario import main, scenario

MIB = 1 << 20
# Goes on under the name of the world's directory, so that the test finds it from outside.
LINGER = 'exec "$0"/tools/sbx-probe --bystander "$0/"work/late'


@scenario("P07", "lifetime", "a daemonised grandchild outlives the command", also="K3")
def _(s):
    script = f"setsid sh -c '{LINGER}' \"$0\" </dev/null >/dev/null 2>&1 & sleep 0.1"
    control = s.outside("sh", "-c", script, s.world.top)
    control.communicate(timeout=10)
    s.t.true(s.left(0.2), "outside it goes on")
    for line in s.left(0):
        os.kill(int(line.split(":")[0]), 9)
    s.nothing_left()
    done = s.run("sh", "-c", script, s.world.top)
    s.t.equal(done.status, 0, done)
    s.nothing_left(done)


@scenario("G03", "lifetime", "a command that stops itself is ended in time")
def _(s):
    control = s.outside("sh", "-c", "kill -STOP $$")
    time.sleep(0.3)
    s.t.equal(control.poll(), None, "outside it stays")
    control.kill()
    control.communicate()
    done = s.run("sh", "-c", "kill -STOP $$", s.world.top, lines=['timeout = "500ms"'], seconds=10)
    s.t.equal((done.status, done.outcome.get("limit")), (124, "timeout"), done)
    s.nothing_left(done)


@scenario("G04", "lifetime", "a command that ignores SIGTERM is ended in time", also="K3")
def _(s):
    script = "trap '' TERM INT HUP; while :; do sleep 0.1; done"
    control = s.outside("sh", "-c", script)
    time.sleep(0.2)
    control.terminate()
    time.sleep(0.2)
    s.t.equal(control.poll(), None, "outside it stays")
    control.kill()
    control.communicate()
    done = s.run("sh", "-c", script, s.world.top, lines=['timeout = "500ms"'], seconds=15)
    s.t.equal((done.status, done.outcome.get("limit")), (124, "timeout"), done)
    s.nothing_left(done)


@scenario("G07", "lifetime", "double fork, new sessions, closed descriptors, 100 zombies: nothing remains", also="K3")
def _(s):
    script = (f"for i in 1 2 3; do (setsid sh -c '({LINGER}) <&- >&- 2>&- &' \"$0\" &) ; done; "
              "i=0; while [ $i -lt 100 ]; do (: &) ; i=$((i+1)); done; sleep 0.1; exit 5")
    done = s.run("sh", "-c", script, s.world.top)
    s.t.equal(done.status, 5, done)
    s.nothing_left(done)


@scenario("G08", "lifetime", "stopped processes in sessions of their own remain", also="K3")
def _(s):
    script = "setsid sh -c 'kill -STOP $$; : '\"$0\" & sleep 0.1; exit 0"
    done = s.run("sh", "-c", script, s.world.top)
    s.t.equal(done.status, 0, done)
    s.nothing_left(done)


def is_in_use(name):
    """Of a box that another test runs just now: "sbx-tmp-PID-START-…" of a process that lives."""
    parts = name.split("-")
    if not name.startswith("sbx-tmp-") or len(parts) < 5:
        return False
    try:
        stat = pathlib.Path(f"/proc/{parts[2]}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[19] == parts[3]


@scenario("Z05", "lifetime", "sbx is killed: processes, mounts, cgroups or scratch files are left", also="F15 G05")
def _(s):
    def scratch():
        places = {os.environ.get("TMPDIR", "/tmp"), "/tmp", "/run", f"/run/user/{s.identity.uid}", "/dev/shm"}
        return {os.path.join(place, name) for place in places if os.path.isdir(place) for name in os.listdir(place)
                if name.startswith("sbx") and not name.startswith(("sbx-fence", "sbx-cli")) and not is_in_use(name)}
    before = scratch()
    child = s.start("sh", "-c", f"echo ready; {LINGER}", s.world.top)
    s.t.equal(child.stdout.readline(), b"ready\n")
    child.kill()
    s.finish(child)
    s.nothing_left("after SIGKILL to sbx")
    done = s.run("true")
    s.t.equal(done.status, 0, done)
    s.t.equal(scratch() - before, set(), "after the next start")


@scenario("LK13", "lifetime", "exit status, signals and stops pass unchanged, under every shell", also="K13",
          expect="works")
def _(s):
    for shell in ("sh", "bash", "zsh", "fish"):
        if not os.path.exists(f"/usr/bin/{shell}"):
            continue
        for status in (0, 1, 77, 255):
            done = s.run(shell, "-c", f"exit {status}")
            s.t.equal(done.status, status, f"{shell}\n{done}")
    for number, status in ((15, 143), (9, 137), (6, 134)):
        done = s.run("sh", "-c", f"kill -{number} $$")
        s.t.equal(done.status, status, done)
    child = s.start("sh", "-c", "trap 'echo got; exit 7' TERM; echo ready; while :; do sleep 0.05; done", s.world.top)
    s.t.equal(child.stdout.readline(), b"ready\n")
    child.send_signal(signal.SIGTERM)
    done = s.finish(child)
    s.t.equal((done.status, done.out), (7, "got\n"), done)


@scenario("X08", "output", "endless output to a reader that does not read grows sbx's memory")
def _(s):
    child = s.start("yes", lines=['max_output_bytes = "1GiB"', 'timeout = "20s"'])
    time.sleep(0.6)
    status = pathlib.Path("/proc", str(child.pid), "status").read_text()
    resident = int(status.split("VmRSS:")[1].split()[0]) // 1024
    s.t.equal(child.poll(), None, "it waits")
    s.t.true(resident < 64, f"{resident} MiB")
    child.kill()
    s.finish(child)
    s.nothing_left()


@scenario("X09", "output", "1 GiB without a newline, cap 1 MiB", also="K9")
def _(s):
    done = s.run("sh", "-c", "head -c 1073741824 /dev/zero", lines=['max_output_bytes = "1MiB"'])
    s.t.equal((done.status, done.outcome.get("limit"), len(done.out)), (124, "output", MIB), done.err)
    s.nothing_left()


@scenario("X11", "output", "a fork bomb for a second", also="K9 K3")
def _(s):
    # Bounded: 2^9 processes at most, gone after some seconds also where nothing stops it.
    script = "f() { [ $1 -gt 0 ] && { f $(($1-1)) & f $(($1-1)) & }; sleep 3; }; f 8; wait"
    done = s.run("sh", "-c", script, s.world.top, lines=["max_processes = 48", 'timeout = "1s"'], seconds=20)
    s.t.among(done.status, (124, 2, 1, 137, 254), done)
    s.t.has(done.err, "ork", "some fork was refused")
    s.nothing_left(done)


@scenario("X13", "output", "a busy loop past its processor time", also="K9")
def _(s):
    done = s.run("sh", "-c", "while :; do :; done", lines=["max_cpu_secs = 1", 'timeout = "20s"'], seconds=30)
    s.t.true(done.status in (124, 137, 152) and done.seconds < 15, done)
    s.t.equal(done.outcome.get("limit"), "cpu", done)
    s.nothing_left(done)


@scenario("T05", "output", "escape sequences in what sbx itself says")
def _(s):
    hostile = "no\x1b]52;c;eA==\x07\x1b]8;;x\x07\x1b[201~\u202e"
    for options, command in (((), (hostile,)), (("-r", f"/{hostile}"), ("true",)),
                             ((), ("sh", "-c", f": '{hostile}'; exit 3"))):
        done = s.run(*command, options=options)
        s.t.lacks(done.err, "\x1b", done)
        s.t.lacks(done.err, "\u202e", done)
    done = s.run("printf", "%s", hostile)
    s.t.equal(done.out, hostile, "and the command's own output is not touched")


@scenario("T08", "terminal", "terminal modes that the command changed stay")
def _(s):
    master, slave = pty.openpty()
    try:
        s.identity.own(os.ttyname(slave))
        before = termios.tcgetattr(slave)
        child = s.start("sh", "-c", "stty -echo -icanon -isig 2>/dev/null; kill -9 $$", stdin=slave)
        done = s.finish(child)
        s.t.equal(done.status, 137, done)
        s.t.equal(termios.tcgetattr(slave), before, "as before")
    finally:
        os.close(master)
        os.close(slave)


@scenario("E03", "environment", "loader variables of the manifest act on sbx or its helpers", also="E02")
def _(s):
    lines = ['env = [["PATH", "/usr/bin:/bin"], ["LD_PRELOAD", "/nonexistent/planted.so"]]']
    done = s.run("/bin/echo", "ran", lines=lines)
    s.t.equal((done.status, done.out), (0, "ran\n"), done)
    s.t.equal(done.err.count("cannot be preloaded"), 1, f"by the command's own loader alone\n{done}")
    done = s.run(s.world.probe, "--list", lines=lines)
    s.t.equal((done.status, done.err.count("cannot be preloaded")), (0, 0), f"a static command has none\n{done}")


@scenario("E05", "environment", "names of variables with '=', empty, twice", expect="works")
def _(s):
    for pair in ("=x", "A\nB=x"):
        done = s.run("true", options=("-e", pair))
        s.t.equal(done.status, 125, done)
    done = s.run("env", lines=['env = [["PATH", "/usr/bin:/bin"], ["A", "first"], ["A", "second"]]'])
    s.t.equal([line for line in done.out.splitlines() if line.startswith("A=")], ["A=first"], done)


@scenario("E06", "environment", "no sandbox with one key, or with a wrong value")
def _(s):
    mark = s.world.work / "ran"
    for env in ({"SBX_SANDBOX": "none"}, {"SBX_SANDBOX": "none", "SBX_ALLOW_NO_SANDBOX": "yes"},
                {"SBX_SANDBOX": "none", "SBX_ALLOW_NO_SANDBOX": "0"}, {"SBX_SANDBOX": "Bwrap"}):
        done = s.run("touch", mark, env=env)
        s.t.equal((done.status, mark.exists()), (125, False), done)
    done = s.run("touch", mark, env={"SBX_SANDBOX": "none", "SBX_ALLOW_NO_SANDBOX": "1"}, lines=["require = []"])
    s.t.equal(mark.exists(), True, f"both keys open it\n{done}")


@scenario("LN14b", "output", "asyncio and multiprocessing work under the strict policy", also="N14", expect="works")
def _(s):
    script = ("import asyncio, multiprocessing, subprocess, sys\n"
              "async def f():\n"
              "    p = await asyncio.create_subprocess_exec('/bin/echo', 'sub', stdout=subprocess.PIPE)\n"
              "    print((await p.communicate())[0])\n"
              "asyncio.run(f())\n"
              "a, b = multiprocessing.Pipe()\n"
              "p = multiprocessing.get_context('fork').Process(target=b.send, args=('pair',)); p.start()\n"
              "print(a.recv()); p.join()\n")
    done = s.run("/usr/bin/python3", "-c", script, lines=['syscall_policy = "strict"'])
    s.t.equal((done.status, done.out), (0, "b'sub\\n'\npair\n"), done)


if __name__ == "__main__":
    main()
