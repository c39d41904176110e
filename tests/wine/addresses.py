"""That no start of a program can meet the collision of addresses that scripts/wine-env prevents.
usage: addresses.py WINE...

Every Windows process has shared user data at one fixed address. When the kernel has put the heap there
before Wine could, the process does not start. That is too rare to wait for, so this looks at where the
heap is: always in the same place, and not there."""

import os
import re
import subprocess
import sys
import time

NAME = "no program meets its heap where Windows has its shared user data"
SHARED_USER_DATA = 0x7ffe0000
# A heap grows; one of half a megabyte has been seen.
ROOM = 16 << 20
STARTS = 5
SECONDS = 30


def regions(pid):
    """(begin, end, name) of everything mapped; empty when the process is gone."""
    try:
        with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as stream:
            lines = stream.read().splitlines()
    except OSError:
        return []
    found = [re.match(r"([0-9a-f]+)-([0-9a-f]+) \S+ \S+ \S+ \S+\s*(.*)", line) for line in lines]
    return [(int(row[1], 16), int(row[2], 16), row[3]) for row in found if row]


def heap_of(command):
    """Where a started program has its heap: (begin, end), or a text that says why not known."""
    with subprocess.Popen([*command, "cmd"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as process:
        until = time.monotonic() + SECONDS
        try:
            while time.monotonic() < until and process.poll() is None:
                mapped = regions(process.pid)
                if any(begin == SHARED_USER_DATA for begin, _, _ in mapped):
                    heaps = [(begin, end) for begin, end, name in mapped if name == "[heap]"]
                    return heaps[0] if heaps else "it has no heap"
                time.sleep(0.01)
            return f"it has no shared user data; exit status {process.poll()}"
        finally:
            process.stdin.close()  # which is the end of cmd
            try:
                process.wait(SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()


def may_be_fixed():
    """Whether this machine lets a process do without random addresses."""
    try:
        return subprocess.run(["setarch", "-R", "true"], stderr=subprocess.DEVNULL,
                              check=False).returncode == 0
    except OSError:
        return False


def main():
    print("1..1")
    required = os.environ.get("SBX_TEST_REQUIRE", "").split(",")
    if not may_be_fixed() and not {"all", "setarch"} & set(required):
        print(f"ok 1 - {NAME} # SKIP setarch -R is not permitted here")
        sys.exit(77)
    heaps = [heap_of(sys.argv[1:]) for _ in range(STARTS)]
    held = not any(isinstance(heap, str) for heap in heaps)
    held = held and len({begin for begin, _ in heaps}) == 1
    held = held and all(SHARED_USER_DATA < begin - ROOM or SHARED_USER_DATA >= end + ROOM for begin, end in heaps)
    if not held:
        print(f"#   want: one place of the heap in {STARTS} starts, {ROOM} bytes away from {SHARED_USER_DATA:#x}")
        for heap in heaps:
            print("#   got: ", heap if isinstance(heap, str) else f"{heap[0]:#x}-{heap[1]:#x}")
    print(f"{'ok' if held else 'not ok'} 1 - {NAME}")
    sys.exit(0 if held else 1)


if __name__ == "__main__":
    main()
