"""What is mounted on the host does not hold a box up: hundreds of mounts, and one whose server never answers. Each in a
mount namespace of the test's own, which needs root."""

import os
import pathlib
import shutil
import subprocess
import sys

from boxed import each, main

MOUNTER = pathlib.Path(__file__).resolve().with_name("mounter.py")
MANY = 300


def start(box, base, words, seconds):
    """(status or None after so many seconds, output)"""
    unshare = [shutil.which("unshare"), "-m", "--propagation", "private", sys.executable, "-IB", MOUNTER, base, MANY]
    process = subprocess.Popen([*map(str, unshare), *map(str, words)], cwd=box.project, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
                               env={"PATH": "/usr/bin:/bin", "HOME": str(box.home), **box.env})
    try:
        out, _ = process.communicate(timeout=seconds)
        return process.returncode, out
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.communicate()
        return None, ""


@each("three hundred mounts and a dead one hold no box up, and none of them is entered", identities=("root",))
def _(box):
    t = box.t
    if not os.path.exists("/dev/fuse") or shutil.which("unshare") is None:
        t.skip("fuse", "no /dev/fuse to make a mount that never answers")
    base = box.mkdir("mounts", below=box.home)
    uid = str(65534)
    box.own(box.home)
    os.chmod(box.home, 0o755)
    # The control: whoever looks at it waits for ever.
    t.equal(start(box, base, ["stat", base / "silent/x"], 3)[0], None, "the dead mount answers")
    count = ["sh", "-c", f"grep -c {base} /proc/self/mountinfo; echo works > made"]
    for prefix in ([], ["setpriv", "--reuid", uid, "--regid", uid, "--clear-groups"]):
        box.project.chmod(0o777)
        (box.project / "made").unlink(missing_ok=True)
        status, out = start(box, base, [*prefix, t.copy_of_sbx(), "run", "--no-manifest", "--strict", "-t", "20s", "--",
                                        *count], 30)
        t.equal(status, 0, out)
        t.true(int(out.split()[0] if out.split() else 0) >= MANY, out)
        t.true((box.project / "made").exists(), out)


main()
