"""The summary of a Windows Installer package, replaced in place. A package is a compound file ([MS-CFB]): sectors in chains, as in a FAT
file system; streams below 4096 bytes lie in small sectors of one big stream. The summary is a property set ([MS-OLEPS])."""

import struct

SUMMARY = "\x05SummaryInformation"
REVISION, CREATED, SAVED = 9, 12, 13  # [MS-OLEPS] 2.25: PIDSI_REVNUMBER is the package code
TEXT, TIME = 0x1e, 0x40
END = 0xfffffffa  # from here on no sector but a mark
UNIX_EPOCH = 11644473600  # in seconds since 1601


class Compound:
    def __init__(self, content):
        self.content = content
        if content[:8] != bytes.fromhex("d0cf11e0a1b11ae1"):
            raise ValueError("not a compound file")
        self.size = 1 << struct.unpack_from("<H", content, 30)[0]
        self.small = 1 << struct.unpack_from("<H", content, 32)[0]
        first_directory, = struct.unpack_from("<I", content, 48)
        self.cutoff, first_small_fat, _, first_more, _ = struct.unpack_from("<5I", content, 56)
        self.fat = self._fat(first_more)
        self.small_fat = self._numbers(self.chain(first_small_fat, self.fat))
        self.entries = {}
        for sector in self.chain(first_directory, self.fat):
            for offset in range(self.offset(sector), self.offset(sector) + self.size, 128):
                length, kind = struct.unpack_from("<HB", content, offset + 64)
                if kind:
                    name = content[offset:offset + max(length - 2, 0)].decode("utf-16-le")
                    self.entries["" if kind == 5 else name] = struct.unpack_from("<IQ", content, offset + 116)

    def offset(self, sector):
        return (sector + 1) * self.size

    def _numbers(self, sectors):
        return [number for sector in sectors
                for number in struct.unpack_from(f"<{self.size // 4}I", self.content, self.offset(sector))]

    def _fat(self, more):
        sectors = list(struct.unpack_from("<109I", self.content, 76))
        while more < END:
            *numbers, more = self._numbers([more])
            sectors += numbers
        return self._numbers(sector for sector in sectors if sector < END)

    @staticmethod
    def chain(sector, fat):
        while sector < END:
            yield sector
            sector = fat[sector]

    def places(self, name):
        """Where each byte of a stream is in the file."""
        first, length = self.entries[name]
        if length >= self.cutoff or name == "":
            starts, size = (self.offset(sector) for sector in self.chain(first, self.fat)), self.size
        else:
            holder = self.places("")
            starts, size = (holder[sector * self.small] for sector in self.chain(first, self.small_fat)), self.small
        return [start + i for start in starts for i in range(size)][:length]


def properties(stream):
    """id -> (type, where its value begins in the stream)"""
    section, = struct.unpack_from("<I", stream, 44)
    count, = struct.unpack_from("<I", stream, section + 4)
    found = {}
    for i in range(count):
        name, offset = struct.unpack_from("<II", stream, section + 8 + 8 * i)
        found[name] = (struct.unpack_from("<I", stream, section + offset)[0], section + offset + 4)
    return found


def stamped(content, epoch, package_code):
    """The same package with both times set to `epoch`, and with the package code that package_code() makes of the bytes that have none."""
    made, places = bytearray(content), Compound(content).places(SUMMARY)
    stream = bytes(content[place] for place in places)
    known = properties(stream)

    def put(name, kind, skip, value):
        if known[name][0] != kind:
            raise ValueError(f"property {name} of the summary has type {known[name][0]:#x}")
        for i, byte in enumerate(value):
            made[places[known[name][1] + skip + i]] = byte

    for name in (CREATED, SAVED):
        put(name, TIME, 0, struct.pack("<Q", (epoch + UNIX_EPOCH) * 10_000_000))
    length, = struct.unpack_from("<I", stream, known[REVISION][1])
    if length not in (38, 39):
        raise ValueError(f"the package code has {length} characters")
    put(REVISION, TEXT, 4, b"{00000000-0000-0000-0000-000000000000}")
    put(REVISION, TEXT, 4, f"{{{package_code(bytes(made))}}}".encode("ascii"))
    return bytes(made)
