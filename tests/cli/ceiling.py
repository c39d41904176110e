"""The administrator's policy is a ceiling on every manifest. /etc/sbx is never touched: sbx runs in a mount
namespace of its own, where /etc is a copy made of links with a policy in it. Under Wine the prefix is the test's
own machine, but no file in it can belong to an administrator: only the refusals can be shown."""

import os
import pathlib
import shutil
import subprocess

from harness import PLATFORM, main, native, promise

# $0 is the policy's file, $1 its owner:group or "", $2 its mode; the rest is the command.
INSIDE = r'''
set -e
policy=$0 owner=$1 mode=$2 work=$3; shift 3
mount --make-rprivate / 2>/dev/null || true
mkdir -p "$work/etc"
mount --bind /etc "$work/etc"
mount -t tmpfs -o mode=755 tmpfs /etc
ln -s "$work"/etc/* /etc/
rm -f /etc/sbx
mkdir /etc/sbx
if [ -d "$policy" ]; then mkdir /etc/sbx/policy.toml; else cp "$policy" /etc/sbx/policy.toml; fi
[ -z "$owner" ] || chown "$owner" /etc/sbx/policy.toml
chmod "$mode" /etc/sbx/policy.toml
shift
exec "$@"
'''
LINUX = ("linux",)


def namespace():
    """The unshare command line that works here, or why none does."""
    if shutil.which("unshare") is None:
        return None, "there is no unshare"
    why = ""
    for flags in ((("-m",),) if os.geteuid() == 0 else ()) + (("-U", "-r", "-m"),):
        tried = subprocess.run(["unshare", *flags, "mount", "-t", "tmpfs", "tmpfs", "/mnt"], check=False,
                               capture_output=True, text=True)
        if tried.returncode == 0:
            return ["unshare", *flags], ""
        why = tried.stderr.strip()
    return None, f"no mount namespace can be made: {why}"


UNSHARE, WHY_NOT = namespace() if PLATFORM == "linux" else (None, "")


class Machine:
    """A machine with this policy."""

    def __init__(self, t, policy, owner="", mode="644"):
        if UNSHARE is None:
            t.skip("mount-namespace", WHY_NOT)
        self.t = t
        self.work = t.directory / "work"
        self.work.mkdir(exist_ok=True)
        path = t.directory / "policy"
        if policy is None:
            path.mkdir()
        else:
            path.write_bytes(policy if isinstance(policy, bytes) else policy.encode())
        self.prefix = [*UNSHARE, "sh", "-c", INSIDE, str(path), owner, mode, str(self.work), "sh"]

    def run(self, *words, **options):
        return self.t.run(*words, prefix=self.prefix, **options)

    def plan(self, *words, **options):
        return self.t.plan(*words, prefix=self.prefix, **options)

    def refuses(self, *words, code="ceiling-exceeded", env=None):
        """sbx refuses to run with these options, with this finding, and nothing is started."""
        t = self.t
        mark = t.project / "ran"
        done = self.run("run", *words, "--", t.actor, "touch", mark, env=env or t.unboxed)
        t.equal((done.status, mark.exists()), (125, False), done)
        t.has(done.err, f"error[{code}]", done)
        mark.unlink(missing_ok=True)
        return done

    def allows(self, *words, env=None):
        done = self.run("run", *words, "--", self.t.actor, "exit", 3, env=env or self.t.unboxed)
        self.t.equal(done.status, 3, done)
        return done


@promise("the test's own machine: without a policy everything works, and /etc is the real one", on=LINUX)
def _(t):
    before = pathlib.Path("/etc/sbx").exists()
    machine = Machine(t, "")
    machine.allows("-t", "1h")
    done = machine.run("doctor", "--json")
    rows = {row["id"]: row for row in t.json(done.out, done).get("rows", [])}
    t.has(rows.get("policy", {}).get("summary", ""), "/etc/sbx/policy.toml applies")
    t.equal(pathlib.Path("/etc/sbx").exists(), before, "the host was not touched")


@promise("limits: what is asked above is refused, what is not asked becomes the ceiling", on=LINUX)
def _(t):
    machine = Machine(t, 'max_timeout = "1m"\nmax_memory_bytes = "1GiB"\nmax_cpu_secs = 10\n'
                         'max_processes = 20\nmax_output_bytes = "1MiB"\n')
    for words in (("-t", "2m"), ("-m", "2GiB"), ("--cpu", "11"), ("--procs", "21"), ("--max-output", "2MiB")):
        done = machine.refuses(*words)
        t.has(done.err, "/etc/sbx/policy.toml", done)
        t.has(done.err, "fix: write at most", done)
    machine.allows("-t", "1m", "-m", "1GiB", "--cpu", "10", "--procs", "20", "--max-output", "1MiB")
    limits = machine.plan()["limits"]
    t.equal((limits["memory_bytes"], limits["cpu_secs"], limits["processes"], limits["output_bytes"]),
            (1 << 30, 10, 20, 1 << 20))
    t.true(limits["timeout_ms"] <= 60000, limits)
    t.equal(machine.plan("-t", "5s", "--cpu", "1")["limits"]["cpu_secs"], 1)


@promise("limits bind manifests in files and verify as they bind flags", on=LINUX)
def _(t):
    machine = Machine(t, "max_cpu_secs = 10\n")
    path = t.manifest("[sandbox]\nmax_cpu_secs = 11\n", "x.toml")
    machine.refuses("-f", path)
    done = machine.run("verify", path)
    t.equal(done.status, 1, done)
    t.has(done.out, "error[ceiling-exceeded]", done)
    t.equal(t.run("verify", path).status, 0, "without the policy it is a good manifest")


@promise("forbidden paths: no grant inside, a mask inside broader grants", on=LINUX)
def _(t):
    secret = t.directory / "secret"
    (secret / "below").mkdir(parents=True)
    machine = Machine(t, f'forbid_paths = ["{secret}"]\n')
    for words in (("-r", secret), ("-w", secret), ("-r", secret / "below"), ("--fs", f"{secret}/below=write")):
        machine.refuses("-p", "strict", *words)
    files = {rule["path"]: rule for rule in machine.plan("-p", "strict", "-w", t.directory)["files"]}
    t.equal(files[str(t.directory)]["access"], "write")
    t.equal(files[str(secret)]["access"], "none")
    t.has(files[str(secret)]["origin"], "/etc/sbx/policy.toml")
    done = machine.run("why", "--path", secret / "below", "--op", "read", "--json")
    report = t.json(done.out, done)
    t.equal((done.status, report.get("allowed"), report.get("change")), (1, False, None), done)
    t.has(report.get("obstacle") or "", "forbidden by the administrator")
    machine.refuses("-r", secret)


@promise("the widest network is the administrator's", on=LINUX)
def _(t):
    machine = Machine(t, 'max_network = "allow_hosts"\n')
    machine.refuses("--net", "inherit")
    machine.allows("--net", "example.com")
    machine.allows("--net", "deny")
    t.equal(machine.plan("-p", "service")["network"]["kind"], "allow_hosts", "a preset is bounded too")
    denied = Machine(t, 'max_network = "deny"\n')
    denied.refuses("--net", "example.com")
    report = t.json(denied.run("why", "--url", "https://example.com", "--json").out)
    t.equal((report.get("allowed"), report.get("change")), (False, None))
    t.has(report.get("obstacle") or "", "administrator")


@promise("allow_none = false: the two keys open nothing", on=LINUX)
def _(t):
    machine = Machine(t, "allow_none = false\n")
    for words in ((), ("-p", "none"), ("--mode", "danger-full-access")):
        done = machine.refuses(*words, code="backend-missing")
        t.has(done.err, "administrator's policy does not allow running without a sandbox", done)
    Machine(t, "allow_none = true\n").allows()


@promise("a forced backend is the only one", on=LINUX)
def _(t):
    machine = Machine(t, 'backend = "bwrap"\n')
    done = machine.refuses(code="backend-missing")
    t.has(done.err, "forces another backend", done)
    seatbelt = Machine(t, 'backend = "seatbelt"\n')
    done = seatbelt.refuses(code="backend-missing", env={"PATH": os.environ["PATH"]})
    t.has(done.err, "forces a backend that cannot be used here", done)


@promise("raw arguments are off unless the administrator allows them, and then still checked", on=LINUX)
def _(t):
    t.has(t.run("run", "--raw-arg=--hostname", "--raw-arg=box", "--", t.actor, "exit", 0, env=t.unboxed).err,
          "error[raw-args-gate-off]")
    machine = Machine(t, "allow_raw_bwrap = true\n")
    path = t.manifest('[sandbox]\nraw_args = ["--hostname", "box"]\n', "raw.toml")
    done = machine.run("verify", path)
    t.equal(done.status, 0, done)
    for unsafe in ('"--bind", "/", "/"', '"--cap-add", "ALL"', '"--share-net"', '"--dev-bind", "/dev", "/dev"',
                   '"--seccomp", "9"', '"--args", "3"', '"--userns", "3"'):
        t.manifest(f"[sandbox]\nraw_args = [{unsafe}]\n", "raw.toml")
        done = machine.run("verify", path)
        t.equal(done.status, 1, done)
        t.has(done.out, "error[raw-args-unsafe]", done)


def check_nothing_works(t, machine, code):
    """With a policy that cannot be believed or understood, sbx does nothing at all."""
    good = t.manifest("[sandbox]\nmode = \"read-only\"\n", "good.toml")
    machine.refuses(code=code)
    machine.refuses("-p", "strict", code=code)
    for words, status in ((("explain",), 1), (("verify", good), 1), (("why", "--path", "x"), 2), (("doctor",), 1)):
        done = machine.run(*words)
        t.equal(done.status, status, done)
        t.has(done.out + done.err, "policy", done)
        report = t.json(machine.run(*words, "--json").out)
        t.equal(report.get("ok"), False, words)


@promise("a policy that others own or may change is refused for everything", on=LINUX)
def _(t):
    for owner, mode in (("", "666"), ("", "664"), ("", "646")):
        check_nothing_works(t, Machine(t, "max_cpu_secs = 10\n", owner, mode), "user-untrusted")
    if os.geteuid() == 0:
        check_nothing_works(t, Machine(t, "max_cpu_secs = 10\n", "65534:65534"), "user-untrusted")


@promise("a policy that is not understood is refused for everything, key by key", on=LINUX)
def _(t):
    for text, code in (("max_cpu_secs = \n", "syntax"), ("max_cpu_secs = 0\n", "out-of-range"),
                       ("max_cpu_seconds = 10\n", "unknown-key"), ('allow_none = "no"\n', "wrong-type"),
                       ('max_network = "some"\n', "bad-value"), ('backend = "jail"\n', "bad-value"),
                       (b"\xff\xfe", "syntax"), ("#" * (2 << 20), "file-too-large")):
        check_nothing_works(t, Machine(t, text), code)
    done = Machine(t, "max_cpu_seconds = 10\n").run("explain")
    t.has(done.err, 'did you mean "max_cpu_secs"?', done)


@promise("a policy that cannot be read is not a policy that is absent", on=LINUX)
def _(t):
    check_nothing_works(t, Machine(t, None, mode="755"), "file-unreadable")


@promise("a policy that no administrator owns, or that is not understood, stops everything", on=("windows",))
def _(t):
    if "WINEPREFIX" not in os.environ:
        t.skip("wine", "only a Wine prefix may get a policy")
    place = pathlib.Path(os.environ["WINEPREFIX"]) / "drive_c/ProgramData/sbx"
    place.mkdir(parents=True)
    try:
        for text in ("max_cpu_secs = 10\n", "nonsense"):
            (place / "policy.toml").write_text(text)
            mark = t.project / "ran"
            done = t.run("run", "--", t.actor, "touch", native(mark), env=t.unboxed)
            t.equal((done.status, mark.exists()), (125, False), done)
            t.has(done.err, "error[user-untrusted]", done)
            for words, status in ((("explain",), 1), (("why", "--path", "x"), 2), (("doctor",), 1)):
                done = t.run(*words)
                t.equal(done.status, status, done)
                t.has(done.out + done.err, "policy", done)
            for words in (("version",), ("help",), ("explain", "--platform", "linux")):
                t.equal(t.run(*words).status, 0, words)
    finally:
        shutil.rmtree(place)
    t.equal(t.run("run", "--", t.actor, "exit", 3, env=t.unboxed).status, 3, "and without it all is well again")


@promise("other platforms' plans and plain questions need no policy", on=LINUX)
def _(t):
    machine = Machine(t, "nonsense")
    for words in (("version",), ("help",), ("schema",), ("completion", "bash"), ("profile", "list"),
                  ("explain", "--platform", "windows")):
        done = machine.run(*words)
        t.equal(done.status, 0, done)


main()
