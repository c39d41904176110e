"""The attacks of the table from inside other tools' sandboxes: what each stops of what works outside.
usage: compare.py --sbx PROGRAM --probe PROGRAM --peers DIRECTORY [--write FILE]      (`make compare`)

Every tool gets the policy of the suite's main box, as carefully as its own options can say it: two writable
directories, two readable ones, named secrets closed, no network, no terminal. What a tool has no option for stays as the
tool leaves it. An ordinary user attacks. Only attacks count that sbx is expected to stop and that are shown to work
outside, in the same minute, by the same user; beside them what must go on working. Not a test: it judges nobody's build."""

import argparse
import datetime
import json
import os
import pathlib
import platform
import pwd
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def options():
    parser = argparse.ArgumentParser()
    for name in ("--sbx", "--probe", "--peers"):
        parser.add_argument(name, type=pathlib.Path, required=True)
    parser.add_argument("--write", type=pathlib.Path)
    return parser.parse_args()


# The suite's own modules look for these when they are read.
OPTIONS = options()
os.environ.update(SBX=str(OPTIONS.sbx), SBX_PROBE=str(OPTIONS.probe), SBX_RUNNER="", SBX_PLATFORM="linux")
sys.path[:0] = [str(HERE.parent / "cli"), str(HERE.parent / "bench")]

import box  # noqa: E402
import npm_peers  # noqa: E402
import world as worlds  # noqa: E402
from attacks import WHAT  # noqa: E402
from table import CASES  # noqa: E402
from world import Identity, World  # noqa: E402

# firejail takes no user without an account, and no more than 127 words.
worlds.OTHER_USER = min((entry.pw_uid for entry in pwd.getpwall() if entry.pw_uid >= 1000), default=65534)
BATCH = 30
BOXES = ("main", "terminal", "cwd", "absent", "works")
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc")
MARK = "measured:compare"
# One class is 46 ways to one end, which no other tool promises to stop: it would drown the others.
NOT_SUMMED = ("create", "must work")


def secrets(world):
    """What the manifest of the main box closes, below readable and writable places."""
    return [world.ro / "denied", world.work / "secrets"]


def hidden_files(world):
    return sorted(world.work.rglob("*.env"))


class Tool:
    """A way to run a command in a world. `prefix` gives the words before it, or None: not here, `why` says so."""
    name = why = version = ""
    can = ""  # what its options could not say

    def prefix(self, world):
        raise NotImplementedError

    def environment(self, world):
        return {**box.HOSTILE, "PATH": os.environ["PATH"], "HOME": str(world.home)}


class Sbx(Tool):
    name = "sbx native"

    def __init__(self):
        self.version = output([os.environ["SBX"], "version"]).split()[1].rstrip(",")

    def prefix(self, world):
        path = world.top / "box.toml"
        kind = "absent" if self.kind == "absent" else "main"
        path.write_text(box.manifest(world, "native", kind, "strict"))
        world.identity.own(path)
        return [box.stage(), "run", "-q", "-f", path, "--"]

    def environment(self, world):
        return {**super().environment(world), "SBX_SANDBOX": "native"}


class Bwrap(Tool):
    name = "bwrap"
    can = "no seccomp program was given, and there is no option for names that do not exist yet"

    def __init__(self):
        self.path = shutil.which("bwrap")
        self.version = output([self.path, "--version"]).split()[-1] if self.path else ""
        self.why = "" if self.path else "not installed"

    def prefix(self, world):
        words = [self.path, "--unshare-all", "--new-session", "--die-with-parent", "--clearenv", "--setenv", "PATH",
                 "/usr/bin:/bin", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/var/tmp"]
        for place in SYSTEM:
            words += ["--ro-bind-try", place, place]
        for place in (world.tools, world.ro):
            words += ["--ro-bind", place, place]
        for place in (world.work, world.work2):
            words += ["--bind", place, place]
        for place in secrets(world):
            words += ["--tmpfs", place, "--remount-ro", place]
        for place in hidden_files(world):
            words += ["--ro-bind", "/dev/null", place]
        # What is there of the protected names, as sbx finds them.
        for place in sorted(world.work.rglob(".git")) + sorted(world.work2.rglob(".git")) + [world.work / "there/.envrc"]:
            words += ["--ro-bind", place, place]
        return [*words, "--chdir", world.work, "--"]


class Firejail(Tool):
    name = "firejail"
    can = "variables are not dropped, and there is no option for names that do not exist yet"

    def __init__(self):
        self.path = shutil.which("firejail")
        self.version = output([self.path, "--version"]).split()[2] if self.path else ""
        self.why = "" if self.path else "not installed"

    def prefix(self, world):
        closed = [world.outside, world.home, *secrets(world), *hidden_files(world)]
        return [self.path, "--quiet", "--noprofile", "--net=none", "--read-only=/", "--read-only=/home",
                f"--read-write={world.work}", f"--read-write={world.work2}", *(f"--blacklist={place}" for place in closed),
                *(f"--read-only={place}" for place in [*sorted(world.work.rglob('.git')),
                                                       *sorted(world.work2.rglob('.git')), world.work / "there/.envrc"]),
                "--private-dev", "--private-tmp", "--keep-var-tmp", "--ipc-namespace", "--seccomp", "--caps.drop=all",
                "--nonewprivs", "--nogroups", "--"]


class Codex(Tool):
    name = "codex sandbox"
    can = "sandbox mode workspace-write closes no reading"

    def __init__(self, peers):
        self.program = npm_peers.codex_program(peers)
        self.why = "" if self.program else "not installed"
        self.version = npm_peers.version(peers, "@openai/codex") if self.program else ""

    def prefix(self, world):
        return [self.program, "sandbox", "-c", 'sandbox_mode="workspace-write"', "-c",
                f"sandbox_workspace_write.writable_roots={json.dumps([str(world.work2)])}", "-c",
                "sandbox_workspace_write.network_access=false", "-c", "sandbox_workspace_write.exclude_slash_tmp=true",
                "-c", "sandbox_workspace_write.exclude_tmpdir_env_var=true", "--"]


class SandboxRuntime(Tool):
    name = "sandbox-runtime"
    can = "variables are not dropped"

    def __init__(self, peers):
        self.node = shutil.which("node")
        there = (peers / "node_modules/@anthropic-ai/sandbox-runtime").exists()
        self.why = "" if self.node and there else "not installed"
        if not self.why:
            self.version = npm_peers.version(peers, "@anthropic-ai/sandbox-runtime")
            self.script = npm_peers.srt_script(peers)

    def prefix(self, world):
        path = world.top / "srt.json"
        path.write_text(json.dumps({
            "network": {"allowedDomains": [], "deniedDomains": []},
            "filesystem": {"denyRead": [str(place) for place in (world.outside, world.home, *secrets(world),
                                                                 *hidden_files(world))],
                           "allowWrite": [str(world.work), str(world.work2)],
                           "denyWrite": [str(place) for place in (*secrets(world), *hidden_files(world))]},
            "mandatoryDenySearchDepth": 10}))
        path.chmod(0o644)
        return [self.node, self.script, "--settings", path, "--"]


def output(words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, timeout=60).stdout


def cases_of(kind):
    return [case for case in CASES.values() if case.box == kind and case.expect["native", "user"] in ("stop", "works")]


def answers_of(tool, kind):
    """{probe: word} of all attacks of one kind of box."""
    ids = sorted({case.probe for case in cases_of(kind)})
    found = {}
    for begin in range(0, len(ids), BATCH):
        found.update(answers_of_box(tool, kind, ids[begin:begin + BATCH]))
    return found


def answers_of_box(tool, kind, ids):
    world = World(box.host(), Identity("user"), box.PROBE)
    tool.kind = kind
    try:
        status, out, err = box.start(
            world, lambda names: [*tool.prefix(world), *box.probe_words(names, ids)], tool.environment(world), kind,
            {"launcher": "1", "scratch": "/tmp"}, seconds=180)
        found = box.parse(out, ids)
        if not found:
            print(f"compare: {tool.name}, box {kind}: no answer, status {status}: {err[-400:]}", file=sys.stderr)
        return {name: answer[0] for name, answer in found.items()}
    finally:
        world.close()


def measure(tools):
    """{class: {tool: (stopped, shown)}}, and {tool: [ids that got through]}."""
    works, _ = box.shown("user")
    table, through = {}, {tool.name: [] for tool in tools}
    for kind in BOXES:
        for tool in tools:
            answers = answers_of(tool, kind)
            for case in cases_of(kind):
                if case.id not in works:
                    continue
                word = answers.get(case.probe, "NONE")
                is_attack = case.expect["native", "user"] == "stop"
                good = word in ("DENIED", "ABSENT") if is_attack else word == "DONE"
                cell = table.setdefault(WHAT[case.probe][0] if is_attack else "must work", {}).setdefault(
                    tool.name, [0, 0, 0])
                cell[0] += good
                cell[1] += 1
                cell[2] += word in ("NONE", "ERROR")
                if is_attack and word == "DONE" and WHAT[case.probe][0] not in NOT_SUMMED:
                    through[tool.name].append(case.id)
    return table, through


def shown(cell):
    good, total, unknown = cell
    return f"{good}/{total}" + (f" ({unknown} ?)" if unknown else "")


def document(tools, missing, table, through):
    names = [tool.name for tool in tools]
    lines = ["| what is attacked | " + " | ".join(f"{tool.name} {tool.version}" for tool in tools) + " |",
             "|---|" + "---|" * len(tools)]
    for kind in sorted(table, key=lambda kind: (kind == "must work", kind)):
        lines.append(f"| {kind} | " + " | ".join(shown(table[kind][name]) for name in names) + " |")
    total = {name: [sum(row[name][i] for kind, row in table.items() if kind not in NOT_SUMMED) for i in range(3)]
             for name in names}
    lines.append("| **sum, without create and must work** | " + " | ".join(f"**{shown(total[name])}**" for name in names) + " |")
    lines += ["", "Stopped of shown; `?`: the attempt itself did not come to an answer there.", ""]
    lines += [f"- {tool.name}: {tool.can}." for tool in tools if tool.can]
    lines += [f"- {tool.name} was not measured: {tool.why}." for tool in missing]
    lines += ["", f"Measured on {datetime.date.today().isoformat()}, Linux {platform.release().split('-')[0]}, "
              f"{platform.machine()}, as an ordinary user.", "", "What got through, without *create*, by its id in [ATTACKS.md](ATTACKS.md):", ""]
    lines += [f"- {name}: {' '.join(sorted(through[name])) or 'nothing'}" for name in names]
    return "\n".join(lines) + "\n"


def main():
    if os.geteuid() != 0:
        sys.exit("compare: run it as root: it attacks as an ordinary user and looks from outside")
    reasons = npm_peers.install(OPTIONS.peers)
    for package, reason in reasons.items():
        print(f"compare: {package}: {reason}", file=sys.stderr)
    # Where programs may run: firejail shows /tmp and /var/tmp as its own.
    with tempfile.TemporaryDirectory(prefix="sbx-compare-", dir="/opt") as place:
        os.chmod(place, 0o755)
        tempfile.tempdir = place
        run()


def run():
    try:
        every = [Sbx(), Bwrap(), Firejail(), Codex(OPTIONS.peers), SandboxRuntime(OPTIONS.peers)]
        tools = [tool for tool in every if not tool.why]
        text = document(tools, [tool for tool in every if tool.why], *measure(tools))
    finally:
        box.finish()
    print(text)
    if OPTIONS.write:
        head, _, rest = OPTIONS.write.read_text(encoding="utf-8").partition(f"<!-- {MARK} -->\n")
        OPTIONS.write.write_text(f"{head}<!-- {MARK} -->\n{text}<!-- end -->{rest.partition('<!-- end -->')[2]}",
                                 encoding="utf-8")


if __name__ == "__main__":
    main()
