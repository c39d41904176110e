"""A bwrap that changes what it is told: copied under the name bwrap to the front of PATH, it reads the
changes from sabotage.json in its own directory, and becomes the real bwrap with them. Without --args it is
being asked what it can do, and nothing is changed."""

import json
import os
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# How many values follow an option; one is usual.
NONE = ("--unshare-all", "--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-net",
        "--unshare-uts", "--unshare-cgroup", "--share-net", "--disable-userns", "--die-with-parent",
        "--new-session", "--clearenv", "--as-pid-1")
TWO = ("--bind", "--ro-bind", "--bind-fd", "--ro-bind-fd", "--dev-bind", "--symlink", "--setenv")
# Where things are in posix/init_plan.h.
FLAGS, ARGV, RLIMITS, RULES, FILTERS, NAMES, SCOPED = 8, 24, 40, 48, 64, 88, 112
NO_LANDLOCK, EVERY_FILE_RIGHT = 1 << 3, 0x1fff
IMAGE_FD, PLAN_FD, INFO_FD = 3, 4, 12


def read(fd):
    return os.pread(fd, os.fstat(fd).st_size, 0)


def put(data, fd, name):
    new = os.memfd_create(name)
    os.write(new, data)
    os.lseek(new, 0, os.SEEK_SET)
    os.dup2(new, fd, inheritable=True)
    os.close(new)


def split(text):
    words = text.decode().split("\0")[:-1]
    options = []
    while words:
        count = 1 + (0 if words[0] in NONE else 2 if words[0] in TWO else 1)
        options.append(words[:count])
        del words[:count]
    return gather(options)


def gather(options):
    """A private directory with what comes before it: ["--tmpfs", PLACE, MODE, SIZE]."""
    gathered, before = [], {}
    for option in options:
        if option[0] in ("--perms", "--size"):
            before[option[0]] = option[1]
        elif option[0] == "--tmpfs":
            gathered.append([*option, before.get("--perms"), before.get("--size")])
            before = {}
        else:
            gathered.append(option)
    return gathered


def spread(option):
    if option[0] != "--tmpfs":
        return option
    _, place, mode, size = (*option, None, None)[:4]
    return [*(("--perms", mode) if mode else ()), *(("--size", size) if size else ()), "--tmpfs", place]


def find(options, pattern):
    """Where the first option is that matches: its words, None for any."""
    for i, option in enumerate(options):
        if len(option) >= len(pattern) and all(w in (None, o) for w, o in zip(pattern, option)):
            return i
    sys.exit(f"sabotage: no {pattern} among {options}")


def change(options, edit):
    kind, *rest = edit
    if kind == "drop":
        del options[find(options, rest[0])]
    elif kind == "replace":
        at = find(options, rest[0])
        options[at:at + 1] = rest[1]
    elif kind == "before":
        at = find(options, rest[0])
        options[at:at] = rest[1]
    elif kind == "append":
        options += rest[0]
    elif kind == "move":  # the first before the second
        moved = options.pop(find(options, rest[0]))
        options.insert(find(options, rest[1]), moved)
    else:
        return False
    return True


def change_block(kind):
    block = bytearray(read(PLAN_FD))

    def word(at, value=None):
        if value is not None:
            struct.pack_into("<I", block, at, value)
        return struct.unpack_from("<I", block, at)[0]
    if kind == "no filters":
        word(FILTERS + 4, 0)
    elif kind == "one filter less":
        word(FILTERS + 4, word(FILTERS + 4) - 1)
    elif kind == "no guard of names":
        word(NAMES + 4, 0)
    elif kind == "no Landlock":
        word(FLAGS, word(FLAGS) | NO_LANDLOCK)
    elif kind == "Landlock that allows everything":
        struct.pack_into("<Q", block, word(RULES), EVERY_FILE_RIGHT)
    elif kind == "no scopes":
        struct.pack_into("<Q", block, SCOPED, 0)
    elif kind == "no limits":
        word(RLIMITS + 4, 0)
    elif kind == "another argument":
        at = struct.unpack_from("<Q", block, word(ARGV) + 8)[0]
        block[at] ^= 1
    elif kind != "a copy":
        sys.exit(f"sabotage: no such change of the block: {kind}")
    put(block, PLAN_FD, "sbx-plan")


def do(kind, rest):
    """What is no change of arguments."""
    if kind == "block":
        change_block(*rest)
    elif kind == "program":
        put(read(IMAGE_FD) + b"\0", IMAGE_FD, "sbx-init")
        os.fchmod(IMAGE_FD, 0o777)
    elif kind == "descriptor":
        fd = os.open(rest[0], os.O_RDONLY)
        os.dup2(fd, rest[1], inheritable=True)
        os.close(fd)
    elif kind == "liar":  # says that another process is the box's first
        os.write(INFO_FD, b'{ "child-pid": %d }' % os.getppid())
        os.dup2(os.open("/dev/null", os.O_WRONLY), INFO_FD, inheritable=True)
    elif kind == "cgroup":
        with open(rest[0], "w", encoding="ascii") as stream:
            stream.write(str(os.getpid()))
    else:
        sys.exit(f"sabotage: unknown: {kind}")


def main():
    with open(os.path.join(HERE, "sabotage.json"), encoding="utf-8") as stream:
        told = json.load(stream)
    argv = sys.argv[1:]
    if "--args" in argv:
        fd = int(argv[argv.index("--args") + 1])
        options = split(read(fd))
        for edit in told["edits"]:
            if edit[0] == "argv":
                argv[argv.index("--") + 1:] = edit[1]
            elif not change(options, edit):
                do(edit[0], edit[1:])
        put("".join(word + "\0" for option in options for word in spread(option)).encode(), fd, "args")
    os.execve(told["bwrap"], ["bwrap", *argv], {})


main()
