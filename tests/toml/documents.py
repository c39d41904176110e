"""Documents for the differential test: mostly valid TOML from a grammar that likes corner cases,
then mutations by bytes, by lines and by tokens."""
import string

BARE = string.ascii_letters + string.digits + "_-"
KEYS = ["a", "b", "c", "d", "1", "-", "a-b", '"a"', "'a'", '"b"', '""', "''", '"a.b"', '"\\u0061"',
        "'é'", '"\\n"', '"\\u0000"', "inf", "true", "1979-05-27"]
TEXTS = ["", "a", "é", "日本", "\U0001f600", "a b", "#", "=", "[x]", "\t", "C:", "'", '"', "''", '""']
ESCAPES = ["\\b", "\\t", "\\n", "\\f", "\\r", '\\"', "\\\\", "\\u00e9", "\\U0001F600", "\\u0000",
           "\\uFFFF", "\\U0010FFFF"]
BAD_ESCAPES = ["\\e", "\\x41", "\\u12", "\\uD800", "\\U00110000", "\\ ", "\\a", "\\/"]
INTEGERS = ["0", "+0", "-0", "1", "-17", "1_000", "1_2_3", "9223372036854775807",
            "-9223372036854775808", "0xDEADBEEF", "0xdead_beef", "0o755", "0b1101", "0x0", "0b0",
            "0x7fffffffffffffff", "0o00", "0x00f"]
BAD_INTEGERS = ["01", "+01", "1__0", "_1", "1_", "9223372036854775808", "-9223372036854775809", "0x",
                "0X1", "+0x1", "-0b1", "0o8", "0b2", "0xg", "0x_1", "0x1_", "++1", "+-1", "1-", "00",
                "0_0", "0xffffffffffffffff", "1e", "1a", "\u0661", "1 2"]
FLOATS = ["0.0", "-0.0", "+1.5", "1e5", "1E+5", "1e-05", "6.626e-34", "1_0.2_5e1_0", "3.14159",
          "5e+22", "1e308", "1.7976931348623157e308", "1e309", "4.9e-324", "2e-324", "1e-400", "0e99",
          "0.1", "123456789012345678.5", "9007199254740993.0", "2.2250738585072011e-308",
          "1.00000000000000011102230246251565404236316680908203125", "inf", "-inf", "+inf", "nan",
          "-nan", "+nan"]
BAD_FLOATS = [".5", "1.", "1.e5", "1._5", "1_.5", "1.5_", "1e_5", "1e5_", "1e5.5", "01.5", "1.5.5",
              "Inf", "NaN", "infinity", "+ inf", "- 1.5", "1e+-5", "1,5"]
DATES = ["1979-05-27T07:32:00Z", "1979-05-27t07:32:00z", "1979-05-27 07:32:00+01:30",
         "1979-05-27T00:32:00.999999-07:00", "1979-05-27T07:32:00", "1979-05-27 07:32:00.5",
         "1979-05-27", "07:32:00", "00:32:00.999999", "2000-02-29", "2024-02-29", "0001-01-01",
         "9999-12-31T23:59:59.999999999-23:59", "1979-05-27T07:32:00.1234567891234Z"]
BAD_DATES = ["1979-5-27", "1979-02-30", "1900-02-29", "2023-02-29", "1979-13-01", "1979-00-01",
             "1979-01-00", "07:32", "7:32:00", "24:00:00", "07:60:00", "07:32:60", "07:32:00.",
             "1979-05-27T", "1979-05-27T07:32", "1979-05-27T07:32:00+1:00", "0000-01-01",
             "1979-05-27T07:32:00+24:00", "1979-05-27T07:32:00Zz", "1979-05-27  07:32:00",
             "07:32:00Z", "1979-05-27Z", "19790527", "1979-05-27T07:32:00+0100", "979-05-27"]
TOKENS = [b"=", b".", b",", b"[", b"]", b"[[", b"]]", b"{", b"}", b"#", b"\n", b"\r\n", b"\r", b" ",
          b"\t", b'"', b"'", b'"""', b"'''", b"\\", b"\\\n", b"_", b"-", b"+", b"e", b"0", b"0x",
          b"1979-05-27", b"T", b":", b"\x00", b"\x7f", b"\x1f", b"\xff", b"\xc3", b"\xed\xa0\x80",
          b"\xc0\x80", b"\xf4\x90\x80\x80", b"\xef\xbb\xbf", b"\xc3\xa9", b"\xe2\x80\xa8", b"true",
          b"inf", b"nan", b"a", b"b", b"a.b", b"\n[a]\n", b"\n[[a]]\n", b"\na.b=1\n", b"{a.b=1}"]
COMMENTS = ["", "", "", " # c", "\t# é = 1", " #"]


class Documents:
    """An endless sequence that `random` alone decides."""

    def __init__(self, random):
        self.random = random
        self.kept = [b""]  # recent ones, to splice from

    def next(self):
        pick = self.random.random()
        if pick < 0.05:
            document = self.large_document()
        elif pick < 0.2:
            document = self.rules_document()
        elif pick < 0.55:
            document = self.document()
        elif pick < 0.95:
            old = self.random.choice(self.kept)
            document = self.mutated(self.document() if pick < 0.8 else old)
        else:
            document = self.mutated(self.spliced())
        if len(self.kept) < 64:
            self.kept.append(document[:400])
        else:
            self.kept[self.random.randrange(64)] = document[:400]
        return document

    # ---- grammar

    def rarely(self, good, bad):
        return self.random.choice(bad if self.random.random() < 0.08 else good)

    def space(self):
        return self.random.choice(["", "", " ", " ", "\t", "  "])

    def blank(self):
        return self.random.choice(["", "", " ", "\n", "\n\n ", " # c ]\n", "\r\n", "#\n"])

    def key_part(self):
        if self.random.random() < 0.8:
            return self.random.choice(KEYS[:4])
        if self.random.random() < 0.5:
            return self.random.choice(KEYS)
        if self.random.random() < 0.1:
            return self.random.choice(["é", "", "a b", "'''a'''", '"""a"""', '"\\e"', '"a\nb"'])
        return "".join(self.random.choices(BARE, k=self.random.randint(1, 5)))

    def key(self):
        parts = [self.key_part() for _ in range(self.random.choice([1, 1, 1, 2, 2, 3]))]
        return (self.space() + "." + self.space()).join(parts)

    def pieces(self, pieces, bad, counts):
        return "".join(self.rarely(pieces, bad) for _ in range(self.random.choice(counts)))

    def basic(self, lines):
        pieces = TEXTS[:13] + ESCAPES
        if lines:
            pieces = pieces + ["\n", "\r\n", "\\\n  ", "\\  \r\n\t\n ", '"', '""']
        body = self.pieces(pieces, BAD_ESCAPES, [0, 1, 2, 3, 6])
        if lines:
            end = self.random.choice(['"""', '"""', '""""', '"""""'])
            return '"""' + self.random.choice(["", "\n", "\r\n"]) + body + end
        return f'"{body}"'

    def literal(self, lines):
        pieces = [text for text in TEXTS if "'" not in text] + ["\\", "\\n"]
        if lines:
            pieces += ["\n", "\r\n", "'", "''"]
        body = self.pieces(pieces, ["\x7f", "\r", "'"], [0, 1, 2, 4])
        if lines:
            end = self.random.choice(["'''", "'''", "''''", "'''''"])
            return "'''" + self.random.choice(["", "\n"]) + body + end
        return f"'{body}'"

    def number(self):
        digits, fraction = (
            "".join(self.random.choices("0123456789", k=self.random.randint(1, 22))) for _ in "ab"
        )
        digits = digits.lstrip("0") or "0"
        if self.random.random() < 0.3:
            return self.random.choice(["", "-", "+"]) + digits
        exponent = self.random.choice(["", f"e{self.random.randint(-345, 310)}"])
        return self.random.choice(["", "-"]) + digits + "." + fraction + exponent

    def value(self, depth):
        pick = self.random.randrange(20)
        if pick < 3:
            return self.basic(False)
        if pick < 5:
            return self.literal(False)
        if pick < 7:
            return self.basic(True)
        if pick < 8:
            return self.literal(True)
        if pick < 10:
            return self.rarely(INTEGERS, BAD_INTEGERS)
        if pick < 11:
            return self.rarely(FLOATS, BAD_FLOATS)
        if pick < 12:
            return self.number()
        if pick < 13:
            return self.rarely(["true", "false"], ["True", "FALSE", "yes", "null", "truefalse"])
        if pick < 15:
            return self.rarely(DATES, BAD_DATES)
        if depth > 4:
            return "0"
        return self.array(depth + 1) if pick < 18 else self.inline_table(depth + 1)

    def array(self, depth):
        items = [self.value(depth) for _ in range(self.random.choice([0, 1, 2, 3]))]
        body = "".join(self.blank() + item + self.blank() + "," for item in items)
        if items and self.random.random() < 0.7:
            body = body[:-1]
        if self.random.random() < 0.01:
            body += ","
        return "[" + body + self.blank() + "]"

    def inline_table(self, depth):
        pairs = [
            self.key() + self.space() + "=" + self.space() + self.value(depth)
            for _ in range(self.random.choice([0, 1, 1, 2, 3]))
        ]
        body = (self.space() + "," + self.space()).join(pairs)
        if self.random.random() < 0.02:
            body += self.random.choice([",", "\n", "#c\n", ", ,"])
        return "{" + self.space() + body + self.space() + "}"

    def line(self):
        pick = self.random.random()
        if pick < 0.1:
            return self.random.choice(COMMENTS).strip()
        if pick < 0.25:
            return f"[{self.space()}{self.key()}{self.space()}]" + self.random.choice(COMMENTS)
        if pick < 0.37:
            return f"[[{self.space()}{self.key()}{self.space()}]]" + self.random.choice(COMMENTS)
        equals = self.space() + "=" + self.space()
        return self.space() + self.key() + equals + self.value(0) + self.random.choice(COMMENTS)

    def document(self):
        count = self.random.choice([1, 1, 2, 3, 4, 6])
        if self.random.random() < 0.02:
            count = 30
        end = self.random.choice(["\n", "\n", "\n", "\r\n"])
        text = end.join(self.line() for _ in range(count)) + self.random.choice(["", end])
        if self.random.random() < 0.01:
            text = "\ufeff" + text
        return text.encode("utf-8")

    def rules_document(self):
        """Little but definitions over few names: what may be defined where."""
        lines = []
        for _ in range(self.random.choice([2, 3, 3, 4, 5])):
            key = ".".join(self.random.choices("abc", k=self.random.choice([1, 1, 2, 2, 3])))
            form = self.random.choice(
                ["[{}]", "[{}]", "[[{}]]", "{} = 1", "{} = 1", "{} = {{}}", "{} = [{{}}]",
                 "{} = {{b.c = 1}}", "{} = {{b.c = 1, b.a = 1}}"]
            )
            lines.append(form.format(key))
        return "\n".join(lines).encode("utf-8")

    def large_document(self):
        """Tables with many members, which the reader indexes, and sections in any order."""
        names = [f"k{n}" for n in range(60)] + [f"long-name-{n:04}" for n in range(0, 900, 30)]
        self.random.shuffle(names)
        lines = []
        for name in names[: self.random.choice([8, 9, 10, 20, 80])]:
            pick = self.random.random()
            place = self.random.choice(["", "", "a.", "b.c."])
            if pick < 0.15:
                lines.append(f"[{place}{name}]")
            elif pick < 0.25:
                lines.append(f"[[{self.random.choice(['t', 'a.t', name])}]]")
            elif pick < 0.3:
                lines.append(f"{name}.x = 1")
            else:
                lines.append(f"{name} = {self.random.choice(['1', 'true', '[]', '{x = 1}'])}")
        if self.random.random() < 0.3:
            lines.insert(self.random.randint(0, len(lines)), self.random.choice(lines))
        return "\n".join(lines).encode("utf-8")

    # ---- mutations

    def mutated(self, document):
        for _ in range(self.random.choice([1, 1, 1, 2, 4])):
            document = self.random.choice(MUTATIONS)(self, document)
        return document

    def cut_points(self, document):
        return sorted(self.random.randint(0, len(document)) for _ in range(2))

    def delete(self, document):
        low, high = self.cut_points(document)
        high = min(high, low + self.random.choice([1, 1, 2, 8, 64]))
        return document[:low] + document[high:]

    def insert(self, document):
        at = self.random.randint(0, len(document))
        return document[:at] + self.random.choice(TOKENS) + document[at:]

    def replace(self, document):
        at = self.random.randint(0, len(document))
        return document[:at] + self.random.choice(TOKENS) + document[at + 1 :]

    def flip(self, document):
        if not document:
            return document
        at = self.random.randrange(len(document))
        return document[:at] + bytes([self.random.randrange(256)]) + document[at + 1 :]

    def truncate(self, document):
        return document[: self.random.randint(0, len(document))]

    def repeat(self, document):
        low, high = self.cut_points(document)
        piece = document[low : min(high, low + 32)]
        return document[:high] + piece * self.random.choice([1, 1, 2, 70]) + document[high:]

    def mix_lines(self, document):
        lines = document.split(b"\n")
        self.random.shuffle(lines)
        return b"\n".join(lines)

    def double_line(self, document):
        lines = document.split(b"\n")
        lines.insert(self.random.randint(0, len(lines)), self.random.choice(lines))
        return b"\n".join(lines)

    def spliced(self):
        return self.truncate(self.random.choice(self.kept)) + self.truncate(
            self.random.choice(self.kept)[::-1]
        )[::-1]


MUTATIONS = [
    Documents.delete,
    Documents.insert,
    Documents.replace,
    Documents.flip,
    Documents.truncate,
    Documents.repeat,
    Documents.mix_lines,
    Documents.double_line,
]
