"""toml-decode in its batch mode, and values in one comparable form.

The form: str, int and bool stay; a float is ("float", its 8 bytes) so that -0.0 and 0.0 differ and
nan equals nan; a date or time is (kind, fields...) with nanoseconds and the offset in minutes (None
for a local one); arrays are lists, tables are dicts."""
import datetime
import json
import re
import struct
import subprocess

DATETIME = re.compile(
    r"(?:(\d{4})-(\d\d)-(\d\d))?[Tt ]?(?:(\d\d):(\d\d):(\d\d)(?:\.(\d+))?)?([Zz]|[+-]\d\d:\d\d)?$"
)


class Invalid(str):
    """The message toml-decode gave for a document it refused."""


def decode_all(command, documents):
    """The answers of one process to many documents, each in the form above or Invalid."""
    text = b"".join(struct.pack("<I", len(d)) + d for d in documents)
    done = subprocess.run(command + ["--batch"], input=text, stdout=subprocess.PIPE, check=False)
    answers, at = [], 0
    while at < len(done.stdout):
        bad, size = struct.unpack_from("<BI", done.stdout, at)
        body = done.stdout[at + 5 : at + 5 + size].decode("utf-8")
        answers.append(Invalid(body) if bad else from_tagged(json.loads(body)))
        at += 5 + size
    if done.returncode != 0 or len(answers) != len(documents):
        raise RuntimeError(
            f"toml-decode ended with status {done.returncode} after {len(answers)} of "
            f"{len(documents)} documents; the next one is "
            f"{documents[min(len(answers), len(documents) - 1)]!r}"
        )
    return answers


def float_form(number):
    return ("float", b"nan" if number != number else struct.pack("<d", number))


def datetime_form(kind, text):
    match = DATETIME.match(text)
    if match is None:
        raise ValueError(f"not a date or time: {text!r}")
    fields = [int(f) if f is not None else None for f in match.groups()[:6]]
    nanoseconds = int((match[7] or "0")[:9].ljust(9, "0"))
    offset = None
    if match[8] in ("Z", "z"):
        offset = 0
    elif match[8]:
        sign = -1 if match[8][0] == "-" else 1
        offset = sign * (int(match[8][1:3]) * 60 + int(match[8][4:6]))
    return (kind, *fields, nanoseconds, offset)


def from_tagged(node):
    """From the tagged JSON of the corpus or of toml-decode."""
    if isinstance(node, list):
        return [from_tagged(item) for item in node]
    if not isinstance(node.get("type"), str):
        return {key: from_tagged(value) for key, value in node.items()}
    kind, text = node["type"], node["value"]
    if kind == "array":  # as older corpora write it
        return [from_tagged(item) for item in text]
    if kind == "string":
        return text
    if kind == "integer":
        return int(text)
    if kind == "bool":
        return {"true": True, "false": False}[text]
    if kind == "float":
        return float_form(float(text))
    return datetime_form(kind, text)


def from_python(value):
    """From what tomllib returns."""
    if isinstance(value, dict):
        return {key: from_python(item) for key, item in value.items()}
    if isinstance(value, list):
        return [from_python(item) for item in value]
    if isinstance(value, float):
        return float_form(value)
    if isinstance(value, datetime.datetime):
        kind = "datetime-local" if value.tzinfo is None else "datetime"
        return datetime_form(kind, value.isoformat())
    if isinstance(value, datetime.date):
        return datetime_form("date-local", value.isoformat())
    if isinstance(value, datetime.time):
        return datetime_form("time-local", value.isoformat())
    return value


def same(a, b, zeros=False):
    """Equality that tells True from 1; -0.0 is 0.0 with `zeros`."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k], zeros) for k in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(same(x, y, zeros) for x, y in zip(a, b))
    zero, minus_zero = float_form(0.0), float_form(-0.0)
    return a == b or (zeros and {a, b} == {zero, minus_zero})
