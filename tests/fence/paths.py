"""Paths that are not what they seem: links, swaps while sbx starts, spellings, overlaps, hostile names."""

import ctypes
import itertools
import os
import pathlib
import threading

from scenario import main, scenario
from table import MOUNTING
from world import differences, fingerprint

STARTS = 40
WHY = "Landlock knows no exception below a writable directory: such a manifest is refused"


AT_FDCWD, RENAME_EXCHANGE = -100, 2
LIBC = ctypes.CDLL(None, use_errno=True)


def exchange(one, other):
    """Both names at once, so that neither is ever absent."""
    if LIBC.renameat2(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE) != 0:
        raise OSError(ctypes.get_errno(), "renameat2")


class Swapper:
    """Changes a path as fast as it can between a directory and a link to elsewhere, while it is entered. It is
    there at every moment: what the host makes after a start is another matter (docs/LINUX.md)."""

    def __init__(self, path, target):
        self.path = pathlib.Path(path)
        self.aside = self.path.with_name(self.path.name + "-aside")
        self.target = target
        self.end = threading.Event()
        self.count = 0
        self.thread = threading.Thread(target=self._swap, daemon=True)

    def _swap(self):
        while not self.end.is_set():
            for _ in range(2):
                try:
                    exchange(self.path, self.aside)
                except OSError:
                    pass  # somebody else made something there meanwhile: part of the game
            self.count += 1

    def __enter__(self):
        os.symlink(self.target, self.aside)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.end.set()
        self.thread.join()
        if self.path.is_symlink():
            exchange(self.path, self.aside)
        os.unlink(self.aside)


def raced(s, path, ids, **options):
    """Starts boxes while the path is swapped; no attack may work in any of them, and nothing outside may change."""
    before = fingerprint(s.world.outside)
    ran = 0
    with Swapper(path, s.world.outside) as swapper:
        for _ in range(STARTS):
            answers, done = s.probes(ids, **options)
            s.t.true(done.status in (0, 125, 126), done)
            ran += bool(answers)
            for name, (word, detail) in answers.items():
                s.t.among(word, ("DENIED", "ABSENT"), f"{name} {detail}\n{done}")
    s.t.true(swapper.count > STARTS, f"{swapper.count} swaps")
    s.t.equal(differences(before, fingerprint(s.world.outside)), [], "outside is as it was")
    print(f"# {ran} of {STARTS} starts ran a box, {swapper.count} swaps")


@scenario("LF01", "paths", "a denied directory is swapped with a link while sbx starts", also="F1 F3", only=MOUNTING, why=WHY)
def _(s):
    raced(s, s.world.work / "secrets", ["R01", "W03c"])


@scenario("LF01b", "paths", "a readable directory is swapped with a link to outside while sbx starts", also="F1")
def _(s):
    # What lies behind the link is not what was granted by name at the time of the check.
    raced(s, s.world.ro / "denied", ["R01", "W03c", "R07"])


@scenario("LF01c", "paths", "the parent of a protected name is swapped with a link while sbx starts", also="F1 F5",
          only=MOUNTING, why=WHY)
def _(s):
    raced(s, s.world.work / "repo", ["W06", "LF08", "W03c"])


@scenario("LF02", "paths", "planted links below which sbx would make its mount points", also="F2", only=MOUNTING, why=WHY)
def _(s):
    for number, target in enumerate((s.world.outside, f"/proc/self/root{s.world.outside}",
                                     f"/oldroot{s.world.outside}", f"/newroot{s.world.outside}",
                                     "/proc/1/cwd", "../outside")):
        link = s.world.work / f"x{number}"
        os.symlink(target, link)
        before = fingerprint(s.world.outside)
        for access in ("none", "read"):
            answers, done = s.probes(["R01", "W03c"], options=("--fs", f"{link}/below={access}"))
            s.t.true(done.status in (0, 125), done)
            for name, (word, detail) in answers.items():
                s.t.among(word, ("DENIED", "ABSENT"), f"{name} {detail}\n{done}")
        answers, done = s.probes(["R01", "W03c"], options=("--tmpfs", f"{link}/tmp"))
        s.t.true(done.status in (0, 125), done)
        s.t.equal(differences(before, fingerprint(s.world.outside)), [], f"{target}: outside is as it was")


@scenario("S02", "paths", "a granted path that is a link grants more than its target", expect="stop")
def _(s):
    link = s.world.top / "link-to-data"
    data = s.world.top / "data"
    data.mkdir()
    (data / "file").write_text("granted\n")
    s.identity.own(data, data / "file")
    os.symlink("data", link)
    done = s.run("cat", f"{link}/file", f"{data}/file", options=("-r", link))
    s.t.true((done.status, done.out) == (0, "granted\ngranted\n") or done.status in (1, 125), done)
    done = s.run("cat", s.world.outside / "secret", options=("-r", link))
    s.t.true(done.status != 0 and "planted" not in done.out, done)


@scenario("S06", "paths", "another order or spelling of the same entries means another policy")
def _(s):
    top = s.world.top / "split"
    for name in ("a/b/c", "a/d"):
        (top / name).mkdir(parents=True)
    for root, names, _ in os.walk(top):
        (pathlib.Path(root) / "file").write_text("text\n")
        s.identity.own(root, pathlib.Path(root) / "file", *(os.path.join(root, name) for name in names))
    entries = [(f"{top}", "read"), (f"{top}/a/b", "none"), (f"{top}/a/d/", "read")]
    script = f"for f in file a/file a/b/file a/b/c/file a/d/file; do cat {top}/$f >/dev/null 2>&1 && echo $f; done; :"
    seen = set()
    for order in itertools.permutations(entries):
        for spelling in (str, lambda text: text.replace("/a/", "//a/./")):
            done = s.run("sh", "-c", script,
                         options=[word for path, access in order for word in ("--fs", f"{spelling(path)}={access}")])
            seen.add((done.status, done.out))
    s.t.equal(len(seen), 1, seen)
    s.t.equal(seen.pop()[1].split(), ["file", "a/file", "a/d/file"])


@scenario("S07", "paths", "narrow write inside denied inside write behaves as stated", only=MOUNTING, why=WHY,
          expect="works")
def _(s):
    code = s.world.top / "code"
    for name in ("secrets/tmp", "lib"):
        (code / name).mkdir(parents=True)
    (code / "secrets/key").write_text("planted:key\n")
    s.identity.own(code, code / "secrets", code / "secrets/tmp", code / "lib", code / "secrets/key")
    script = (f"cd {code} && for f in main.c secrets/key2 secrets/tmp/x lib/y; do echo x > $f && echo $f; done 2>/dev/null;"
              f"cat {code}/secrets/key 2>/dev/null; ls {code}/secrets 2>/dev/null | grep key; :")
    options = ("--fs", f"{code}=write", "--fs", f"{code}/secrets=none", "--fs", f"{code}/secrets/tmp=write")
    done = s.run("sh", "-c", script, options=options)
    s.t.equal(done.out.split(), ["main.c", "secrets/tmp/x", "lib/y"], done)
    s.t.equal(((code / "secrets/tmp/x").exists(), (code / "secrets/key2").exists()), (True, False))


@scenario("S08", "paths", "paths with quotes, backslashes, newlines, bad text, endless names", expect="works")
def _(s):
    for name in ('quote"d', "back\\slash", "single'quote", "space d", "$HOME", "-r", "--", "ümlaut", "a=b", "*"):
        place = s.world.top / "odd" / name
        place.mkdir(parents=True)
        (place / "file").write_text("granted\n")
        s.identity.own(place.parent, place, place / "file")
        if "*" not in name:
            done = s.run("cat", place / "file", options=("-r", place))
            s.t.equal((done.status, done.out), (0, "granted\n"), f"{name}\n{done}")
    for name in ("new\nline", "tab\t", "\x1b[0m", "x" * 5000):
        done = s.run("true", options=("-r", s.world.top / name))
        s.t.equal(done.status, 125, done)
    done = s.run("true", options=("-r", b"/bad\xff".decode("utf-8", "surrogateescape")))
    s.t.equal(done.status, 125, done)


if __name__ == "__main__":
    main()
