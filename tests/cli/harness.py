"""Runs sbx from the outside and prints TAP: what the scripts of this directory share.

    @promise("a box says what it was asked")
    def _(t):
        done = t.run("run", "--", t.actor, "exit", 3, env=t.unboxed)
        t.equal(done.status, 3)

    main()

Every case has a fresh directory with an empty home and an empty project below it; nothing of the
caller's environment but what sbx needs to start reaches sbx. Checks do not stop a case: all that is
wrong with it is printed, got and want. A case that makes no check fails. A skip says what is
missing; SBX_TEST_REQUIRE (a list, or "all") makes it a failure."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import traceback

SBX = os.environ["SBX"]
RUNNER = os.environ.get("SBX_RUNNER", "").split()
PLATFORM = {"darwin": "macos"}.get(os.environ["SBX_PLATFORM"], os.environ["SBX_PLATFORM"])
WINDOWS = PLATFORM == "windows"
ACTOR = sys.argv[1] if len(sys.argv) > 1 else None
COMMANDS = ("run", "shell", "explain", "why", "verify", "init", "profile", "trust", "workspace", "doctor", "selftest",
            "serve", "service", "mcp", "schema", "completion", "version", "help")
# What sbx, a sanitizer's runtime or Wine needs to start.
KEPT = ("PATH", "LANG", "LC_ALL", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "GCOV_PREFIX",
        "GCOV_PREFIX_STRIP", "WINEPREFIX", "WINEDEBUG", "WINEDLLOVERRIDES", "WINESERVER")
KEPT_FOR_WINE = ("HOME", "XDG_RUNTIME_DIR")
SHOWN_FAILURES = 20
SHOWN_CHARACTERS = 700
SECONDS = 60

_cases = []


def promise(text, on=("linux", "macos", "windows")):
    """Registers a case; on other platforms than these it does not exist."""
    def register(function):
        if PLATFORM in on:
            _cases.append((text, function))
        return function
    return register


POSIX = ("linux", "macos")


def instrumented():
    """A sanitizer multiplies the memory a program needs."""
    return b"__asan_" in pathlib.Path(SBX).read_bytes()


def native(path):
    """A path of this machine as sbx names it: Wine shows the root as drive Z."""
    path = str(path)
    return "Z:" + path.replace("/", "\\") if WINDOWS else path


def toml(text):
    """A TOML string."""
    return json.dumps(str(text), ensure_ascii=False).replace("\x7f", "\\u007f")


def in_removed(directory):
    """A prefix that starts sbx in a directory which no longer exists then."""
    return ("sh", "-c", 'cd "$0" && rmdir "$0" && exec "$@"', directory)


class Done:
    """How a run of sbx ended."""

    def __init__(self, command, status, out, err):
        self.command = command
        self.status = status
        self.out_bytes = out
        self.err_bytes = err
        self.out = out.decode("utf-8", "surrogateescape")
        self.err = err.decode("utf-8", "surrogateescape")

    def __str__(self):
        return (f"{' '.join(map(repr, self.command))}\nstatus {self.status}\n"
                f"stdout {_shown(self.out)}\nstderr {_shown(self.err)}")


class _Skip(Exception):
    pass


def _shown(value):
    text = repr(value)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}… ({len(text)})"


class Case:
    """What a case works with."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.home = self.directory / "home"
        self.project = self.directory / "home/project"
        self.project.mkdir(parents=True)
        self.actor = ACTOR and native(ACTOR)
        self.unboxed = {"SBX_SANDBOX": "none", "SBX_ALLOW_NO_SANDBOX": "1"}
        self.refused = {"SBX_SANDBOX": "no-such-backend"}
        self.checks = 0
        self.failures = 0

    # ---- running ----

    def environment(self, changes=None):
        """The environment sbx gets; a change to None takes a variable away."""
        names = KEPT + (KEPT_FOR_WINE if WINDOWS else ())
        env = {name: os.environ[name] for name in names if name in os.environ}
        # A directory that may not be searched makes "not found" into "perhaps not executable".
        env["PATH"] = os.pathsep.join(entry for entry in os.environ["PATH"].split(os.pathsep)
                                      if os.access(entry, os.X_OK))
        if not WINDOWS:
            env["HOME"] = str(self.home)
        for name, value in (changes or {}).items():
            env.pop(name, None)
            if value is not None:
                env[name] = value
        return env

    def run(self, *words, env=None, cwd=None, stdin=b"", prefix=(), seconds=SECONDS, program=None,
            **options):
        """Runs sbx with these words. `prefix` goes before the program (setpriv, unshare …)."""
        program = str(program or (SBX if options.get("user") is None else self.copy_of_sbx()))
        command = [*map(str, prefix), *RUNNER, program,
                   *(word if isinstance(word, (str, bytes)) else str(word) for word in words)]
        if isinstance(stdin, str):
            stdin = stdin.encode()
        feed = {"input": stdin} if isinstance(stdin, bytes) else {"stdin": stdin}
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        done = subprocess.run(command, env=self.environment(env), cwd=cwd or self.project,
                              timeout=seconds, check=False, **feed, **options)
        return Done([word if isinstance(word, str) else repr(word) for word in command[len(prefix):]],
                    done.returncode, done.stdout or b"", done.stderr or b"")

    def copy_of_sbx(self):
        """The program where another user can reach it: the build may be in somebody's private directory."""
        copy = self.directory / "sbx-for-others"
        if not copy.exists():
            shutil.copy(SBX, copy)
            copy.chmod(0o755)
        return str(copy)

    def start(self, *words, env=None, cwd=None, **options):
        """The same without waiting: a Popen."""
        program = SBX if options.get("user") is None else self.copy_of_sbx()
        command = [*RUNNER, program, *map(str, words)]
        return subprocess.Popen(command, env=self.environment(env), cwd=cwd or self.project,
                                **options)

    def manifest(self, text, name="sbx.toml", below=None):
        """Writes a file (text, bytes or a list of bytes) into the project (or `below`), returns its path."""
        path = pathlib.Path(below or self.project) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as stream:
            for part in text if isinstance(text, list) else [text]:
                stream.write(part if isinstance(part, bytes) else part.encode())
        return path

    def plan(self, *words, **options):
        """The plan that `sbx explain --json` prints, None after a failed check."""
        done = self.run("explain", "--json", *words, **options)
        self.equal(done.status, 0, done)
        report = self.json(done.out, done)
        return report and report.get("plan")

    # ---- checking ----

    def _fail(self, what, *lines):
        self.failures += 1
        if self.failures == SHOWN_FAILURES + 1:
            print("# more failures of this case are not shown")
        if self.failures > SHOWN_FAILURES:
            return False
        frame = next(entry for entry in reversed(traceback.extract_stack())
                     if entry.filename != __file__)
        print(f"# {os.path.basename(frame.filename)}:{frame.lineno}: {frame.line}")
        for text in (*lines, *([what] if what else [])):
            for line in str(text).splitlines():
                print(f"#   {line}")
        return False

    def true(self, held, what=""):
        self.checks += 1
        return bool(held) or self._fail(what, "got:  false", "want: true")

    def equal(self, got, want, what=""):
        self.checks += 1
        return got == want or self._fail(what, f"got:  {_shown(got)}", f"want: {_shown(want)}")

    def among(self, got, wanted, what=""):
        self.checks += 1
        return got in wanted or self._fail(what, f"got:  {_shown(got)}",
                                           f"want: one of {_shown(wanted)}")

    def has(self, text, part, what=""):
        self.checks += 1
        return part in text or self._fail(what, f"got:  {_shown(text)}",
                                          f"want: with {_shown(part)}")

    def lacks(self, text, part, what=""):
        self.checks += 1
        return part not in text or self._fail(what, f"got:  {_shown(text)}",
                                              f"want: without {_shown(part)}")

    def json(self, text, what=""):
        """The one JSON object the text is, or an empty one after a failed check."""
        self.checks += 1
        try:
            value = json.loads(text, object_pairs_hook=_without_duplicates)
        except ValueError as problem:
            self._fail(what, f"got:  {_shown(text)}", f"want: JSON ({problem})")
            return {}
        if not isinstance(value, dict):
            self._fail(what, f"got:  {_shown(text)}", "want: an object")
            return {}
        return value

    def outcome(self, done):
        """The outcome object at the end of a run's standard error: its last line."""
        lines = done.err.splitlines()
        return self.json(lines[-1] if lines else "", done)

    def skip(self, feature, reason, is_kernels=False):
        """Ends the case: this machine cannot show it. What its kernel or its root can never do is not asked for by "all",
        which means everything that can be installed; only by its name."""
        required = os.environ.get("SBX_TEST_REQUIRE", "").split(",")
        if ("all" in required and not is_kernels) or feature in required:
            self._fail("", f'SBX_TEST_REQUIRE asks for "{feature}", which is missing: {reason}')
        raise _Skip(f"this kernel cannot: {reason}" if is_kernels else reason)


def _without_duplicates(pairs):
    keys = [key for key, _ in pairs]
    if len(set(keys)) != len(keys):
        raise ValueError(f"a key is there twice: {keys}")
    return dict(pairs)


def _run_case(function):
    """(passed, why it was skipped or None)"""
    directory = os.path.realpath(tempfile.mkdtemp(prefix="sbx-cli-"))
    os.chmod(directory, 0o755)
    case = Case(directory)
    try:
        function(case)
    except _Skip as reason:
        return case.failures == 0, str(reason)
    except Exception:  # a case that breaks is a failed one, and the next still runs
        for line in traceback.format_exc().splitlines():
            print(f"# {line}")
        return False, None
    finally:
        _remove(directory)
    if case.checks == 0:
        print("# the case made no check")
    return case.failures == 0 and case.checks > 0, None


def _remove(directory):
    for root, names, _ in os.walk(directory):
        for name in (root, *(os.path.join(root, name) for name in names)):
            if not os.path.islink(name):
                os.chmod(name, 0o700)
    shutil.rmtree(directory, ignore_errors=True)


def main():
    failed = skipped = 0
    print(f"1..{len(_cases)}", flush=True)
    for number, (text, function) in enumerate(_cases, 1):
        passed, reason = _run_case(function)
        failed += not passed
        skipped += passed and reason is not None
        print(f"{'ok' if passed else 'not ok'} {number} - {text}"
              + (f" # SKIP {reason}" if passed and reason is not None else ""), flush=True)
    if not _cases:
        print("# no case was run")
    sys.exit(1 if failed or not _cases else 77 if skipped == len(_cases) else 0)
