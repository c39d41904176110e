"""Reads Mach-O files without a Mac: processors, oldest system, and the ad-hoc signature that a program needs to start on arm64.

usage: signature.py FILE…            every page of every part has the hash its signature says
       signature.py --control FILE   the same with one byte changed must fail"""

import hashlib
import struct
import sys

FAT, THIN = 0xCAFEBABE, 0xFEEDFACF
CPUS = {0x0100000C: "arm64", 0x01000007: "x86_64"}
LC_CODE_SIGNATURE, LC_BUILD_VERSION = 0x1D, 0x32
EMBEDDED, DIRECTORY = 0xFADE0CC0, 0xFADE0C02
ADHOC, SHA256 = 2, 2
OLDEST = 13


class Bad(Exception):
    """What is wrong with a file."""


def parts(data):
    """The thin files of a universal one."""
    if struct.unpack_from(">I", data)[0] != FAT:
        raise Bad("it is not universal")
    for number in range(struct.unpack_from(">I", data, 4)[0]):
        _, _, offset, size, _ = struct.unpack_from(">iiIII", data, 8 + 20 * number)
        yield data[offset:offset + size]


def commands(data):
    magic, cpu, _, _, count = struct.unpack_from("<IiiII", data)
    if magic != THIN or cpu not in CPUS:
        raise Bad("a part is no 64-bit program of a processor that we mean")
    found, at = {}, 32
    for _ in range(count):
        command, size = struct.unpack_from("<II", data, at)
        found[command] = at
        at += size
    return CPUS[cpu], found


def check_directory(data, blob, at):
    (_, _, _, flags, hashes, _, _, pages, limit, width, kind, _, shift) = struct.unpack_from(">IIIIIIIIIBBBB", blob, at)
    if not flags & ADHOC or kind != SHA256:
        raise Bad("the signature is of another kind")
    for page in range(pages):
        want = blob[at + hashes + page * width:at + hashes + (page + 1) * width]
        got = hashlib.sha256(data[page << shift:min((page + 1) << shift, limit)]).digest()[:width]
        if got != want:
            raise Bad(f"page {page} is not what was signed")
    return pages


def check_thin(data):
    cpu, found = commands(data)
    oldest = struct.unpack_from("<I", data, found[LC_BUILD_VERSION] + 12)[0] >> 16 if LC_BUILD_VERSION in found else 0
    if oldest != OLDEST:
        raise Bad(f"{cpu}: its oldest system is {oldest}")
    if LC_CODE_SIGNATURE not in found:
        if cpu == "arm64":
            raise Bad("arm64: it is not signed")
        return f"{cpu}, macOS {oldest}, not signed (which x86_64 need not be)"
    offset, size = struct.unpack_from("<II", data, found[LC_CODE_SIGNATURE] + 8)
    blob = data[offset:offset + size]
    magic, _, count = struct.unpack_from(">III", blob)
    if magic != EMBEDDED:
        raise Bad(f"{cpu}: what is there is no signature")
    pages = 0
    for number in range(count):
        _, at = struct.unpack_from(">II", blob, 12 + 8 * number)
        if struct.unpack_from(">I", blob, at)[0] == DIRECTORY:
            pages += check_directory(data, blob, at)
    if not pages:
        raise Bad(f"{cpu}: the signature covers nothing")
    return f"{cpu}, macOS {oldest}, {pages} pages signed"


def check(data):
    lines = [check_thin(part) for part in parts(data)]
    if len(lines) != 2:
        raise Bad(f"{len(lines)} processors")
    return lines


def main():
    control = sys.argv[1] == "--control"
    try:
        for name in sys.argv[1 + control:]:
            data = bytearray(open(name, "rb").read())
            if control:
                for part in range(struct.unpack_from(">I", data, 4)[0]):  # in the middle of each part
                    _, _, offset, size, _ = struct.unpack_from(">iiIII", data, 8 + 20 * part)
                    data[offset + size // 4] ^= 1
            for line in check(bytes(data)):
                print(f"{name}: {line}")
    except Bad as problem:
        print(f"{problem}")
        sys.exit(0 if control else 1)
    sys.exit(1 if control else 0)


if __name__ == "__main__":
    main()
