"""Runs inside a box, and outside as a control: tries to change protected files in every way it knows.
usage: tamper.py [--fresh DIRECTORY] ATTEMPT...      prints one line "ATTEMPT<tab>done or the error" each

With --fresh each is made in a copy of the directory.
An attempt is WAY:PATH. What a way needs it makes in the working directory under names of its own."""

import ctypes
import errno
import os
import shutil
import sys

EXCHANGE = 2
FOLLOW = 0x400
LIBC = ctypes.CDLL(None, use_errno=True)
serial = 0


def fresh(text=b"evil\n"):
    """A file that may be written."""
    global serial
    serial += 1
    name = f"tamper-{serial}"
    with open(name, "wb") as stream:
        stream.write(text)
    return name


def fresh_tree(*below):
    """A directory with these files in it."""
    global serial
    serial += 1
    top = f"tamper-{serial}"
    os.mkdir(top)
    for name in below:
        os.makedirs(os.path.dirname(os.path.join(top, name)), exist_ok=True)
        with open(os.path.join(top, name), "wb") as stream:
            stream.write(b"evil\n")
    return top


def call(name, *words):
    if getattr(LIBC, name)(*words) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def write(path, flags):
    fd = os.open(path, flags, 0o755)
    try:
        os.write(fd, b"evil\n")
    finally:
        os.close(fd)


def link_unnamed(path):
    fd = os.open(".", os.O_TMPFILE | os.O_WRONLY, 0o644)
    call("linkat", -100, f"/proc/self/fd/{fd}".encode(), -100, os.fsencode(path), FOLLOW)


def link_and_write(path):
    name = fresh()
    os.unlink(name)
    os.link(path, name)
    write(name, os.O_WRONLY)


def exchange(a, b):
    call("renameat2", -100, os.fsencode(a), -100, os.fsencode(b), EXCHANGE)


def swap_parent(path):
    """The directory goes away, and another with the same file in it takes its place."""
    parent, name = os.path.split(path)
    top = fresh_tree(name)
    os.rename(parent, fresh() + "-old")
    os.rename(top, parent)


def move_grandparent(path):
    """A directory further up goes away and is made again."""
    upper = os.path.dirname(os.path.dirname(path))
    os.rename(upper, fresh() + "-old")
    os.makedirs(os.path.dirname(path))
    write(path, os.O_WRONLY | os.O_CREAT)


def link_parent(path):
    parent, name = os.path.split(path)
    top = fresh_tree(name)
    os.rename(parent, fresh() + "-old")
    os.symlink(os.path.abspath(top), parent)


def through_descriptor(path):
    fd = os.open(os.path.dirname(path), os.O_PATH)
    handle = os.open(os.path.basename(path), os.O_CREAT | os.O_WRONLY, 0o755, dir_fd=fd)
    os.write(handle, b"evil\n")


def through_proc(path):
    write(f"/proc/self/cwd/{path}", os.O_CREAT | os.O_WRONLY)


def through_link(path):
    name = fresh()
    os.unlink(name)
    os.symlink(os.path.abspath(path), name)
    write(name, os.O_CREAT | os.O_WRONLY)


def through_link_to_parent(path):
    name = fresh()
    os.unlink(name)
    os.symlink(os.path.abspath(os.path.dirname(path)), name)
    write(os.path.join(name, os.path.basename(path)), os.O_CREAT | os.O_WRONLY)


def tree_into(path):
    """A prepared directory with something of that name in it becomes the parent, which is not there."""
    parent, name = os.path.split(path)
    os.makedirs(os.path.dirname(parent) or ".", exist_ok=True)
    os.rename(fresh_tree(name), parent)


def deep_tree_into(path):
    parent, name = os.path.split(path)
    upper, middle = os.path.split(parent)
    os.makedirs(os.path.dirname(upper) or ".", exist_ok=True)
    os.rename(fresh_tree(os.path.join(middle, name)), upper)


WAYS = {
    "create": lambda path: write(path, os.O_CREAT | os.O_WRONLY),
    "create-new": lambda path: write(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY),
    "truncate-open": lambda path: write(path, os.O_WRONLY | os.O_TRUNC),
    "append": lambda path: write(path, os.O_WRONLY | os.O_APPEND),
    "truncate": lambda path: os.truncate(path, 0),
    "remove": os.unlink,
    "remove-directory": shutil.rmtree,
    "rename-over": lambda path: os.rename(fresh(), path),
    "rename-away": lambda path: os.rename(path, fresh()),
    "exchange": lambda path: exchange(fresh(), path),
    "exchange-directory": lambda path: exchange(fresh_tree("pre-commit"), path),
    "link": lambda path: os.link(fresh(), path),
    "link-unnamed": link_unnamed,
    "link-and-write": link_and_write,
    "symlink": lambda path: os.symlink("/dev/null", path),
    "mkdir": os.mkdir,
    "fifo": os.mkfifo,
    "directory-over": lambda path: os.rename(fresh_tree("x"), path),
    "directory-away": lambda path: os.rename(path, fresh_tree() + "/x"),
    "mode": lambda path: os.chmod(path, 0o777),
    "times": lambda path: os.utime(path, (1, 1)),
    "attribute": lambda path: os.setxattr(path, "user.evil", b"1"),
    "swap-parent": swap_parent,
    "move-grandparent": move_grandparent,
    "link-parent": link_parent,
    "through-descriptor": through_descriptor,
    "through-proc": through_proc,
    "through-link": through_link,
    "through-link-to-parent": through_link_to_parent,
    "tree-into": tree_into,
    "deep-tree-into": deep_tree_into,
}


def attempt_one(attempt):
    way, path = attempt.split(":", 1)
    try:
        WAYS[way](path)
        print(f"{attempt}\tdone")
    except OSError as problem:
        print(f"{attempt}\t{errno.errorcode.get(problem.errno, problem.errno)}")


def main():
    words = sys.argv[1:]
    if words[0] != "--fresh":
        for attempt in words:
            attempt_one(attempt)
        return
    for attempt in words[2:]:
        shutil.copytree(words[1], "fresh", symlinks=True)
        os.chdir("fresh")
        attempt_one(attempt)
        os.chdir("..")
        shutil.rmtree("fresh")


if __name__ == "__main__":
    main()
