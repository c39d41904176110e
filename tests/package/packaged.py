"""What was released, as a user finds it: what the scripts of this directory share.

    @promise("the package has a man page")
    def _(t):
        t.true("usr/share/man/man1/sbx.1.gz" in deb_files(), deb_files())

    main()

Cases and checks are those of tests/cli/harness.py."""

import os
import pathlib
import subprocess
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/cli"))

from harness import Done, main, promise  # noqa: E402,F401 (for the scripts)

PACKAGES = pathlib.Path(os.environ["SBX_PACKAGES"])


def one(pattern):
    """The package whose name is like this."""
    found = sorted(PACKAGES.glob(pattern))
    if len(found) != 1:
        raise FileNotFoundError(f"{pattern} below {PACKAGES}: {[path.name for path in found]}")
    return found[0]


def unzipped(directory):
    """What the archive for Windows has in its one directory, unpacked."""
    with zipfile.ZipFile(one("sbx-*-windows-*.zip")) as archive:
        archive.extractall(directory)
    return next(pathlib.Path(directory).iterdir())


def call(*command, **options):
    """Runs a program: how it ended, with its whole output."""
    options.setdefault("stdin", subprocess.DEVNULL)
    command = [str(word) for word in command]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, **options)
    return Done(command, done.returncode, done.stdout, done.stderr)
