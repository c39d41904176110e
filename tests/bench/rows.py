"""The rows: plain spawn, sbx with each backend, the peers. A row knows how to run a command with "read-only root, one
writable directory, no network, private /tmp and /dev", as far as its tool can; `layers` says how far."""

import dataclasses
import json
import pathlib
import shutil
import subprocess

import npm_peers

SBX_BACKENDS = {  # strongest first; the names are those of SBX_SANDBOX
    "native": "7 namespaces, read-only root, private /dev /tmp /proc, Landlock, seccomp (strict), limits, "
              "protected names",
    "bwrap": "7 namespaces, read-only root, private /dev /tmp /proc, all by bwrap; Landlock, seccomp (strict), limits, "
             "protected names",
    "landlock": "Landlock, seccomp (strict), limits; no namespaces, the host's /tmp, no protected names",
}


@dataclasses.dataclass
class Box:
    """What a case asks for: its writable directory, paths below it that stay read-only, a glob nobody may read."""
    work: pathlib.Path
    protected: tuple = ()
    deny_glob: str = ""


@dataclasses.dataclass
class Row:
    """One way to run a command. `prefix` makes the command line up to the command from a Box."""
    id: str
    name: str
    layers: str
    prefix: object
    version: str = ""
    env: dict = dataclasses.field(default_factory=dict)
    protects: bool = False  # takes part in the series with protected paths
    globs: bool = False  # and in the one with a deny glob
    resident: bool = False  # the prefix starts a driver that stays (tests/bench/resident.h)
    service: object = None  # from a Box: (command line, path that says it is ready) of a program beside it


def first_line(scratch, *command):
    """How a tool names its version."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False,
                              env=scratch.environment(), **scratch.user.options())
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    lines = (done.stdout + done.stderr).strip().splitlines()
    return lines[0].strip() if lines and done.returncode == 0 else "unknown"


class Rows:
    """Every row that could exist here: `found`, and `left_out` as (name, reason)."""

    def __init__(self, scratch, npm_reasons):
        self.scratch = scratch
        self.env = scratch.environment()
        self.found = [Row("plain", "plain spawn", "none: posix_spawn and wait4", lambda box: [])]
        self.left_out = []
        self.add_sbx()
        self.add_pool()
        self.add_system_peers()
        self.add_npm_peers(npm_reasons)

    # ---- sbx ------------------------------------------------------------------------------------

    def manifest(self, backend, box):
        """The manifest of a box, written where the command cannot change it."""
        files = {":root": "read", str(box.work): "write"}
        if backend == "landlock":
            files["/tmp"] = "write"
        files.update({str(path): "read" for path in box.protected})
        if box.deny_glob:
            files[f"{box.work}/{box.deny_glob}"] = "none"
        sandbox = {"filesystem": files, "network": "deny", "syscall_policy": "strict", "timeout": "120s",
                   "max_memory_bytes": "4GiB", "max_processes": 512, "cwd": str(box.work),
                   "env_pass": ["PATH", "HOME", "LANG"]}
        sandbox.update({"protect": []} if backend == "landlock" else {"tmpfs": ["/tmp"]})
        name = f"{backend}-{box.work.name}-{len(box.protected)}{'-glob' if box.deny_glob else ''}.json"
        path = self.scratch.state / name
        path.write_text(json.dumps({"sandbox": sandbox}), encoding="utf-8")
        return str(path)

    def add_sbx(self):
        program = str(self.scratch.bin / "sbx")
        version = first_line(self.scratch, program, "version")
        for backend, layers in SBX_BACKENDS.items():
            def prefix(box, backend=backend):
                return [program, "run", "-f", self.manifest(backend, box), "--"]
            self.found.append(Row(f"sbx-{backend}", f"sbx run, {backend}", layers, prefix, version,
                                  {"SBX_SANDBOX": backend}, protects=backend != "landlock",
                                  globs=backend != "landlock"))

    def add_pool(self):
        """THE PLACE OF THE WARM POOL: two rows that exist as soon as the build has bin/sbx-pool-driver and -client.
        library: `sbx-pool-driver library -f MANIFEST -- COMMAND…` stays and answers as tests/bench/resident.h says.
        client: `sbx-pool-client --socket PATH -- COMMAND…`, beside `sbx-pool-driver serve -f MANIFEST --socket
        PATH`, which is ready when PATH exists and ends on TERM."""
        driver = self.scratch.bin / "sbx-pool-driver"
        client = self.scratch.bin / "sbx-pool-client"
        if not (driver.exists() and client.exists()):
            self.left_out += [(f"sbx warm pool, {way}", "this build has no bin/sbx-pool-driver and -client")
                              for way in ("library", "client")]
            return
        layers = SBX_BACKENDS["native"] + "; built before they are needed"
        version = first_line(self.scratch, str(self.scratch.bin / "sbx"), "version")

        def socket(box):
            return str(self.scratch.sockets / f"{box.work.name}.sock")

        self.found.append(Row("pool-library", "sbx warm pool, library", layers, lambda box: [
            str(driver), "library", "-f", self.manifest("native", box), "--"], version, resident=True))
        self.found.append(Row("pool-client", "sbx warm pool, client", layers, lambda box: [
            str(client), "--socket", socket(box), "--"], version, service=lambda box: (
                [str(driver), "serve", "-f", self.manifest("native", box), "--socket", socket(box)], socket(box))))

    # ---- peers ----------------------------------------------------------------------------------

    def add_peer(self, program, layers, words, version=("--version",), **more):
        path = shutil.which(program, path=self.env["PATH"])
        if path is None:
            self.left_out.append((program, "not installed"))
            return
        self.found.append(Row(program, program, layers, lambda box: [path, *words(box)],
                              first_line(self.scratch, path, *version), **more))

    def add_system_peers(self):
        user = self.scratch.user

        def bwrap(box):
            return ["--unshare-all", "--die-with-parent", "--new-session", "--ro-bind", "/", "/", "--dev", "/dev",
                    "--proc", "/proc", "--tmpfs", "/tmp", "--bind", str(box.work), str(box.work),
                    *(word for path in box.protected for word in ("--ro-bind", str(path), str(path))),
                    "--chdir", str(box.work)]

        def firejail(box):
            # Without the second --read-only all of the home directory stays writable: it mounts /home anew. The scratch
            # directory lies in /var/tmp, which it would hide.
            return ["--quiet", "--noprofile", "--net=none", "--read-only=/", "--read-only=/home",
                    f"--read-write={box.work}", *(f"--read-only={path}" for path in box.protected), "--private-dev",
                    "--private-tmp", "--keep-var-tmp", "--seccomp", "--caps.drop=all", "--nonewprivs", "--"]

        def nsjail(box):
            return ["-Mo", "-q", "-R", "/", "-T", "/tmp", "-B", str(box.work),
                    *(word for path in box.protected for word in ("-R", str(path))), "--cwd", str(box.work),
                    "--rlimit_as", "inf", "--rlimit_fsize", "inf", "--rlimit_nofile", "1024",
                    "-E", f"PATH={self.env['PATH']}", "-E", f"HOME={self.env['HOME']}", "--"]

        def minijail(box):
            return ["-T", "static", "-n", "-U", f"-m0 {user.uid} 1", f"-M0 {user.gid} 1", "-e", "-l", "-N", "--uts",
                    "-P", str(self.scratch.mounts), "-k", "/,/,none,MS_BIND|MS_REC", "-b",
                    f"{box.work},{box.work},1", "-t", "--"]

        self.add_peer("bwrap", "7 namespaces, read-only root, private /dev /tmp /proc; no Landlock, no seccomp", bwrap,
                      protects=True)
        self.add_peer("firejail", "setuid root; namespaces, read-only root, private /dev /tmp, seccomp", firejail,
                      protects=True)
        self.add_peer("nsjail", "7 namespaces, read-only root (not recursive), private /tmp; no seccomp", nsjail,
                      protects=True)
        self.add_peer("minijail0", "6 namespaces, pivot_root; no read-only binds in a user namespace", minijail,
                      version=("-h",))
        self.add_peer("landrun", "Landlock alone; the host's /tmp and /dev", lambda box: [
            "--best-effort", "--rox", "/", "--rw", "/dev", "--rwx", "/tmp", "--rwx", str(box.work),
            "--env", "PATH", "--env", "HOME", "--"])
        self.add_peer("unshare", "7 namespaces and /proc; no rule about files", lambda box: [
            "-r", "-m", "-p", "-f", "-n", "-i", "-u", "-C", "--mount-proc"])

    def srt_settings(self, box):
        settings = {"network": {"allowedDomains": [], "deniedDomains": []},
                    "filesystem": {"denyRead": [f"{box.work}/{box.deny_glob}"] if box.deny_glob else [],
                                   "allowWrite": [str(box.work)],
                                   "denyWrite": [str(path) for path in box.protected]}}
        path = self.scratch.state / f"srt-{box.work.name}-{len(box.protected)}{'-glob' if box.deny_glob else ''}.json"
        path.write_text(json.dumps(settings), encoding="utf-8")
        return str(path)

    def add_npm_peers(self, reasons):
        peers = self.scratch.reachable_peers()
        for package, reason in reasons.items():
            self.left_out.append((package, reason))
        if "@openai/codex" not in reasons:
            program = npm_peers.codex_program(peers)
            if program is None:
                self.left_out.append(("@openai/codex", "the package has no program for this machine"))
            else:
                self.found.append(Row("codex", "codex sandbox", "bwrap and seccomp; its own protected paths",
                                      lambda box: [str(program), "sandbox", "-c",
                                                   'sandbox_mode="workspace-write"', "--"],
                                      npm_peers.version(peers, "@openai/codex")))
        if "@anthropic-ai/sandbox-runtime" not in reasons:
            node = shutil.which("node", path=self.env["PATH"])
            if node is None:
                self.left_out.append(("@anthropic-ai/sandbox-runtime", "no node in PATH"))
                return
            script = npm_peers.srt_script(peers)
            self.found.append(Row("srt", "sandbox-runtime (srt)",
                                  "node, bwrap, seccomp, bridges; its own protected paths",
                                  lambda box: [node, str(script), "--settings", self.srt_settings(box), "--"],
                                  npm_peers.version(peers, "@anthropic-ai/sandbox-runtime"), protects=True, globs=True))
