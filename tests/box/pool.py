"""A warm pool behind a server: what its clients see, and what is left when it is killed. The server is the driver of
tests/pool, the boxes are real."""

import concurrent.futures
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import time

from boxed import NO_MATTER, SEARCHED, adopt, descendants, each, groups, main, reap, wait_until

RUNS, SIDE_BY_SIDE = 200, 3
READY_SECONDS, LEFT_SECONDS = 30, 3.0


class Pool:
    """A server with one manifest, and its clients, all by the user of the box."""

    def __init__(self, box, **more):
        adopt()
        self.box = box
        self.program = self.copy("SBX_POOL_DRIVER")
        self.client = self.copy("SBX_POOL_CLIENT")
        self.manifest = box.write("box.json", json.dumps({"sandbox": {
            "filesystem": {":root": "read", str(box.mkdir("work")): "write"}, "network": "deny",
            "syscall_policy": "strict", "timeout": "60s", "cwd": str(box.project / "work"), "env_pass": ["PATH"],
            "tmpfs": ["/tmp"], **more}}), below=box.home)
        self.socket = pathlib.Path(box.home) / "socket"
        self.process = None

    def copy(self, name):
        """A program, named by a variable, where the user can reach it."""
        program = pathlib.Path(os.environ[name])
        place = self.box.t.directory / program.name
        if not place.exists():
            shutil.copy(program, place)
            place.chmod(0o755)
        return str(place)

    def options(self):
        return {"env": {"PATH": SEARCHED, "HOME": str(self.box.home), **NO_MATTER}, "cwd": self.box.project,
                **self.box.options}

    def __enter__(self):
        self.process = subprocess.Popen(
            [self.program, "serve", "-f", str(self.manifest), "--socket", str(self.socket)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **self.options())
        wait_until(lambda: self.socket.exists() or self.process.poll() is not None, READY_SECONDS)
        if self.process.poll() is not None:
            text = self.process.stderr.read().decode()
            if "cannot be used here" in text:
                self.box.t.skip("native", text)
            raise RuntimeError(text)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(30)
        self.process.stderr.close()

    def run(self, *command, **more):
        """(status, output, complaints) of a client."""
        done = subprocess.run([self.client, "--socket", str(self.socket), "--", *map(str, command)],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60,
                              check=False, **self.options(), **more)
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    def sh(self, script, *words):
        return self.run("/bin/sh", "-c", script, *words)


@each("statuses, output and signals of two hundred runs are the commands' own")
def _(box):
    def one(pool, number):
        ways = ((f"echo {number}; exit {number % 250}", (number % 250, f"{number}\n", "")),
                (f"echo {number} >&2; kill -TERM $$", (128 + signal.SIGTERM, "", f"{number}\n")),
                (f"(sleep 100 &); echo {number}; exit 3", (3, f"{number}\n", "")))
        script, wanted = ways[number % len(ways)]
        return wanted, pool.sh(script)

    with Pool(box) as pool, concurrent.futures.ThreadPoolExecutor(SIDE_BY_SIDE) as workers:
        for wanted, got in workers.map(lambda number: one(pool, number), range(RUNS)):
            box.t.equal(got, wanted)
    box.nothing_runs("the server has ended")


@each("no run sees what another left, and none sees another")
def _(box):
    with Pool(box) as pool:
        box.t.equal(pool.sh("echo x > /tmp/left; echo x > kept; exec 9>/tmp/open; (sleep 100 &)")[0], 0)
        box.t.equal(pool.sh("cat kept; test -e /tmp/left || echo none; ls /proc | grep -c '^[0-9]'")[:2],
                    (0, "x\nnone\n4\n"), "sbx-init, sh, ls and grep")
        box.t.equal(pool.sh("ls /proc/self/fd | tr '\\n' ' '")[:2], (0, "0 1 2 3 "),
                    "three streams, and the directory that ls reads")


@each("a box of the pool is as closed as a cold one")
def _(box):
    box.mkdir("work/.git/hooks")
    box.write("work/secret.txt", "x")
    box.write("outside", "x")
    scripts = ("echo x > ../outside", "echo x > .git/hooks/post-commit", "mkdir -p deep/.git/hooks && mkdir deep/.git",
               "cat /etc/shadow", "kill -9 1 && sleep 0.1", "cat /proc/1/environ", "cat /proc/1/maps",
               "unshare -U true", "mount -t tmpfs x /tmp", "chmod 4755 secret.txt && test -u secret.txt",
               "echo > /dev/tcp/127.0.0.1/1", "python3 -c 'import socket; socket.socket(socket.AF_UNIX)'")
    with Pool(box) as pool:
        for script in scripts:
            cold = box.sbx("run", "-f", pool.manifest, "--", "sh", "-c", script, env={"SBX_SANDBOX": "native"})
            warm = pool.sh(script)
            box.t.equal(warm[0], cold.status, f"{script}: {warm} {cold}")


@each("what appears on the host while boxes wait is protected in them")
def _(box):
    with Pool(box) as pool:
        box.t.equal(pool.sh("exit 0")[0], 0)
        box.mkdir("work/.git/hooks")
        hook = box.write("work/.git/hooks/pre-commit", "host's")
        status, _, err = pool.sh("echo boxed > .git/hooks/pre-commit")
        box.t.true(status != 0, err)
        box.t.equal(hook.read_text(), "host's")


@each("a limit of time or memory ends a run and says so")
def _(box):
    with Pool(box, timeout="400ms", max_memory_bytes="64MiB") as pool:
        time.sleep(0.5)  # waiting for a command takes none of its time
        box.t.equal(pool.sh("exit 7")[0], 7)
        box.t.equal(pool.sh("sleep 60")[0], 124)
        box.t.equal(pool.sh("trap '' TERM; sleep 60; sleep 60")[0], 124)
        box.t.equal(pool.sh("kill -STOP $$")[0], 124)
        box.t.equal(pool.sh("exit 8")[0], 8)


@each("a client that goes takes its command with it")
def _(box):
    with Pool(box) as pool:
        client = subprocess.Popen([pool.client, "--socket", str(pool.socket), "--", "/bin/sh", "-c",
                                   "echo x > started; sleep 1000"], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **pool.options())
        wait_until((box.project / "work/started").exists, 20)
        client.kill()
        client.wait()
        box.t.true(wait_until(lambda: not any("sleep 1000" in words for words in descendants().values()), 5),
                   descendants())


@each("a server that is killed at any moment leaves no process, mount or group")
def _(box):
    moments = random.Random(7)
    pool = Pool(box, max_processes=100, max_memory_bytes="256MiB")
    mounts = pathlib.Path("/proc/self/mountinfo").read_text()
    for number in range(8):
        if number % 2 == 0:
            pool.__enter__()
            client = subprocess.Popen(
                [pool.client, "--socket", str(pool.socket), "--", "/bin/sh", "-c", "sleep 1000"],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **pool.options())
            time.sleep(moments.uniform(0, 0.1))
            pool.process.kill()
            client.wait(10)
        else:
            pool.process = subprocess.Popen(
                [pool.program, "serve", "-f", str(pool.manifest), "--socket", str(pool.socket)],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **pool.options())
            time.sleep(moments.uniform(0, 0.15))
            pool.process.kill()
        pool.process.wait()
        pool.process.stderr.close()
        pool.socket.unlink(missing_ok=True)

        def left(pid=pool.process.pid):
            reap()
            return descendants(), [path for path in groups() if f"/sbx-{pid}-" in path]
        wait_until(lambda: not any(left()), LEFT_SECONDS)
        box.t.equal(left(), ({}, []), f"round {number}")
    box.t.equal(pathlib.Path("/proc/self/mountinfo").read_text(), mounts)


main()
