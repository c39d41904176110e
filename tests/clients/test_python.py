"""The Python client against a worker: the scripted one, and the real service where SBX_SERVICE names it."""

import asyncio
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "clients/python"))

import sbx  # noqa: E402
import sbx.aio  # noqa: E402

SCRIPTED = [sys.executable, "-B", str(ROOT / "tests/clients/worker.py")]
SERVICE = os.environ.get("SBX_SERVICE", "").split("\x1f") if os.environ.get("SBX_SERVICE") else None
DEADLINE = 60


def until(condition):
    end = time.monotonic() + DEADLINE
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


class Common:
    """What holds for any service."""

    command = SCRIPTED

    def connect(self):
        client = sbx.connect(start="always", command=self.command)
        self.addCleanup(client.close)
        return client

    def test_output_is_exactly_the_bytes(self):
        box = self.connect()
        body = bytes(range(256)) * 2000 + "grüße\n".encode() * 1000
        done = box.run(["cat"], input=body)
        self.assertEqual((done.status, done.stdout, done.stderr), (0, body, b""))
        done = box.run(["sh", "-c", "printf out; printf err >&2; exit 3"])
        self.assertEqual((done.status, done.stdout, done.stderr), (3, b"out", b"err"))

    def test_pieces_come_as_they_are_written(self):
        box = self.connect()
        with box.start(["sh", "-c", "echo one; read x; echo got $x; read y; exit 7"], stdin=True) as run:
            self.assertEqual(run.stdout.take(), b"one\n")
            run.write(b"two\n")
            self.assertEqual(run.stdout.take(), b"got two\n")
            run.close_stdin()
            self.assertEqual((run.wait(DEADLINE).status, run.stdout.read()), (7, b""))
            self.assertEqual(run.wait().status, 7)

    def test_signals_and_cancelling_end_a_run(self):
        box = self.connect()
        with box.start(["sh", "-c", "trap 'echo caught; exit 5' TERM; echo ready; while :; do sleep 0.1; done"]) as run:
            self.assertEqual(run.stdout.take(), b"ready\n")
            run.kill("SIGTERM")
            self.assertEqual((run.stdout.read(), run.wait(DEADLINE).status), (b"caught\n", 5))
        with box.start(["sleep", "1000"]) as run:
            pass
        self.assertNotEqual(run.wait(DEADLINE).status, 0)

    def test_callbacks_get_the_pieces(self):
        box = self.connect()
        got = []
        done = box.run(["sh", "-c", "echo a; echo b >&2"], on_stdout=got.append, on_stderr=got.append)
        self.assertEqual((sorted(got), done.stdout), ([b"a\n", b"b\n"], b""))

    def test_too_much_output_is_cut_and_told(self):
        done = self.connect().run(["sh", "-c", "head -c 300000 /dev/zero"], max_output=1000)
        self.assertEqual((len(done.stdout), done.truncated, done.status), (1000, True, 0))

    def test_several_threads_share_a_client(self):
        box = self.connect()
        results = []
        threads = [threading.Thread(target=lambda n=n: results.append(box.run(["sh", "-c", f"echo {n}; exit {n}"])))
                   for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(DEADLINE)
        self.assertEqual(sorted((done.status, done.stdout) for done in results), [(n, b"%d\n" % n) for n in range(6)])

    def test_a_vanished_service_is_a_clear_error(self):
        box = self.connect()
        run = box.start(["sleep", "1000"])
        box._link.child.kill()
        for action in (run.wait, run.stdout.read, box.ping, lambda: box.start(["true"])):
            with self.assertRaises(sbx.ConnectionLostError):
                action()

    def test_asyncio(self):
        async def use():
            async with await sbx.aio.connect(start="always", command=self.command) as box:
                body = bytes(range(256)) * 2000
                done = await box.run(["cat"], input=body)
                self.assertEqual((done.status, done.stdout), (0, body))
                many = await asyncio.gather(*(box.run(["sh", "-c", f"exit {n}"]) for n in range(5)))
                self.assertEqual([done.status for done in many], list(range(5)))
                task = asyncio.ensure_future(box.run(["sh", "-c", "echo ready; exec sleep 1000"]))
                await asyncio.sleep(0.3)
                task.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await task
                run = await box.start(["sleep", "1000"])
                box._child.kill()
                with self.assertRaises(sbx.ConnectionLostError):
                    await run.wait()
        asyncio.run(asyncio.wait_for(use(), DEADLINE))

    def test_explain_verify_doctor(self):
        box = self.connect()
        self.assertIn("plan", box.explain(["true"]))
        self.assertFalse(box.verify("/no/such/manifest.toml")["ok"])
        self.assertEqual(box.doctor()["command"], "doctor")
        box.ping()


class Scripted(Common, unittest.TestCase):
    def test_a_slow_reader_slows_its_box_and_no_other(self):
        box = self.connect()
        window = box.limits["window"]
        with box.start(["sh", "-c", "head -c 3000000 /dev/zero"]) as run:
            sent = lambda: box.list()[0]["sent"]["stdout"]  # noqa: E731
            self.assertTrue(until(lambda: sent() == window))
            self.assertEqual(box.run(["sh", "-c", "head -c 500000 /dev/zero"]).stdout, bytes(500000))
            self.assertEqual(sent(), window, "nobody took anything")
            total = 0
            for data in run.stdout:
                total += len(data)
                self.assertLessEqual(sent(), total + window)
                if total > 2 * window:
                    break
            self.assertEqual(total + len(run.stdout.read()), 3000000)
            self.assertEqual(run.wait().status, 0)

    def test_errors_are_classes_with_name_and_hint(self):
        box = self.connect()
        for label, kind, name in (("refuse", sbx.RefusedError, "sandbox_unavailable"),
                                  ("invalid", sbx.PolicyInvalidError, "policy_invalid"),
                                  ("missing", sbx.NotFoundError, "not_found"), ("busy", sbx.OverloadedError, "overloaded")):
            with self.assertRaises(kind) as caught:
                box.start(["true"], label=label)
            self.assertEqual((caught.exception.kind, caught.exception.retryable), (name, label == "busy"))
        with self.assertRaises(sbx.RefusedError) as caught:
            box.run(["true"], label="refuse")
        self.assertEqual((caught.exception.code, caught.exception.hint, caught.exception.outcome),
                         (-33000, "install bubblewrap", {"status": 125}))
        with self.assertRaises(sbx.LimitError):
            box.start(["x" * (1 << 20)])
        box.ping()

    def test_a_service_that_dies_or_talks_nonsense(self):
        with self.assertRaises(sbx.ConnectionLostError):
            self.connect().start(["true"], env={"SBX_TEST_DIE": "1"})
        with self.assertRaises(sbx.ProtocolError):
            self.connect().run(["sleep", "100"], env={**os.environ, "SBX_TEST_GARBAGE": "1"})

    def test_sockets_are_found_by_their_places(self):
        with tempfile.TemporaryDirectory() as directory:
            place = f"{directory}/sbx/sbx.sock"
            os.mkdir(f"{directory}/sbx")
            for env in ({"SBX_SOCKET": place}, {"XDG_RUNTIME_DIR": directory}):
                self.assertEqual(sbx.places(env)[0], place)
                with subprocess.Popen([*SCRIPTED, "--socket", place], stdout=subprocess.PIPE) as worker:
                    worker.stdout.readline()
                    with sbx.connect(start="never", env=env) as box:
                        self.assertEqual(box.run(["echo", "hi"]).stdout, b"hi\n")
                    worker.wait(DEADLINE)
                os.unlink(place)
            with self.assertRaises(sbx.UnavailableError) as caught:
                sbx.connect(f"{directory}/none")
            self.assertIn("none", str(caught.exception))
            with self.assertRaisesRegex(sbx.ConnectionLostError, "told why"):
                sbx.connect(start="always", command=["sh", "-c", "echo told why >&2; exit 1"])
            with self.assertRaises(sbx.UnavailableError):
                sbx.connect(start="always", program=f"{directory}/no-sbx")

    def test_the_packages_are_the_same_bytes_each_time_and_work(self):
        version = re.search(r"project\(sbx VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)
        env = {**os.environ, "SBX_VERSION": version, "SOURCE_DATE_EPOCH": "1767225600", "PYTHONDONTWRITEBYTECODE": "1"}
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
            for folder in (one, other):
                subprocess.run([sys.executable, ROOT / "scripts/package.d/clients", folder], env=env, check=True, timeout=DEADLINE)
            names = sorted(os.listdir(one))
            self.assertEqual(names, [f"sbx-{version}-py3-none-any.whl", f"sbx-client-{version}.tgz"])
            for name in names:
                self.assertEqual(pathlib.Path(one, name).read_bytes(), pathlib.Path(other, name).read_bytes())
            shown = subprocess.run([sys.executable, "-c", "import sbx, sbx.aio; print(sbx.__version__, sbx.__file__)"], cwd=one,
                                   env={**env, "PYTHONPATH": str(pathlib.Path(one, names[0]))}, check=True, timeout=DEADLINE,
                                   stdout=subprocess.PIPE, text=True).stdout
            self.assertTrue(shown.startswith(version) and ".whl" in shown, shown)
            with tarfile.open(pathlib.Path(one, names[1])) as archive:
                self.assertIn("package/package.json", archive.getnames())

    def test_the_example_of_the_readme_runs(self):
        text = (ROOT / "clients/python/README.md").read_text()
        example = re.search(r"```python\n(.*?)```", text, re.S).group(1)
        with tempfile.TemporaryDirectory() as directory:
            program = pathlib.Path(directory) / "sbx"
            words = " ".join(f"'{word}'" for word in SCRIPTED)
            program.write_text(f"#!/bin/sh\nexec {words}\n")
            program.chmod(0o755)
            env = {**os.environ, "PATH": f"{directory}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "clients/python"),
                   "XDG_RUNTIME_DIR": directory, "SBX_SOCKET": f"{directory}/none", "PYTHONDONTWRITEBYTECODE": "1"}
            done = subprocess.run([sys.executable, "-c", example], env=env, capture_output=True, timeout=DEADLINE, check=False)
        self.assertEqual(done.stderr, b"")
        self.assertIn(b"0 b'hello\\n' b'from here'\n", done.stdout)
        self.assertTrue(done.stdout.endswith(b"0\n"), done.stdout)


if SERVICE:
    class Service(Common, unittest.TestCase):
        command = SERVICE

        def test_a_denial_is_told(self):
            done = self.connect().run(["sh", "-c", "echo x > /etc/sbx-client-denied"])
            self.assertNotEqual(done.status, 0)
            self.assertEqual([denial["path"] for denial in done.denials], ["/etc/sbx-client-denied"])


class Tap(unittest.TestResult):
    """Prints TAP, as the other scripts do."""

    def _told(self, passed, case, text=""):
        for line in text.splitlines():
            print(f"# {line}")
        print(f"{'ok' if passed else 'not ok'} {self.testsRun} - {case.id().partition('.')[2]}", flush=True)

    def addSuccess(self, test):
        super().addSuccess(test)
        self._told(True, test)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._told(False, test, self.failures[-1][1])

    def addError(self, test, err):
        super().addError(test, err)
        self._told(False, test, self.errors[-1][1])


def main():
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__])
    print(f"1..{suite.countTestCases()}", flush=True)
    result = suite.run(Tap())
    sys.exit(0 if result.wasSuccessful() and result.testsRun > 0 else 1)


if __name__ == "__main__":
    main()
