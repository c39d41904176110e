"""git = "commit": git works, and what it runs stays as it is."""

import os
import pathlib
import shutil
import textwrap

from boxed import differences, each, listing, main

TAMPER = str(pathlib.Path(__file__).resolve().parent / "tamper.py")
COMMIT = ("--strict", "--git", "commit")
DENIED = ("EPERM", "EACCES", "EROFS", "EBUSY", "EXDEV", "EEXIST", "ENOTEMPTY")
IDENTITY = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER")
            for what, value in (("NAME", "Test"), ("EMAIL", "test@invalid"))}
SETTINGS = {"GIT_CONFIG_COUNT": "2", "GIT_CONFIG_KEY_0": "protocol.file.allow", "GIT_CONFIG_VALUE_0": "always",
            "GIT_CONFIG_KEY_1": "init.defaultBranch", "GIT_CONFIG_VALUE_1": "main"}
ENV = {**IDENTITY, **SETTINGS}


def git(box, *words, cwd=None):
    """Outside. New repositories have few files: they are copied often."""
    template = box.home / "template"
    if not template.exists():
        box.mkdir("hooks", "info", below=template)
    return box.outside("git", *words, cwd=cwd, env={**ENV, "GIT_TEMPLATE_DIR": str(template)})[1]


def repository(box, name="repo", submodule=True):
    """With a hook, a submodule and a linked worktree inside the project."""
    box.has("git", "python3")
    where = box.mkdir(name)
    git(box, "init", "-q", where)
    box.write("a", "1\n", below=where)
    box.write(".git/hooks/pre-commit", "#!/bin/sh\ntouch hook-ran\n", mode=0o755, below=where)
    (where / ".git/hooks/pre-commit").chmod(0o644)
    git(box, "add", "a", cwd=where)
    git(box, "commit", "-q", "-m", "first", cwd=where)
    if submodule:
        other = box.mkdir("other", below=box.home)
        git(box, "init", "-q", other)
        git(box, "commit", "-q", "--allow-empty", "-m", "other", cwd=other)
        git(box, "submodule", "--quiet", "add", str(other), "lib", cwd=where)
        git(box, "commit", "-q", "-m", "with a submodule", cwd=where)
        git(box, "worktree", "add", "-q", str(box.project / "side"), "-b", "side", cwd=where)
    return where


def commits(box, script, options=COMMIT, **more):
    done = box.run("sh", "-euc", script, options=options, env=ENV, **more)
    box.t.equal(done.status, 0, done)
    return done


@each("commit, amend, branch, merge, rebase, cherry-pick, revert, tag, stash, reset, reflog, gc, notes")
def _(box):
    where = repository(box, submodule=False)
    commits(box, textwrap.dedent("""\
        cd repo
        echo 2 > b; git add b; git commit -q -m second; git commit -q --amend -m "second, better"
        git checkout -q -b topic HEAD~1; echo 3 > c; git add c; git commit -q -m third
        git checkout -q main; git merge -q --no-edit topic; git tag light; git tag -a -m heavy heavy
        git checkout -q -b other HEAD~1; echo 4 > d; git add d; git commit -q -m fourth; git rebase -q main
        git checkout -q main; git cherry-pick other; git revert --no-edit HEAD
        echo 5 >> a; git stash -q; git stash pop -q; git checkout -q -- a
        git branch -D other; git reset -q --hard HEAD~1; git reset -q --hard 'HEAD@{1}'
        git notes add -m note; git gc -q --prune=now; git repack -a -d -q; git pack-refs --all
        git reflog expire --expire=now --all; git fsck --strict; git status --porcelain
        """))
    box.t.equal(git(box, "log", "-1", "--format=%s", cwd=where), 'Revert "fourth"\n')
    box.t.has(git(box, "tag", cwd=where), "heavy\nlight\n")


@each("a linked worktree whose repository is inside the writable path: commits from both ends")
def _(box):
    where = repository(box)
    commits(box, "cd side; echo s > s; git add s; git commit -q -m side; git rebase -q main; git status --porcelain\n"
                 "cd ../repo; git merge -q --no-edit side; git worktree list")
    box.t.has(git(box, "log", "-3", "--format=%s", "main", cwd=where), "side\n")


@each("a linked worktree whose repository is outside: read only until that is writable too; then its hooks are safe")
def _(box):
    box.has("git", "python3")
    main_place = box.mkdir("main", below=box.home)
    git(box, "init", "-q", main_place)
    git(box, "commit", "-q", "--allow-empty", "-m", "first", cwd=main_place)
    git(box, "worktree", "add", "-q", str(box.project / "side"), "-b", "side", cwd=main_place)
    before = listing(main_place)
    script = "cd side; git log -1 --format=%s; echo s > s; git add s; git commit -q -m second"
    done = box.run("sh", "-euc", script, options=(*COMMIT, "-r", main_place), env=ENV)
    box.t.equal((done.status != 0, done.out), (True, "first\n"), done)
    box.t.has(done.err, "Read-only file system", done)
    box.t.has(done.err, "sbx: denied: ", done)
    box.t.equal(differences(before, listing(main_place)), [], done)
    commits(box, script, options=(*COMMIT, "-w", main_place))
    box.t.equal(git(box, "log", "-1", "--format=%s", "side", cwd=main_place), "second\n")
    done = box.sh(f"echo x > {main_place}/.git/hooks/post-commit", options=(*COMMIT, "-w", main_place))
    box.t.equal(done.status, 2, done)
    for name in ("worktrees/side/config.worktree", "config.worktree", "config", "worktrees/side/commondir"):
        done = box.sh(f"echo x > {main_place}/.git/{name}", options=(*COMMIT, "-w", main_place))
        box.t.equal(done.status, 2, done)


@each("a worktree's file .git that names another directory does not make that writable")
def _(box):
    box.has("git")
    victim = box.mkdir("victim", below=box.home)
    git(box, "init", "-q", victim)
    box.mkdir("fake")
    box.write("fake/.git", f"gitdir: {victim}/.git\n")
    before = listing(victim)
    done = box.run("sh", "-euc", "cd fake; git commit -q --allow-empty -m x", options=(*COMMIT, "-r", victim), env=ENV)
    box.t.true(done.status != 0, done)
    box.t.equal(differences(before, listing(victim)), [], done)


@each("a submodule: commits in it, and its new state in the repository around it")
def _(box):
    where = repository(box)
    commits(box, "cd repo/lib; echo s > s; git add s; git commit -q -m inner; cd ..; git add lib; git commit -q -m outer")
    box.t.equal(git(box, "log", "-1", "--format=%s", cwd=where / "lib"), "inner\n")
    box.t.equal(git(box, "log", "-1", "--format=%s", cwd=where), "outer\n")


@each("the same from inside a submodule or a worktree alone, when the repository is writable")
def _(box):
    where = repository(box)
    for place in (where / "lib", box.project / "side"):
        done = box.run("sh", "-euc", "echo n > n; git add n; git commit -q -m alone", options=(*COMMIT, "-w", where),
                       env=ENV, cwd=place)
        box.t.equal(done.status, 0, done)
        box.t.equal(git(box, "log", "-1", "--format=%s", cwd=place), "alone\n")


# ---- tampering -----------------------------------------------------------------------------------------

MODULE, TREE = "repo/.git/modules/lib", "repo/.git/worktrees/side"
FILES = ("repo/.git/hooks/pre-commit", "repo/.git/config", f"{MODULE}/config", f"{TREE}/commondir", f"{TREE}/gitdir",
         "repo/lib/.git", "side/.git")
ABSENT = ("repo/.git/hooks/post-commit", "repo/.git/config.worktree", "repo/.git/commondir",
          "repo/.git/info/attributes", f"{MODULE}/hooks/post-commit", f"{MODULE}/config.worktree",
          f"{MODULE}/commondir", f"{MODULE}/info/attributes", f"{TREE}/config.worktree")
DIRECTORIES = ("repo/.git/hooks", f"{MODULE}/hooks")
NEW_MODULE, NEW_TREE = "repo/.git/modules/x", "repo/.git/worktrees/x"
NEW = tuple(f"{NEW_MODULE}/{name}" for name in ("hooks", "config", "config.worktree", "commondir")) + (
    f"{NEW_TREE}/commondir", f"{NEW_TREE}/config.worktree", f"{NEW_TREE}/gitdir", "new/.git/hooks", "new/.git/config",
    "new/.git/commondir", "deep/new/.git/config.worktree")
MAKES = ("create", "create-new", "rename-over", "link", "link-unnamed", "symlink", "mkdir", "fifo", "directory-over",
         "through-descriptor", "through-proc", "through-link", "through-link-to-parent")
ATTEMPTS = (
    *(f"{way}:{path}" for path in FILES for way in
      ("create", "truncate-open", "append", "truncate", "remove", "rename-over", "rename-away", "exchange",
       "link-and-write", "mode", "times", "through-descriptor", "through-proc", "through-link",
       "through-link-to-parent")),
    *(f"{way}:{path}" for path in ABSENT for way in MAKES),
    *(f"{way}:{path}" for path in DIRECTORIES for way in
      ("remove-directory", "directory-away", "exchange-directory", "mode", "times")),
    *(f"{way}:{path}" for path in NEW for way in ("tree-into",)),
    *(f"deep-tree-into:{path}" for path in ("fresh/.git/hooks", "new/.git/info/attributes",
                                            "deep/new/.git/modules/y/config", f"{NEW_MODULE}/deep/config")),
)
# These move what is protected, which is not refused: it stays protected, and nothing takes its place.
MOVING = tuple(f"{way}:{path}" for path in ("repo/.git/info/attributes", f"{MODULE}/info/attributes",
                                            f"{MODULE}/config", "repo/.git/config", "repo/.git/hooks/pre-commit",
                                            "repo/lib/.git") for way in
               ("swap-parent", "move-grandparent", "link-parent"))


def trusted(project):
    """{path: content} of everything below that git runs or trusts."""
    found = {}
    for where, names, files in os.walk(project):
        for name in (*names, *files):
            path = pathlib.Path(where) / name
            text = str(path.relative_to(project))
            inside = "/.git/" in f"/{text}"
            if (name == ".git" and (path.is_symlink() or not path.is_dir())) or inside and (
                    name in ("hooks", "config", "config.worktree", "commondir", "gitdir", "attributes")
                    or "/hooks/" in text):
                found[text] = (os.readlink(path) if path.is_symlink() else "directory" if path.is_dir()
                               else path.read_bytes() if path.is_file() else "special")
    return found


def answers(text):
    return dict(line.split("\t") for line in text.splitlines() if "\t" in line)


def tamper(box):
    """The script, where the user can read it."""
    return box.write("tamper.py", pathlib.Path(TAMPER).read_bytes(), below=box.home)


@each("hooks, configuration and what names another directory are not changed in any of many ways")
def _(box):
    where = repository(box)
    script = tamper(box)
    before = trusted(box.project)
    box.t.true({"repo/.git/config", f"{MODULE}/config", "side/.git", "repo/.git/hooks/pre-commit"} <= set(before))
    done = box.run("python3", "-B", script, *ATTEMPTS, options=(*COMMIT, "-r", script, "-t", "60s"))
    inside = answers(done.out)
    box.t.equal((done.status, set(inside)), (0, set(ATTEMPTS)), done.err[-2000:])
    for attempt in ATTEMPTS:
        box.t.true(inside.get(attempt) in DENIED, f"{attempt}: {inside.get(attempt)}")
    after = trusted(box.project)
    box.t.equal({path: (before.get(path), after.get(path)) for path in {*before, *after}
                 if before.get(path) != after.get(path)}, {})
    box.t.equal(box.outside("git", "fsck", cwd=where, env=ENV, check=False)[0], 0, "it is still a repository")


@each("moved away, they are as they were, and nothing else is found in their place")
def _(box):
    repository(box)
    script = tamper(box)
    store = box.home / "store"
    box.project.rename(store)
    known = {(path[path.index(".git"):], text) for path, text in trusted(store).items()}
    for attempt in MOVING:
        box.outside("cp", "-a", str(store), str(box.project), cwd=store)
        done = box.run("python3", "-B", script, attempt, options=(*COMMIT, "-r", script))
        after = {(path[path.index(".git"):], text) for path, text in trusted(box.project).items()}
        box.t.equal((done.status, after - known), (0, set()), f"{attempt}\n{done}")
        shutil.rmtree(box.project)
    box.project.mkdir()


@each("outside, each of these ways works", identities=("user",))
def _(box):
    repository(box)
    _, text = box.outside("python3", "-B", str(tamper(box)), "--fresh", str(box.project), *ATTEMPTS, *MOVING,
                          cwd=box.home)
    for attempt in (*ATTEMPTS, *MOVING):
        box.t.equal(answers(text).get(attempt), "done", attempt)


@each("git init in a box: refused and explained; nothing that git would run is made")
def _(box):
    box.has("git")
    done = box.run("git", "init", "-q", "new", env=ENV)
    box.t.true(done.status != 0, done)
    box.t.has(done.err, f'sbx: denied: creation of "{box.project}/new/.git"', done)
    box.t.has(done.err, '".git" is protected', done)
    box.t.true(not (box.project / "new/.git").exists())
    done = box.run("git", "init", "-q", "new", options=COMMIT, env=ENV)
    box.t.true(done.status != 0, done)
    box.t.has(done.err, f'sbx: denied: creation of "{box.project}/new/.git/', done)
    box.t.has(done.err, "outside the box", done)
    box.t.equal([name for name in trusted(box.project)], [], done)
    shutil.rmtree(box.project / "new")
    box.t.equal(box.outside("git", "init", "-q", "new", env=ENV)[0], 0, "outside it works")


@each("a file .git that names a directory of the workspace protects that directory")
def _(box):
    box.has("git")
    box.mkdir("tree")
    git(box, "init", "-q", "--separate-git-dir", str(box.project / "store"), str(box.project / "tree"))
    commits(box, "cd tree; git commit -q --allow-empty -m first")
    before = trusted(box.project)
    for path in ("store/config", "store/hooks/pre-commit", "store/info/attributes", "store/commondir", "tree/.git"):
        done = box.sh(f"echo evil > {path}", options=COMMIT)
        box.t.equal(done.status, 2, done)
        done = box.sh(f"echo evil > x; mv -f x {path}", options=COMMIT)
        box.t.equal(done.status, 1, done)
    done = box.sh("mv store old; mkdir -p store/hooks; echo evil > store/hooks/pre-commit", options=COMMIT)
    box.t.true(not (box.project / "store/hooks/pre-commit").exists() or
               (box.project / "store/hooks/pre-commit").read_text() != "evil\n", done)
    box.t.equal(trusted(box.project), before)
    done = box.sh("echo evil > store/config; echo evil > store/HEAD")
    box.t.equal(done.status, 2, "without commit nothing of it")


main()
