"""That a built program has the hardening it was linked for: a flag that was dropped on the way leaves
no other trace. usage: binary.py elf|pe hardened|weak PROGRAM [OBJDUMP]
A weak program is the negative control: every check must refuse it."""

import re
import subprocess
import sys

# What every Windows has; anything else would have to be shipped.
SYSTEM_DLLS = {"kernel32", "advapi32", "msvcrt", "user32", "ws2_32", "iphlpapi", "psapi", "userenv",
               "ole32", "dbghelp", "shell32", "bcrypt", "ntdll", "crypt32"}


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def elf(program, _):
    headers = output("readelf", "-W", "-h", "-l", "-d", program)
    stack = re.search(r"GNU_STACK.*", headers)
    segments = re.findall(r"^ +LOAD .* ([R ][W ][E ]) +0x\w+$", headers, re.M)
    yield "it is position-independent", "DYN (Position-Independent Executable" in headers
    yield "relocations are read-only", "GNU_RELRO" in headers
    yield "symbols are bound at start", re.search(r"FLAGS.*(BIND_NOW|NOW)", headers) is not None
    yield "the stack is not executable", stack is not None and "RWE" not in stack.group()
    yield "nothing is writable and executable", bool(segments) and "RWE" not in segments
    yield "no library path is built in", "RPATH" not in headers and "RUNPATH" not in headers


def pe(program, objdump):
    headers = output(objdump, "-p", program)
    dlls = {name.lower().removesuffix(".dll") for name in re.findall(r"DLL Name: (\S+)", headers)}
    yield "it may be loaded anywhere", "DYNAMIC_BASE" in headers
    yield "in all of the address space", "HIGH_ENTROPY_VA" in headers
    yield "data is not executable", "NX_COMPAT" in headers
    yield (f"it needs only Windows' own libraries ({' '.join(sorted(dlls))})",
           bool(dlls) and dlls <= SYSTEM_DLLS)
    stamp = re.search(r"^Time/Date\s+(.*)$", headers, re.M)
    yield "it carries no build time", stamp is not None and "1970" in stamp.group(1)


def main():
    kind, wanted, program, *objdump = sys.argv[1:]
    checks = list({"elf": elf, "pe": pe}[kind](program, *(objdump or [""])))
    failed = 0
    print(f"1..{len(checks)}")
    for number, (promise, held) in enumerate(checks, 1):
        good = held == (wanted == "hardened")
        print(f"{'ok' if good else 'not ok'} {number} - "
              + (promise if wanted == "hardened" else f"refused where not: {promise}"))
        failed += not good
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
