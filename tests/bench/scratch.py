"""Where the benchmark works: a scratch directory outside /tmp (boxes hide that), owned by the user that the measured
commands run as, with the trees they work on."""

import os
import pathlib
import pwd
import shutil
import subprocess
import tempfile
import time

REPOSITORY_FILES = 2000
MANY_FILES = 50000
MANY_DIRECTORIES = 2500
# Names of a directory whose stamps are younger than this are looked at again by the next run of sbx.
SETTLE_SECONDS = 5

SMALL_C = """#include <stdio.h>
#include <string.h>

static int count(const char *text, char wanted)
{
    int found = 0;
    for (const char *at = text; *at != 0; at++) found += *at == wanted;
    return found;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) printf("%d %zu\\n", count(argv[i], 'a'), strlen(argv[i]));
    return 0;
}
"""


class User:
    """Whom the measured commands run as. Root is given up for an ordinary account, as agents have one, unless
    told otherwise."""

    def __init__(self, as_root):
        self.drops = os.geteuid() == 0 and not as_root
        self.uid, self.gid = os.geteuid(), os.getegid()
        if self.drops:
            self.uid, self.gid = self.ordinary()
        try:
            self.name = pwd.getpwuid(self.uid).pw_name
        except KeyError:
            self.name = f"user{self.uid}"

    @staticmethod
    def ordinary():
        if os.environ.get("SUDO_UID", "0") != "0":
            return int(os.environ["SUDO_UID"]), int(os.environ.get("SUDO_GID", os.environ["SUDO_UID"]))
        for account in sorted(pwd.getpwall(), key=lambda account: account.pw_uid):
            if 1000 <= account.pw_uid < 60000:
                return account.pw_uid, account.pw_gid
        return 61000, 61000  # no account has it; tools that insist on one are left out with their reason

    def options(self):
        """For subprocess.run: start it as this user."""
        return {"user": self.uid, "group": self.gid, "extra_groups": []} if self.drops else {}


class Scratch:
    """The directory and what is in it. `with` removes it at the end."""

    def __init__(self, build, sbx, user):
        self.user = user
        # Not resolved through TMPDIR: that is often /tmp, which a box replaces.
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="sbx-bench-", dir="/var/tmp"))
        self.root.chmod(0o755)
        self.bin = self.directory("bin", ours=False)
        self.home = self.directory("home")
        self.state = self.directory("state", ours=False)  # manifests and settings: not for the commands to change
        self.mounts = self.directory("mounts", ours=False)
        self.sockets = self.directory("sockets")
        self.empty = self.directory("empty")
        self.work = self.directory("work")
        self.many = self.root / "many"
        self.protected = self.directory("protected")
        for program in sorted((build / "bin").glob("sbx*")):
            # The build directory may lie where the user cannot go.
            shutil.copy2(program, self.bin / program.name)
        # What is measured, with what lies beside it.
        for program in sorted(sbx.parent.glob("sbx*")):
            shutil.copy2(program, self.bin / program.name)
        shutil.copy2(sbx, self.bin / "sbx")
        self.peers = build.parent / "bench-peers"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.root, ignore_errors=True)

    def directory(self, name, ours=True):
        path = self.root / name
        path.mkdir(exist_ok=True)
        if ours:
            self.give(path)
        return path

    def give(self, path):
        if self.user.drops:
            os.chown(path, self.user.uid, self.user.gid)

    def give_tree(self, path):
        for folder, _, files in os.walk(path):
            self.give(folder)
            for name in files:
                self.give(pathlib.Path(folder) / name)

    def environment(self):
        """The whole environment of a measured command, but for what its row adds."""
        places = ["/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"]
        if (self.peers / "bin").is_dir():
            places.append(str(self.peers / "bin"))
        return {"PATH": ":".join(places), "HOME": str(self.home), "USER": self.user.name,
                "LOGNAME": self.user.name, "LANG": "C.UTF-8", "TERM": "dumb"}

    def forget_names(self):
        """Removes what sbx remembers of directories, so that the next run is a first one."""
        shutil.rmtree(self.home / ".local/state/sbx/names", ignore_errors=True)

    def reachable_peers(self):
        """The npm packages, copied when the user cannot read them where they were installed."""
        there = subprocess.run(["/usr/bin/test", "-r", self.peers / "node_modules"], check=False,
                               **self.user.options()).returncode == 0
        if not there and (self.peers / "node_modules").is_dir():
            shutil.copytree(self.peers, self.root / "peers", symlinks=True)
            self.peers = self.root / "peers"
        return self.peers

    def git(self, *words):
        subprocess.run(["git", "-C", self.work / "repo", "-c", "user.name=bench", "-c", "user.email=bench@example.org",
                        *words], check=True, stdout=subprocess.DEVNULL, env=self.environment(),
                       **self.user.options())

    def fill_work(self):
        """A repository of 2000 files and a small C file."""
        (self.work / "t.c").write_text(SMALL_C, encoding="utf-8")
        repository = self.work / "repo"
        long_ago = time.time() - 3600  # a file as young as the index is read again by every `git status`
        for number in range(REPOSITORY_FILES):
            path = repository / f"dir{number % 40}" / f"file{number}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"file {number}\n", encoding="utf-8")
            os.utime(path, (long_ago, long_ago))
        self.give_tree(self.work)
        if shutil.which("git"):
            self.git("init", "-q")
            self.git("add", ".")
            self.git("commit", "-q", "-m", "files")
            self.git("status")

    def fill_many(self):
        """50,000 files, a few of them .env."""
        for number in range(MANY_DIRECTORIES):
            folder = self.many / f"dir{number % 50}" / f"sub{number}"
            folder.mkdir(parents=True)
            for k in range(MANY_FILES // MANY_DIRECTORIES):
                name = ".env" if k == 0 and number % 250 == 0 else f"file{k}.c"
                os.close(os.open(folder / name, os.O_WRONLY | os.O_CREAT, 0o644))
        self.give_tree(self.many)
        time.sleep(SETTLE_SECONDS)

    def fill_protected(self, count):
        """Paths below the writable directory that a box keeps read-only."""
        paths = [self.protected / f"keep{number}" for number in range(count)]
        for path in paths:
            path.mkdir(exist_ok=True)
            self.give(path)
        return paths
