"""The judge of names does not disturb: the same operations give the same results inside and outside, and real programs
work through it."""

import os
import pathlib
import pty
import shutil
import stat
import subprocess

from scenario import main, scenario
from table import MOUNTING

SEEDS = (1, 2, 3, 4)
OPERATIONS = 1500
FILES = 20000
# In a box root has no capabilities, and so must it here: some of them pass over modes of files.
POWERLESS = {"root": ("setpriv", "--inh-caps=-all", "--bounding-set=-all"), "user": ()}


def tree(place):
    """{path: kind, mode, size or target, number of names}: what two runs must have in common."""
    found = {}
    for root, directories, files in os.walk(place):
        for name in directories + files:
            path = os.path.join(root, name)
            state = os.lstat(path)
            target = os.readlink(path) if stat.S_ISLNK(state.st_mode) else ""
            size = state.st_size if stat.S_ISREG(state.st_mode) else 0
            links = state.st_nlink if not stat.S_ISDIR(state.st_mode) else 0
            found[os.path.relpath(path, place)] = (oct(state.st_mode), size, target, links)
    return found


def place(s, name, top=None):
    path = (top or s.world.work) / name / "here"
    path.mkdir(parents=True)
    s.identity.own(path.parent, path)
    return path


@scenario("B30", "names", "the same random operations give the same results and trees as outside", expect="works")
def _(s):
    program = s.world.tools / "sbx-sequence"
    for seed in SEEDS:
        free, boxed = place(s, f"free-{seed}", s.world.top), place(s, f"boxed-{seed}")
        control = s.outside(*POWERLESS[s.identity.name], program, seed, OPERATIONS, free)
        want = control.communicate(timeout=30)[0].decode().splitlines()
        done = s.run(program, seed, OPERATIONS, boxed)
        got = done.out.splitlines()
        s.t.equal((done.status, len(want)), (0, OPERATIONS), done.err)
        for line, (inside, outside) in enumerate(zip(got, want)):
            if not s.t.equal(inside, outside, f"seed {seed}, operation {line}"):
                break
        s.t.equal(len(got), len(want))
        s.t.equal(tree(boxed), tree(free), f"seed {seed}")
        for made in (free, boxed):
            # Directories that nobody may enter would keep the next box from starting.
            shutil.rmtree(made.parent)


@scenario("B31", "names", "making many files costs a bounded factor (printed)", expect="works")
def _(s):
    program = s.world.tools / "sbx-sequence"
    free, boxed = place(s, "free"), place(s, "boxed")
    outside = int(s.outside(program, "--speed", FILES, free).communicate(timeout=60)[0])
    done = s.run(program, "--speed", FILES, boxed, seconds=60)
    s.t.equal((done.status, len(os.listdir(boxed))), (0, FILES), done)
    inside = int(done.out or 0)
    print(f"# {FILES} files: {outside / FILES / 1000:.1f} us each outside, {inside / FILES / 1000:.1f} us inside, "
          f"ratio {inside / outside:.1f} ({s.backend}, {s.identity.name})")


@scenario("B32", "names", "shell redirections: /dev/null, /dev/stdout, /dev/stderr, /proc/self/fd/1", expect="works")
def _(s):
    script = ("echo a > /dev/null; echo b > /dev/stdout; echo c > /dev/stderr; echo d > /proc/self/fd/1; echo e >> f;"
              "echo f >> f; cat f; : > f; wc -c < f; set -C; { echo g > f; } 2>/dev/null || echo kept; echo h >| f; cat f")
    done = s.run("bash", "-c", script)
    s.t.equal((done.status, done.out.split()), (0, ["b", "d", "e", "f", "0", "kept", "h"]), done)
    s.t.equal(done.err, "c\n")


@scenario("B33", "names", "redirections on a terminal", expect="works")
def _(s):
    master, slave = pty.openpty()
    try:
        s.identity.own(os.ttyname(slave))
        child = s.start("bash", "-c", "echo out > /dev/stdout; echo err > /dev/stderr; echo x > file; cat file",
                        stdin=slave, stdout=slave, stderr=slave)
        child.wait(20)
        text = os.read(master, 65536).decode()
    finally:
        os.close(slave)
        os.close(master)
    s.t.equal((child.returncode, text.split()), (0, ["out", "err", "x"]))


@scenario("B34", "names", "git=commit: git itself commits, branches and merges", only=MOUNTING, expect="works",
          why="Landlock knows no exception below a writable directory: such a manifest is refused")
def _(s):
    repository = s.world.work / "real"
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main", "-C", repository]
    s.outside("git", "init", "-q", "-b", "main", repository).communicate(timeout=20)
    script = ("set -e; cd \"$0\"; export HOME=/tmp GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.com "
              "GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.com; echo one > file; git add file; "
              "git commit -qm one; git switch -qc side; echo two >> file; git commit -qam two; git switch -q main; "
              "git merge -q side; git log --format=%s; git status --short; git gc -q")
    done = s.run("bash", "-c", script, repository, lines=['git = "commit"'])
    s.t.equal((done.status, done.out.split()), (0, ["two", "one"]), done)
    log = s.outside(*git, "fsck", "--strict").communicate(timeout=20)
    s.t.lacks(log[1].decode(), "error", log)
    done = s.run("bash", "-c", "cd \"$0\"; git config core.fsmonitor /tmp/x; echo x > .git/hooks/pre-commit; :",
                 repository, lines=['git = "commit"'])
    s.t.equal((repository / ".git/hooks/pre-commit").exists(), False, done)
    s.t.lacks((repository / ".git/config").read_text(), "fsmonitor", done)


@scenario("B35", "names", "a compiler, an archive and a build work in the workspace", expect="works")
def _(s):
    script = ("set -e; mkdir -p p; cd p; printf 'int main(void){return 0;}' > m.c; cc -o m m.c; ./m; tar cf a.tar m.c; "
              "mkdir x; tar xf a.tar -C x; cp -a x y; mv y z; rm -r x; ln -s m.c l; ls")
    done = s.run("bash", "-c", script, lines=['syscall_policy = "strict"'])
    s.t.equal((done.status, done.out.split()), (0, ["a.tar", "l", "m", "m.c", "z"]), done)


@scenario("C50", "names", "programs of everyday make protected names", only=MOUNTING, also="F4 Z01",
          why="Landlock knows no exception below a writable directory: such a manifest is refused")
def _(s):
    archive = s.world.top / "hostile"
    (archive / "sub/.git/hooks").mkdir(parents=True)
    (archive / "sub/.git/hooks/pre-commit").write_text("x\n")
    (archive / "sub/.envrc").write_text("x\n")
    subprocess.run(["tar", "-C", archive, "-cf", s.world.ro / "hostile.tar", "sub"], check=True)
    (s.world.ro / "hostile.tar").chmod(0o644)
    script = ("mkdir u; cd u; tar xf $0/hostile.tar; mkdir .git; cp $0/file .envrc; mv $0/file .npmrc; touch .bashrc; "
              "ln -s x .ssh; ln $0/file .zshrc; git init; git init --bare .git; python3 -c 'import os; os.mkdir(\".vscode\")'; "
              "install -D $0/file .idea/x; install -d .claude; dd if=/dev/null of=.mcp.json; :")
    done = s.run("bash", "-c", script, s.world.ro)
    made = [path for path in tree(s.world.work / "u") if pathlib.Path(path).name.startswith(".")]
    s.t.equal(made, [], done)
    s.t.true((s.world.work / "u/sub").is_dir(), f"the rest of the archive was unpacked\n{done}")


if __name__ == "__main__":
    main()
