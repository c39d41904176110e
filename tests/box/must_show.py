"""What sbx must be able to show: it works, says why, keeps its limits, and never runs a command without a box."""

import os
import re
import threading
import time

from boxed import differences, each, listing, main

MAKEFILE = "prog: main.o\n\t$(CC) -o $@ $^\nmain.o: main.c\n\t$(CC) -c main.c\n"
IGNORES = "trap '' TERM INT HUP; while :; do sleep 0.05; done"
DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for fd in (0, 1, 2): os.close(fd)
        for i in range(400):
            os.close(os.open("alive", os.O_CREAT | os.O_WRONLY | os.O_APPEND)); time.sleep(0.05)
    os._exit(0)
os.wait()
open("started", "w").close()
time.sleep(float(sys.argv[1]))
"""
HOG = "x = []\nwhile True: x.append(bytearray(1 << 20))"
SPIN = "while True: pass"


@each("sbx run -- make builds a C project")
def _(box):
    box.has("gcc", "make")
    box.write("main.c", "int main(void) { return 42; }\n")
    box.write("Makefile", MAKEFILE)
    done = box.sbx("run", "--", "make")
    box.t.equal(done.status, 0, done)
    box.t.equal(box.outside("./prog", check=False)[0], 42)
    box.t.equal(os.stat(box.project / "prog").st_uid, box.uid)


@each('sbx run -- git commit works with git = "commit", from the manifest')
def _(box):
    box.has("git")
    for words in ("init -q -b main .", "config user.name Test", "config user.email test@invalid"):
        box.outside("git", *words.split())
    box.write("a", "a")
    box.outside("git", "add", "a")
    refused = box.sbx("run", "-E", "PATH", "--", "git", "commit", "-q", "-m", "first")
    box.t.equal(refused.status, 128, refused)
    box.t.has(refused.err, 'git = "commit"', refused)
    box.write("policy.toml", '[sandbox]\nmode = "workspace-write"\ngit = "commit"\nenv_pass = ["PATH"]\n', below=box.home)
    done = box.sbx("run", "-f", box.home / "policy.toml", "--", "git", "commit", "-q", "-m", "first")
    box.t.equal(done.status, 0, done)
    box.t.equal(box.outside("git", "log", "--format=%s")[1], "first\n")


@each("echo x > /etc/x fails, standard error says why, and names the line of the manifest")
def _(box):
    name = f"/etc/sbx-test-{os.getpid()}"
    policy = box.write("policy.toml", f'[sandbox.filesystem]\n":root" = "read"\n"{box.project}" = "write"\n',
                       below=box.home)
    done = box.sbx("run", "-f", policy, "--", "/bin/sh", "-c", f"echo x > {name}")
    box.t.equal(done.status, 2, done)
    box.t.true(not os.path.exists(name))
    box.t.has(done.err, "Read-only file system", done)
    box.t.has(done.err, f'sbx: denied: creation of "{name}"', done)
    box.t.true(re.search(r"policy\.toml:2\b", done.err), done)
    box.t.has(done.err, f"-w {name}" if box.uid == 0 else "the host refuses it to you outside the box too", done)
    done = box.sbx("run", "-f", policy, "--json", "--", "/bin/sh", "-c", f"echo x > {name}")
    denials = box.outcome(done).get("denials") or [{}]
    box.t.equal((denials[0].get("kind"), denials[0].get("operation"), denials[0].get("path")), ("file", "create", name), done)


@each("without bwrap another backend holds the manifest, or nothing runs; never without a box")
def _(box):
    tools = box.mkdir("tools", below=box.home)
    canary = box.home / "canary"
    for name in ("sh", "touch"):
        (tools / name).symlink_to(f"/bin/{name}")
    box.t.equal(box.outside("sh", "-c", f"touch {canary}"), (0, ""), "outside it is made")
    canary.unlink()
    script = f"touch ran; touch {canary}"
    for sandbox in ("bwrap", None):
        for options in ((), ("--deny", box.project / "secret"), ("-p", "strict", "-w", box.project)):
            box.mkdir("secret")
            (box.project / "ran").unlink(missing_ok=True)
            done = box.sbx("run", "--json", *options, "--", "/bin/sh", "-c", script,
                           env={"PATH": str(tools), "SBX_SANDBOX": sandbox})
            box.t.true(not canary.exists(), done)
            outcome = box.outcome(done)
            if done.status == 125:
                box.t.true(not (box.project / "ran").exists(), done)
                box.t.equal(outcome.get("started"), False, done)
            else:
                box.t.among(outcome.get("selection", {}).get("backend"), ("landlock", "native"), done)
                box.t.equal(outcome.get("unsandboxed"), False, done)
            if sandbox == "bwrap":
                box.t.equal(done.status, 125, done)
                box.t.has(done.err, "bwrap", done)


def limited(box, *words, limit, options, seconds=20):
    """Runs until a limit ends it, and says so; nothing is left."""
    host = box.watch()
    begin = time.monotonic()
    done = box.run(*words, options=("--strict", *options, "--json"), seconds=seconds)
    took = time.monotonic() - begin
    box.t.equal((done.status, box.outcome(done).get("limit")), (124, limit), done)
    host.unchanged(done)
    plain = box.run(*words, options=("--strict", *options), seconds=seconds)
    box.t.has(plain.err, f"sbx: ended: {limit}", plain)
    host.unchanged(plain)
    return took


@each("a memory limit ends a hog and says memory", identities=("root",))
def _(box):
    box.has("python3")
    if not groups_usable(box):
        box.t.skip("cgroup", "no control group can be made here")
    limited(box, "python3", "-c", HOG, limit="memory", options=("-m", "64M"))


@each("without a control group a memory limit holds each process", identities=("user",))
def _(box):
    box.has("python3")
    done = box.run("python3", "-c", HOG, options=("--strict", "-m", "64M"), seconds=20)
    box.t.true(done.status not in (0, 125), done)
    box.t.has(done.err, "MemoryError", done)


def groups_usable(box):
    report = box.t.json(box.sbx("explain", "--json", "-m", "64M").out)
    return report.get("plan", {}).get("tiers", {}).get("memory", {}).get("tier") == "enforced"


@each("a limit of processes stops a fork bomb; others go on")
def _(box):
    host = box.watch()
    script = "i=0; while [ $i -lt 60 ]; do sleep 5 & i=$((i + 1)); done; echo all of them"
    done = box.sh(script, options=("--strict", "--procs", "20"))
    box.t.true(done.status != 0, done)
    box.t.lacks(done.out, "all of them", done)
    box.t.has(done.err.lower(), "fork", done)
    host.unchanged(done)
    done = box.sh(script, options=("--strict", "--procs", "100"))
    box.t.equal((done.status, done.out), (0, "all of them\n"), done)
    host.unchanged(done)


@each("a limit of processor time ends a busy loop and says cpu")
def _(box):
    box.has("python3")
    took = limited(box, "python3", "-c", SPIN, limit="cpu", options=("--cpu", "1", "-t", "20s"))
    box.t.true(took < 15, took)


@each("a limit of output ends the run and says output; not a byte more is passed")
def _(box):
    limited(box, "yes", limit="output", options=("--max-output", "64K"))
    done = box.run("yes", options=("--strict", "--max-output", "64K"))
    box.t.equal(len(done.out), 65536, done.err)


@each("a timeout ends what ignores TERM, what stops itself and what daemonises")
def _(box):
    box.has("python3")
    for command in (("sh", "-c", IGNORES), ("sh", "-c", "kill -STOP $$"), ("sh", "-c", "sleep 100 & kill -STOP 0; wait"),
                    ("python3", "-c", DAEMON, "100"), ("sh", "-c", f"({IGNORES}) & {IGNORES}")):
        took = limited(box, *command, limit="timeout", options=("-t", "400ms"))
        box.t.true(0.3 < took < 5, (command, took))
    size = (box.project / "alive").stat().st_mtime_ns
    time.sleep(0.2)
    box.t.equal((box.project / "alive").stat().st_mtime_ns, size, "nobody goes on")


@each("a daemon does not outlive the command")
def _(box):
    box.has("python3")
    host = box.watch()
    done = box.run("python3", "-c", DAEMON, "0.1")
    box.t.equal(done.status, 0, done)
    host.unchanged(done)
    box.t.true((box.project / "started").exists())


@each("twenty times two runs in one workspace do not disturb each other, and leave nothing")
def _(box):
    box.has("git")
    box.write("repo/.git/config", "[core]\n")
    box.mkdir("tree/1/2/3")
    host = box.watch()
    box.sh("true")
    before = listing(box.project)
    limits = ("-m", "512M") if box.identity == "root" else ()
    found = []

    def one(number):
        for turn in range(20):
            name = f"file-{number}-{turn}"
            done = box.sh(f"echo {name} > {name}; mkdir d{number}; sleep 0.01; cat {name}; rm -r d{number} {name}; "
                          f"! echo evil > repo/.git/config; ! mkdir new{number}.d/.git 2>/dev/null; exit 7",
                          options=("--strict", *limits))
            found.append((done.status, done.out, name, done.err))

    threads = [threading.Thread(target=one, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    box.t.equal(len(found), 40)
    for status, out, name, err in found:
        box.t.equal((status, out), (7, f"{name}\n"), err)
    host.unchanged()
    project = str(box.project)
    box.t.equal([line for line in differences(before, listing(project)) if not line.startswith(f"{project}:")], [])


main()
