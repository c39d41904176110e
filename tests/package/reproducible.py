"""The same sources give the same packages, byte for byte: in another directory, for somebody with another umask, time zone, language and
home, from a build tree that is made anew. The libraries of other projects are the cached ones of scripts/cross-deps both times."""

import os
import pathlib
import shutil
import subprocess

from packaged import PACKAGES, ROOT, call, main, promise

OTHERS = {"TZ": "Pacific/Kiritimati", "LANG": "de_DE.UTF-8", "LC_ALL": "de_DE.UTF-8", "LANGUAGE": "de", "USER": "somebody",
          "LOGNAME": "somebody"}


def copy_of_sources(directory):
    """What git knows, and what is new and not ignored."""
    names = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=ROOT, check=True,
                           stdout=subprocess.PIPE).stdout.decode().split("\0")
    for name in filter(None, names):
        if (ROOT / name).exists():
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, directory / name)


def time_of_sources():
    return call("git", "log", "-1", "--format=%ct", cwd=ROOT).out.strip()


def first_difference(one, other):
    """Where two files differ, for whoever has to find out why."""
    for at, (left, right) in enumerate(zip(one, other)):
        if left != right:
            return f"byte {at}: {one[at:at + 40]!r} and {other[at:at + 40]!r}"
    return f"{len(one)} and {len(other)} bytes"


def build_elsewhere(t):
    """The directory of packages that a second build of the same sources wrote."""
    directory = t.directory / "an other place/with a longer name"
    directory.mkdir(parents=True)
    copy_of_sources(directory)
    cache = os.environ.get("SBX_CACHE") or pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "sbx"
    env = os.environ | OTHERS | {"SOURCE_DATE_EPOCH": time_of_sources(), "SBX_CACHE": str(cache), "HOME": str(t.home)}
    done = call("sh", "-c", "umask 077 && exec scripts/package", cwd=directory, env=env)
    t.equal(done.status, 0, done.out[-3000:] + done.err[-3000:])
    return directory / "build/packages"


@promise("a second build elsewhere, with another umask, time zone, language and home, gives the same packages")
def _(t):
    again = build_elsewhere(t)
    names = sorted(path.name for path in PACKAGES.iterdir())
    t.true(len(names) >= 5, names)
    t.equal(sorted(path.name for path in again.iterdir()), names)
    for name in names:
        one, other = (PACKAGES / name).read_bytes(), (again / name).read_bytes()
        t.true(one == other, f"{name}: {first_difference(one, other)}")
        t.lacks(other.decode("latin-1"), str(t.directory), f"{name} names the place where it was built")


main()
