"""Evaluates Seatbelt profiles (SBPL) without a Mac, for tests.

It is a model, not Apple's evaluator. It reads the part of the language that posix/macos_sbpl.c writes; an operation, a
filter or a form that it does not know is an error, as it is for libsandbox. What Apple does not document, and public accounts
disagree about, is a reading; a question is answered under every combination of them, and an answer counts only when all agree:

  order       tree: rules of the operation itself, then of the wildcard above it, and so on; flat: the newest rule of
              the file that covers the operation
  unfiltered  else: a rule without a filter counts only when no filtered one matches; same: like any other
  subpath     self: (subpath X) matches X; below: only what is below
  case        exact: literal and subpath compare bytes; folded: as the volume does
  terminal    own: some operations have a default of their own, which (deny default) does not reach; default: they fall back

tests/macos/oracle asks the kernel of a real Mac the same questions."""

import functools
import itertools
import re
import unicodedata

# operation: what it falls back to; names and fall-backs as published for macOS 10.15, used names seen in profiles for 13 to 26
PARENTS = {
    "default": None,
    "file*": "default", "file-read*": "file*", "file-read-data": "file-read*", "file-read-metadata": "file-read*",
    "file-read-xattr": "file-read*", "file-write*": "file*", "file-write-acl": "file-write*",
    "file-write-create": "file-write*", "file-write-data": "file-write*", "file-write-flags": "file-write*",
    "file-write-mode": "file-write*", "file-write-owner": "file-write*", "file-write-times": "file-write*",
    "file-write-unlink": "file-write*", "file-write-xattr": "file-write*", "file-ioctl": "file*", "file-mknod": "file*",
    "file-mount": "file*", "file-unmount": "file*", "file-chroot": "file*", "file-issue-extension": "file*",
    "file-clone": "file*", "file-link": "file*", "file-map-executable": "file*", "file-test-existence": "file*",
    "file-write-setugid": "file-write*",
    "process*": "default", "process-fork": "process*", "process-exec*": "process*",
    "process-exec-interpreter": "process-exec*", "process-info*": "process*", "process-info-pidinfo": "process-info*",
    "process-info-pidfdinfo": "process-info*", "process-info-listpids": "process-info*", "signal": "default",
    "network*": "default", "network-outbound": "network*", "network-inbound": "network*", "network-bind": "network*",
    "system*": "default", "system-socket": "system*", "system-privilege": "system*", "system-fsctl": "system*",
    "sysctl*": "default", "sysctl-read": "sysctl*", "sysctl-write": "sysctl*",
    "mach*": "default", "mach-lookup": "mach*", "mach-register": "mach*", "mach-priv-task-port": "mach*",
    "mach-priv-host-port": "mach*", "mach-issue-extension": "mach*", "mach-task-name": "mach*",
    "ipc*": "default", "ipc-posix*": "ipc*", "ipc-posix-sem*": "ipc-posix*", "ipc-posix-sem-create": "ipc-posix-sem*",
    "ipc-posix-sem-open": "ipc-posix-sem*", "ipc-posix-shm*": "ipc-posix*", "ipc-posix-shm-read-data": "ipc-posix-shm*",
    "ipc-posix-shm-write-create": "ipc-posix-shm*", "ipc-sysv*": "ipc*", "ipc-sysv-shm": "ipc-sysv*",
    "ipc-sysv-msg": "ipc-sysv*", "ipc-sysv-sem": "ipc-sysv*",
    "iokit*": "default", "iokit-open": "iokit*", "iokit-set-properties": "iokit*", "pseudo-tty": "default",
    "lsopen": "default", "appleevent-send": "default", "job-creation": "default", "nvram*": "default",
    "user-preference-read": "default", "user-preference-write": "default", "load-unsigned-code": "default",
    "authorization-right-obtain": "default", "device*": "default", "device-camera": "device*",
    "distributed-notification-post": "default", "fs-snapshot-create": "default",
}
# Those that end in a default of their own under one account.
TERMINAL = {"file-clone": "allow", "file-link": "allow", "file-map-executable": "allow", "file-test-existence": "allow",
            "process-info*": "allow", "nvram*": "allow", "system-privilege": "allow", "file-write-setugid": "deny",
            "job-creation": "deny"}
AXES = (("tree", "flat"), ("else", "same"), ("self", "below"), ("exact", "folded"), ("own", "default"))
READINGS = tuple(itertools.product(*AXES))
ALIASES = (("/tmp", "/private/tmp"), ("/var", "/private/var"), ("/etc", "/private/etc"))
FIRMLINKS = ("Applications", "Library", "Users", "Volumes", "cores", "opt", "private", "usr/local")
STRING_MAX = 1024
RULE_MAX = 64 << 10


class Bad(Exception):
    """A profile that libsandbox would refuse, or that is more than is read here."""


# ---- reading ----

class Word(str):
    """A symbol, as opposed to a string."""


TOKEN = re.compile(r'\s+|;[^\n]*\n|([()])|"((?:[^"\\]|\\.)*)"|([^\s()";]+)', re.S)


def parse(text):
    """The top-level forms, as nested lists of words and strings."""
    if any(not (32 <= ord(char) < 127 or char == "\n") for char in text):
        raise Bad("the text is not plain ASCII")
    stack, at = [[]], 0
    while at < len(text):
        match = TOKEN.match(text, at)
        if match is None:
            raise Bad(f"a string that does not end, at {at}")
        at = match.end()
        bracket, string, word = match.groups()
        if bracket == "(":
            stack.append([])
        elif bracket == ")":
            if len(stack) == 1:
                raise Bad("a bracket too many")
            form = stack.pop()
            stack[-1].append(form)
        elif string is not None:
            if len(string) > STRING_MAX:
                raise Bad("a string that is too long")
            stack[-1].append(re.sub(r"\\(.)", r"\1", string))
        elif word is not None:
            stack[-1].append(Word(word))
    if len(stack) != 1:
        raise Bad("a bracket too few")
    return stack[0]


# ---- filters: functions of a question and a reading ----

@functools.lru_cache(None)
def folded(text):
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", text).casefold())


def under(path, root, reading):
    if reading[3] == "folded":
        path, root = folded(path), folded(root)
    if path == root:
        return reading[2] == "self"
    return root == "/" or path.startswith(root + "/")


def on_bytes(pattern):
    """Seatbelt compares bytes; what it says of characters outside of ASCII must hold byte by byte."""
    return re.compile(pattern.encode("utf-8", "surrogateescape"))


class Filter:
    """`form` is what it was read from; `match(question, reading)`."""

    def __init__(self, form, match, parts=()):
        self.form, self.match, self.parts = form, match, parts


def path_filter(form, test):
    value = form[1]
    if not value.startswith("/") or (len(value) > 1 and value.endswith("/")) or re.search(r"//|/\.\.?(/|$)", value):
        raise Bad(f"{value!r} is no clean path")
    return Filter(form, lambda q, r: "path" in q and test(q["path"], value, r))


def literal(path, value, reading):
    return folded(path) == folded(value) if reading[3] == "folded" else path == value


def value_filter(form, key, test):
    return Filter(form, lambda q, _: key in q and test(q[key], form[1]))


def regex_filter(form, key):
    compiled = on_bytes(form[1])
    found = functools.lru_cache(None)(
        lambda value: compiled.search(value.encode("utf-8", "surrogateescape")) is not None)
    return Filter(form, lambda q, _: key in q and found(q[key]))


def address_filter(form, side):
    host, _, port = form[2].rpartition(":")
    if form[1] != "ip" or host not in ("*", "localhost") or not (port == "*" or port.isdigit()):
        raise Bad(f"the address {form[1:]}")

    def match(q, _):
        if side not in q:
            return False
        address, number = q[side]
        return (host == "*" or address in ("127.0.0.1", "::1")) and port in ("*", str(number))
    return Filter(form, match)


def combine(form, parts):
    if form[0] == "require-all":
        return Filter(form, lambda q, r: all(part.match(q, r) for part in parts), parts)
    if form[0] == "require-any":
        return Filter(form, lambda q, r: any(part.match(q, r) for part in parts), parts)
    if len(parts) != 1:
        raise Bad("require-not takes one filter")
    return Filter(form, lambda q, r: not parts[0].match(q, r), parts)


MAKERS = {
    "literal": lambda f: path_filter(f, literal),
    "subpath": lambda f: path_filter(f, under),
    "regex": lambda f: regex_filter(f, "path"),
    "global-name": lambda f: value_filter(f, "service", lambda got, want: got == want),
    "sysctl-name": lambda f: value_filter(f, "sysctl", lambda got, want: got == want),
    "sysctl-name-prefix": lambda f: value_filter(f, "sysctl", lambda got, want: got.startswith(want)),
    "ipc-posix-name-regex": lambda f: regex_filter(f, "ipc"),
    "target": lambda f: value_filter(f, "target", lambda got, want: got == want),
    "vnode-type": lambda f: value_filter(f, "type", lambda got, want: got == want),
    "socket-domain": lambda f: value_filter(f, "domain", lambda got, want: got == want),
    "extension": lambda f: value_filter(f, "extensions", lambda got, want: want in got),
    "ioctl-command": lambda f: value_filter(f, "ioctl", lambda got, want: got == int(want[2:], 16)),
    "remote": lambda f: address_filter(f, "remote"),
    "local": lambda f: address_filter(f, "local"),
}


def make_filter(form, parameters):
    if not isinstance(form, list) or not form or not isinstance(form[0], Word):
        raise Bad(f"{form!r} is no filter")
    if form[0] in ("require-all", "require-any", "require-not"):
        if len(form) == 1:
            raise Bad(f"an empty {form[0]}")
        return combine(form, [make_filter(part, parameters) for part in form[1:]])
    if form[0] not in MAKERS:
        raise Bad(f"the filter {form[0]}")
    given = []
    for value in form:
        if isinstance(value, list):
            if len(value) != 2 or value[0] != "param" or value[1] not in parameters:
                raise Bad(f"the value {value!r}")
            value = parameters[value[1]]
        given.append(value)
    return MAKERS[form[0]](given)


# ---- profiles ----

class Rule:
    def __init__(self, action, operations, filters):
        self.action, self.operations, self.filters = action, operations, filters

    def matches(self, question, reading):
        return not self.filters or any(part.match(question, reading) for part in self.filters)


@functools.lru_cache(None)
def chain(operation):
    """The operation, what it falls back to, and so on."""
    if operation not in PARENTS:
        raise Bad(f"the operation {operation}")
    found = [operation]
    while PARENTS[found[-1]]:
        found.append(PARENTS[found[-1]])
    return tuple(found)


def reach(operation, reading):
    """(operations that decide in this reading, what holds when none does)"""
    links = chain(operation)
    if reading[4] == "own":
        for number, link in enumerate(links):
            if link in TERMINAL:
                return links[:number + 1], TERMINAL[link]
    return links, "deny"


def make_rule(form, parameters):
    operations, filters = [], []
    for part in form[1:]:
        if isinstance(part, Word):
            chain(str(part))
            operations.append(str(part))
        elif isinstance(part, list) and part and part[0] == "with":
            if [str(word) for word in part[:2]] != ["with", "message"]:
                raise Bad(f"the modifier {part!r}")
        else:
            filters.append(make_filter(part, parameters))
    if not operations:
        raise Bad("a rule without an operation")
    return Rule(str(form[0]), operations, filters)


def read(text, parameters):
    """The rules of a profile. `parameters` are the values of P0, P1 …"""
    values = {f"P{number}": value for number, value in enumerate(parameters)}
    forms = parse(text)
    if not forms or forms[0] != ["version", "1"]:
        raise Bad("it does not begin with its version")
    for part in re.split(r"\n(?=\()", text):
        if len(part) > RULE_MAX:
            raise Bad("a rule that is too long")
    rules = []
    for form in forms[1:]:
        if not isinstance(form, list) or form[0] not in ("allow", "deny"):
            raise Bad(f"the form {form!r}")
        rules.append(make_rule(form, values))
    return rules


def decide(matching, operation, reading):
    """`matching`: the rules that match the question in this reading, in the order of the file."""
    links, fallback = reach(operation, reading)

    def newest(names):
        found = [rule for rule in matching if any(name in rule.operations for name in names)]
        if reading[1] == "else":
            found = [rule for rule in found if rule.filters] or found
        return found[-1] if found else None

    if reading[0] == "flat":
        rule = newest(links)
        return rule.action if rule else fallback
    for name in links:
        rule = newest((name,))
        if rule:
            return rule.action
    return fallback


# ---- questions ----

def canonical(path, links=()):
    """The name the kernel has for a file."""
    for _ in range(8):
        before = path
        for source, target in (*links, *ALIASES):
            if path == source or path.startswith(source + "/"):
                path = target + path[len(source):]
        for name in FIRMLINKS:
            prefix = f"/System/Volumes/Data/{name}"
            if path == prefix or path.startswith(prefix + "/"):
                path = "/" + name + path[len(prefix):]
        if path == before:
            return path
    raise Bad(f"{path} does not end")


def answers(rules, parts, readings=READINGS):
    """{reading: verdict} of a call that needs all of `parts`, (operation, question) each."""
    found = {}
    for reading in readings:
        verdicts = [decide([rule for rule in rules if rule.matches(question, reading)], operation, reading)
                    for operation, question in parts]
        found[reading] = "allow" if all(verdict == "allow" for verdict in verdicts) else "deny"
    return found
