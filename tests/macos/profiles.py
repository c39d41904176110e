"""Golden manifests, their profiles, and everything that is asked of each. What a policy decides about a path comes from the
policy itself (sbx-plans --decide), not from the profile that is judged."""

import functools
import json
import os
import pathlib
import subprocess

import questions
import sbpl

HERE = pathlib.Path(__file__).resolve().parent
PLANS = os.environ["SBX_PLANS"]
WORK = "/".join((questions.HOME, "work"))  # of the fence
MANIFESTS = sorted((HERE / "manifests").glob("*.toml"))
PROTECTED = (".git", ".sbx", "sbx.toml", ".gitconfig", ".gitmodules", ".husky", ".envrc", ".vscode", ".idea", ".fleet", ".zed",
             ".devcontainer", ".mcp.json", ".claude", ".codex", ".cursor", ".windsurf", ".gemini", ".agents", ".continue",
             ".aider.conf.yml", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshenv", ".zshrc",
             ".zprofile", ".zlogin", ".ssh", ".npmrc", ".yarnrc", ".yarnrc.yml")
GIT_PARTS = (".git/hooks", ".git/config", ".git/config.worktree", ".git/commondir", ".git/info/attributes", ".git/modules/m/hooks",
             ".git/modules/a/b/config", ".git/modules/m/config.worktree", ".git/modules/m/commondir",
             ".git/modules/m/info/attributes", ".git/worktrees/w/config.worktree", ".git/worktrees/w/commondir",
             ".git/worktrees/w/gitdir")
# Names that the manifests speak of, and their neighbours.
NAMES = ("", "x", "a/b/x", "out", "out/x", "secrets", "secrets/key", "secrets/tmp", "secrets/tmp/x", "code", "code/x", "code/.git",
         "code/.git/config", "code/secrets", "code/secrets/key", "code/secrets/tmp", "code/secrets/tmp/x", "code/.env",
         "code/lib/.env", "code/lib/.env/below", "code/lib/.envx", "vendor", "vendor/x", "vendor/patches", "vendor/patches/x",
         ".env", "top.key", "sub/top.key", "a.pem", "deep/er/a.pem", "a.pem2", "generated", "generated/x", "src/generated/x",
         "src/generatedx", "v1", "v1/x", "v12", "w1", "Makefile", "sub/Makefile", "deploy.sh", "absent", "absent/x",
         "absent/protected.txt", "absent/protected.txt/x", "a", "a/b", "a/b/c", "a/b/c/x", "a/b/c/d", "a/b/c/d/x", "with space", "with space/x",
         "with space/café", "with space/café/x", "a+b(c)[d]", "a+b(c)[d]/x", "aab(c)[d]/x")
HOMES = ("", ".ssh", ".ssh/id", ".gnupg/x", ".aws/x", ".zshrc", "docs/x", "notes", "notes/a.txt", "notes/a.md", "notes/sub/a.txt", "cache",
         "cache/x", "other/x", "Library/Application Support/sbx/trust", "tools/x", "ro/x", "ro/denied", "ro/denied/secret",
         "work", "work/x", "work/secrets/key", "work/lib/hidden.env", "work/absent/protected.txt", "work2/x", "outside/secret")


@functools.lru_cache(None)
def plans():
    done = subprocess.run([PLANS, *map(str, MANIFESTS)], capture_output=True, text=True, check=True)
    return {pathlib.Path(plan["file"]).stem: plan for plan in json.loads(done.stdout)}


@functools.lru_cache(None)
def paths():
    found = [f"{questions.PROJECT}/{name}".rstrip("/") for name in NAMES]
    found += [f"{questions.HOME}/{name}".rstrip("/") for name in HOMES]
    # All names in one place, some in others: a writable directory below, other roots, a deep one.
    for root in (f"{questions.PROJECT}/sub", f"{questions.PROJECT}/out", f"{WORK}/nested/a", f"{questions.HOME}/cache",
                 f"{WORK}2", *(f"{questions.PROJECT}/{name}" for name in (
                     "vendor/patches", "code", "code/secrets/tmp", "with space", ".vscode"))):
        found += [f"{root}/{name}" for name in (".git", ".git/config", ".vscode/tasks.json")]
    for root in (questions.PROJECT,):
        found += [f"{root}/{name}" for name in (*PROTECTED, *GIT_PARTS, ".git/index", ".git/HEAD", ".git/objects/ab/cd",
                                                ".git/hooks/pre-commit", ".git/modules/m/index", ".vscode/tasks.json", ".gitx")]
    found += ["/usr/bin/env", "/opt/x", "/Applications/X.app/x", "/Volumes/Disk/x", "/private/var/log/x", "/private/tmp/other",
              "/private/etc/passwd", "/private/etc/sudoers"]
    return list(dict.fromkeys(found))


def decisions(manifest):
    """{path: (access, whether only a file of that name is closed)}"""
    done = subprocess.run([PLANS, "--decide", str(manifest)], input="\n".join(paths()) + "\n", capture_output=True, text=True,
                          check=True)
    return {path: (line.split()[0], line.endswith(" file")) for path, line in zip(paths(), done.stdout.splitlines(), strict=True)}


def spelled(name):
    """The same name for the usual volume, other bytes for a program."""
    return {name.swapcase(), name.replace("s", "\u017f"), name.replace("k", "\u212a"), name[:-1] + "\u200c" + name[-1:]} - {name}


def asked_of_files(manifest):
    """(expected verdict, call) for every path, as the policy decides."""
    asked = []
    decided = decisions(manifest)
    for path, (access, file_only) in decided.items():
        asked.append(("deny" if access == "none" else "allow", ("read", path)))
        asked.append(("deny" if access != "write" else "allow", ("write", path)))
        if access == "none" and not is_way(path, decided):
            asked += [("deny", ("exists", path)), ("deny", ("exec", path)), ("deny", ("create", path))]
        if access == "read" and not file_only:
            asked += [("deny", (call, path)) for call in ("create", "mkdir", "symlink", "unlink", "chmod")]
            asked.append(("deny", ("link", path, f"{questions.SCRATCH}/x")))
    return asked, decided


def is_way(path, decided):
    """On the way to something granted, of which more is known than its name."""
    return any(other.startswith(path + "/") and access != "none" for other, (access, _) in decided.items())


def asked_of_roots(stem, decided):
    """What must hold in writable places: work goes on, protected names in no spelling, directories that stay."""
    asked = []
    for path, (access, _) in decided.items():
        parent = path.rpartition("/")[0]
        name = path.rpartition("/")[2]
        around = decided.get(parent, ("none", False))[0]
        if access == "write" and "/." not in path:
            asked += [("allow", (call, f"{path}/n")) for call in ("chmod", "utimes", "xattr", "chown", "write", "create", "unlink")]
            asked.append(("allow", ("link", f"{path}/n", f"{path}/m")))
        if access == "write" and around == "write" and "/." not in path and "(" not in path:
            asked += [("allow", ("create", f"{path}-new")), ("allow", ("mkdir", f"{path}-dir")), ("allow", ("chmod", path)),
                      ("allow", ("utimes", path)), ("allow", ("xattr", path)), ("allow", ("chown", path)),
                      ("deny", ("setuid", path)), ("deny", ("chflags", path)), ("deny", ("acl", path)),
                      ("allow", ("link", f"{path}-new", f"{path}-link")),
                      ("deny" if path in STAYS.get(stem, ()) else "allow", ("rename-dir", path, f"{path}-moved"))]
        if name in PROTECTED and decided[path] == ("read", False) and around == "write":
            asked += [("deny", ("create", f"{parent}/{other}")) for other in spelled(name)]
            asked += [("deny", ("rename", f"{parent}/x", path)), ("deny", ("rename-dir", path, f"{parent}/y")),
                      ("deny", ("create", f"{path}/below")), ("deny", ("link", path, f"{parent}/z")),
                      ("deny", ("write", f"/System/Volumes/Data{path}"))]
    return asked


# Directories above an entry that says something else, and entries themselves, by manifest.
STAYS = {
    "12-write-nested": {f"{questions.PROJECT}/vendor/patches"},
    "14-split": {f"{questions.PROJECT}/code/secrets/tmp"},
    "23-absent-read": {f"{questions.PROJECT}/absent"},
    "24-deep-none": {f"{questions.PROJECT}/{name}" for name in ("a", "a/b", "a/b/c")},
    "37-fence-absent": {f"{WORK}/absent"},
}


@functools.lru_cache(None)
def asked(stem):
    """Every (expected, call) for the profile of that manifest."""
    plan = plans()[stem]["macos"]
    manifest = next(path for path in MANIFESTS if path.stem == stem)
    files, decided = asked_of_files(manifest)
    terminal = questions.OWN if "terminal" in stem else questions.LENT
    found = []
    for table in (questions.ALWAYS, questions.NETWORK[plan["network"]], terminal):
        for verdict, calls in table.items():
            found += [(verdict, call) for call in calls]
    found += files + asked_of_roots(stem, decided) + ways(decided) + MORE.get(stem, [])
    if plan["network"] == "inherit":
        found += [("allow" if access == "write" else "deny", (call, path + "/s")) for path, (access, _) in decided.items()
                  for call in ("connect-unix", "bind-unix") if path.endswith(("/project", "work", "work2/x", "/docs", "/outside/secret"))]
    else:
        found += [("deny", ("connect-unix", f"{questions.PROJECT}/s")), ("deny", ("connect-unix", f"{WORK}/socket"))]
    if stem != "20-protect-none":
        found += [("deny", (call, f"{questions.SCRATCH}/{name}")) for call in ("create", "write", "unlink")
                  for name in (".vscode/x", ".git/hooks/x", "sub/.ssh/x")]
        found += [("deny", ("link", f"{questions.SCRATCH}/{name}", f"{questions.SCRATCH}/x")) for name in (".vscode/x", ".git/config")]
    if any(access != "none" for path, (access, _) in decided.items() if path.startswith("/Users/")):
        found.append(("allow", ("stat", "/Users")))
    unique = dict((call, verdict) for verdict, call in found)
    return [(verdict, call) for call, verdict in unique.items()]


def ways(decided):
    """Directories above what is granted can be looked at."""
    found = []
    for path, (access, _) in decided.items():
        if access != "none":
            above = path.rpartition("/")[0]
            while above and above.startswith(questions.HOME):
                found.append(("allow", ("stat", above)))
                above = above.rpartition("/")[0]
    return [*dict.fromkeys(found), ("allow", ("exists", "/private/var/db")), ("allow", ("stat", "/private/var"))]


def commit_questions(root):
    git = f"{root}/.git"
    return [("allow", ("create", f"{git}/index.lock")), ("allow", ("rename", f"{git}/index.lock", f"{git}/index")),
            ("allow", ("mkdir", f"{git}/objects/ab")), ("allow", ("create", f"{git}/refs/heads/x")),
            ("allow", ("chmod-dir", git)), ("deny", ("rename-dir", git, f"{root}/g")), ("deny", ("mkdir", git)),
            ("deny", ("rename-dir", f"{root}/g", git)), ("deny", ("create", git)), ("deny", ("symlink", git)),
            ("deny", ("write", git)), ("deny", ("unlink", git)), ("deny", ("link", git, f"{root}/l")),
            ("deny", ("rename-dir", f"{git}/info", f"{git}/i")), ("deny", ("mkdir", f"{git}/info")),
            ("deny", ("rename-dir", f"{git}/modules", f"{git}/m")), ("deny", ("rename-dir", f"{git}/modules/m", f"{git}/modules/n")),
            ("allow", ("mkdir", f"{git}/modules/m/objects/ab")), ("deny", ("rename-dir", f"{git}/worktrees", f"{git}/w")),
            ("deny", ("rename-dir", f"{git}/worktrees/w", f"{git}/worktrees/v")),
            ("deny", ("create", f"{git}/HOOKS/pre-commit")), ("deny", ("swap-dir", git, f"{root}/g"))]


def store_questions(store):
    """A place that a .git file names, where git = "commit": as .git, but for the name."""
    root = store.rpartition("/")[0]
    return [("allow", ("create", f"{store}/index.lock")), ("allow", ("rename", f"{store}/index.lock", f"{store}/index")),
            ("allow", ("mkdir", f"{store}/objects/ab")), ("allow", ("create", f"{store}/refs/heads/config")),
            *(("deny", ("create", f"{store}/{name}")) for name in (part.removeprefix(".git/") for part in GIT_PARTS)),
            ("deny", ("create", f"{store}/hooks/x")), ("deny", ("create", f"{root}/STORE/HOOKS/x")),
            ("deny", ("rename-dir", store, f"{root}/g")), ("deny", ("rename-dir", f"{root}/g", store)),
            ("deny", ("rename", f"{root}/x", store)), ("deny", ("rename-dir", f"{store}/info", f"{store}/i")),
            ("deny", ("swap-dir", store, f"{root}/g")), ("deny", ("link", f"{store}/config", f"{root}/c"))]


def closed_questions(store):
    """The same without it: nothing in there changes, and what is beside it does."""
    root = store.rpartition("/")[0]
    return [("allow", ("read", f"{store}/config")), ("deny", ("create", f"{store}/index.lock")), ("deny", ("write", f"{store}/HEAD")),
            ("deny", ("create", f"{store}/hooks/x")), ("deny", ("create", f"{root}/STORE/hooks/x")), ("deny", ("chmod", store)),
            ("deny", ("rename-dir", store, f"{root}/g")), ("deny", ("rename-dir", f"{root}/g", store)), ("deny", ("mkdir", store)),
            ("deny", ("unlink", f"{store}/config")), ("deny", ("link", f"{store}/config", f"{root}/c")),
            ("allow", ("create", f"{store}2/hooks/x")), ("allow", ("create", f"{root}/a/store/hooks/x"))]


def lifted_questions(root):
    return [("allow", (call, f"{root}/n")) for call in ("chmod", "utimes", "xattr", "chown", "write", "create", "unlink")] + [
        ("allow", ("link", f"{root}/n", f"{root}/m")), ("deny", ("rename-dir", root, f"{questions.PROJECT}/v"))]


MORE = {"22-protect-lifted": lifted_questions(f"{questions.PROJECT}/.vscode"),
          "07-workspace-git-commit": commit_questions(questions.PROJECT) + commit_questions(questions.SCRATCH),
          "38-fence-commit": commit_questions(f"{WORK}/repo") + commit_questions(questions.SCRATCH)
          + commit_questions(f"{WORK}2") + store_questions(f"{WORK}/store"),
          "36-fence-main": closed_questions(f"{WORK}/store")}


@functools.lru_cache(None)
def rules(stem):
    plan = plans()[stem]["macos"]
    return tuple(sbpl.read(plan["profile"], plan["parameters"]))
