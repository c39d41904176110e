"""Runs a command where many file systems are mounted, and one whose server never answers. In a mount namespace of its
own, which the caller has made. usage: mounter.py DIRECTORY NUMBER COMMAND..."""

import ctypes
import os
import pathlib
import subprocess
import sys

LIBC = ctypes.CDLL(None, use_errno=True)


def mount(kind, place, options):
    place.mkdir(exist_ok=True)
    if LIBC.mount(b"sbx-test", os.fsencode(place), kind.encode(), 0, options.encode()) != 0:
        raise OSError(ctypes.get_errno(), f"mount {kind} {place}")


base = pathlib.Path(sys.argv[1])
for number in range(int(sys.argv[2])):
    mount("tmpfs", base / f"m{number}", "size=4k")
# Its server would read requests from here. Nobody does: whoever enters it waits.
fuse = os.open("/dev/fuse", os.O_RDWR)
mount("fuse", base / "silent", f"fd={fuse},rootmode=40000,user_id=0,group_id=0,allow_other")
sys.exit(subprocess.run(sys.argv[3:], check=False).returncode)
