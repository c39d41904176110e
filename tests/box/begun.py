"""A native box is begun before its manifest is read, as most manifests want it. Where one wants something else, the box is as
the manifest says; where nothing is to run, nothing stays."""

import os
import signal
import time

from boxed import each, main

NET = ("readlink", "/proc/self/ns/net")
# Whatever ends before a box is built: {what is wrong: the manifest}
REFUSED = {
    "an unknown key": 'nonsense = 1\n',
    "a path that is forbidden": 'fs_read_allow = ["/proc/1"]\n',
    "a file that is no manifest": "this is not toml",
    "what no backend can hold": 'require = ["cpu"]\nsyscall_policy = "strict"\nnetwork = { kind = "allow_hosts", hosts = ["a.example.org"] }\n',
}


def run_with(box, text, *command):
    text = text if text.startswith("this") else "[sandbox]\n" + text
    path = box.write("begun.toml", text, below=box.home)
    return box.run(*command, options=("-f", path))


@each("a box that wants the host's network has it, one that does not has its own")
def _(box):
    host = os.readlink("/proc/self/ns/net")
    inherited = run_with(box, 'mode = "workspace-write"\nnetwork = "inherit"\n', *NET)
    box.t.equal((inherited.status, inherited.out.strip()), (0, host), inherited)
    own = run_with(box, 'mode = "workspace-write"\nnetwork = "deny"\n', *NET)
    box.t.equal(own.status, 0, own)
    box.t.true(own.out.startswith("net:[") and own.out.strip() != host, own)


@each("a limit of output holds from the first byte")
def _(box):
    done = run_with(box, 'mode = "workspace-write"\nmax_output_bytes = 1000\n', "head", "-c", "100000", "/dev/zero")
    box.t.equal(done.status, 124, done)
    box.t.equal(len(done.out), 1000, done)


@each("a limit of processes holds")
def _(box):
    done = run_with(box, 'mode = "workspace-write"\nmax_processes = 3\n', "sh", "-c",
                    "for i in 1 2 3 4 5 6 7 8; do sleep 1 & done; wait")
    box.t.true("fork" in done.err.lower() or "resource" in done.err.lower(), done)


@each("another account is that account", identities=("root",))
def _(box):
    done = run_with(box, 'mode = "read-only"\nuser = 65534\ngroup = 65534\n', "id", "-u")
    box.t.equal((done.status, done.out.strip()), (0, "65534"), done)


@each("where sbx refuses, nothing has run and nothing stays")
def _(box):
    host = box.watch()
    for what, text in REFUSED.items():
        done = run_with(box, text, "touch", box.project / "ran")
        box.t.equal(done.status, 125, f"{what}: {done}")
        box.t.true(not (box.project / "ran").exists(), what)
        box.nothing_runs(what, seconds=0.2)
    host.unchanged(seconds=0.2)
    done = run_with(box, 'mode = "workspace-write"\n', "touch", box.project / "ran")
    box.t.equal((done.status, (box.project / "ran").exists()), (0, True), done)


@each("who waits for a manifest that does not come ends when told to")
def _(box):
    read_end, write_end = os.pipe()
    with os.fdopen(write_end, "wb"):
        with os.fdopen(read_end, "rb") as manifest:
            process = box.start("run", "-f", "-", "--", "true", stdin=manifest)
        time.sleep(0.3)
        box.t.equal(process.poll(), None)
        process.send_signal(signal.SIGTERM)
        box.t.equal(process.wait(timeout=5), -signal.SIGTERM)
    box.nothing_runs()


@each("without a sandbox nothing of the box that was begun stays")
def _(box):
    host = box.watch()
    path = box.write("none.toml", '[sandbox]\nprofile = "none"\n', below=box.home)
    done = box.run("true", options=("-f", path))
    box.t.equal(done.status, 125, done)  # the two keys are missing
    host.unchanged(seconds=0.2)


main()
