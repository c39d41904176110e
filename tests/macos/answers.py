"""That the evaluator itself can be believed as far as it goes: behaviour of Seatbelt that others have reported in public, under
the reading that explains it; that readings differ where they should; and that it refuses what libsandbox would refuse.
usage: answers.py"""

import sys

import sbpl

# What one reading must explain, and the popular "the last rule that matches wins" does not.
BEST = ("tree", "else", "self", "exact", "own")
LAST = ("flat", "same", "self", "exact", "own")

FILE = {"type": "REGULAR-FILE"}

# (where it was reported, profile without its version, [(verdict, operation, question)])
REPORTED = [
    ("greywall#20: a wildcard deny does not beat an allow of the narrower operation",
     '(deny default)(allow file-read-data (subpath "/"))(deny file-read* (literal "/w/.env"))',
     [("allow", "file-read-data", {"path": "/w/.env"})]),
    ("greywall#20: the same operation does",
     '(deny default)(allow file-read-data (subpath "/"))(deny file-read-data (literal "/w/.env"))',
     [("deny", "file-read-data", {"path": "/w/.env"}), ("allow", "file-read-data", {"path": "/w/x"})]),
    ("mxc#754: allow, then deny of one path", '(deny default)(allow network-outbound (subpath "/w"))(deny network-outbound (subpath "/w"))',
     [("deny", "network-outbound", {"path": "/w/s"})]),
    ("mxc#754: deny, then allow of one path", '(deny default)(deny network-outbound (subpath "/w"))(allow network-outbound (subpath "/w"))',
     [("allow", "network-outbound", {"path": "/w/s"})]),
    ("mxc#754: a deeper allow", '(deny default)(deny network-outbound (subpath "/w"))(allow network-outbound (subpath "/w/d"))',
     [("allow", "network-outbound", {"path": "/w/d/s"}), ("deny", "network-outbound", {"path": "/w/s"})]),
    ("mxc#749: a later unfiltered allow does not undo a deny of a path",
     '(deny default)(deny network-outbound (subpath "/w/ro"))(allow network-outbound)',
     [("deny", "network-outbound", {"path": "/w/ro/s"}), ("allow", "network-outbound", {"path": "/x/s"})]),
    ("brew's sandbox.rb: filtered allows first, unfiltered denies after them, allow default last",
     '(allow file-write* (subpath "/opt/rack"))(allow file-write-mode (subpath "/opt/rack"))(deny file-write*)'
     "(deny file-write-mode)(allow default)",
     [("allow", "file-write-create", {"path": "/opt/rack/x"}), ("allow", "file-write-mode", {"path": "/opt/rack/x"}),
      ("allow", "file-read-data", {"path": "/x"}), ("deny", "file-write-create", {"path": "/usr/x"})]),
    ("brew's sandbox.rb: a mode must be allowed by name",
     '(allow file-write* (subpath "/opt/rack"))(deny file-write*)(deny file-write-mode)(allow default)',
     [("deny", "file-write-mode", {"path": "/opt/rack/x"}), ("allow", "file-write-create", {"path": "/opt/rack/x"})]),
    ("sandbox-runtime#171: a later allow of all writing does not lift a deny of removing",
     '(deny default)(deny file-write-unlink (subpath "/Users"))(allow file-write* (subpath "/Users/me"))',
     [("deny", "file-write-unlink", {"path": "/Users/me/a"}), ("allow", "file-write-create", {"path": "/Users/me/a"})]),
    ("agent-safehouse: metadata must be denied by name",
     '(deny default)(allow file-read-metadata (subpath "/r"))(deny file-read* (literal "/r/L"))',
     [("allow", "file-read-metadata", {"path": "/r/L"})]),
    ("sandbox-runtime: localhost is not the mapped address", '(deny default)(allow network-outbound (remote ip "localhost:80"))',
     [("allow", "network-outbound", {"remote": ("127.0.0.1", 80)}), ("allow", "network-outbound", {"remote": ("::1", 80)}),
      ("deny", "network-outbound", {"remote": ("::ffff:127.0.0.1", 80)}), ("deny", "network-outbound", {"remote": ("127.0.0.1", 81)})]),
    ("agent-sandbox.nix#82: a rule on an alias does nothing", '(deny default)(allow file-write* (subpath "/var/folders"))',
     [("deny", "file-write-create", {"path": sbpl.canonical("/var/folders/x")})]),
    ("cplt#321: a subpath of a plain file is that file", '(allow default)(deny file-read* (subpath "/w/.env"))',
     [("deny", "file-read-data", {"path": "/w/.env"}), ("allow", "file-read-data", {"path": "/w/.env2"})]),
    ("nono#970: a later, broader allow undoes a deny", '(deny default)(deny file-write* (subpath "/p"))(allow file-write* (subpath "/"))',
     [("allow", "file-write-create", {"path": "/p/x"})]),
]
# What the popular reading gets wrong, as counted by whoever collected these.
LAST_FAILS = 6

REFUSED = [
    ("an unknown operation", "(version 1)(allow file-fly)"),
    ("an unknown filter", '(version 1)(allow file-read* (near "/x"))'),
    ("a rule without an operation", '(version 1)(allow (literal "/x"))'),
    ("a bracket too few", '(version 1)(allow file-read* (literal "/x")'),
    ("a bracket too many", '(version 1)(allow file-read* (literal "/x")))'),
    ("a string that does not end", '(version 1)(allow file-read* (literal "/x))'),
    ("a path that is not absolute", '(version 1)(allow file-read* (literal "x"))'),
    ("a trailing slash", '(version 1)(allow file-read* (subpath "/x/"))'),
    ("two dots", '(version 1)(allow file-read* (subpath "/x/../y"))'),
    ("a string over 1024 bytes", f'(version 1)(allow file-read* (literal "/{"x" * 1100}"))'),
    ("bytes outside of ASCII", '(version 1)(allow file-read* (literal "/caf\u00e9"))'),
    ("a parameter that was not given", '(version 1)(allow file-read* (literal (param "P0")))'),
    ("a program inside", '(version 1)(define x 1)'),
    ("leaving the sandbox", '(version 1)(allow process-exec* (literal "/bin/ps") (with no-sandbox))'),
    ("an address with a name", '(version 1)(allow network-outbound (remote ip "example.org:80"))'),
    ("no version", "(deny default)"),
    ("an empty require-any", "(version 1)(allow file-read* (require-any))"),
]


def explained(reading, profile, asked):
    rules = sbpl.read("(version 1)" + profile, [])
    return all(sbpl.answers(rules, [(operation, {**FILE, **question})], [reading])[reading] == verdict
               for verdict, operation, question in asked)


def refuses(text):
    try:
        sbpl.read(text, [])
    except sbpl.Bad:
        return True
    return False


def main():
    cases = [(f"reported: {name}", lambda p=profile, a=asked: explained(BEST, p, a)) for name, profile, asked in REPORTED]
    cases.append(("the popular reading misses as many of them as was counted", lambda: sum(
        not explained(LAST, profile, asked) for _, profile, asked in REPORTED) == LAST_FAILS))
    cases += [(f"refused: {name}", lambda t=text: refuses(t)) for name, text in REFUSED]
    cases.append(("every reading is another one for some profile", lambda: all(
        any(len(set(sbpl.answers(sbpl.read("(version 1)" + text, []), [part], [
            tuple(value if number == axis else BEST[number] for number in range(len(BEST))) for value in sbpl.AXES[axis]
        ]).values())) > 1 for text, part in (
            ('(deny default)(allow file-read-data (subpath "/"))(deny file-read* (literal "/w"))', ("file-read-data", {"path": "/w"})),
            ('(deny file-write* (literal "/w"))(allow file-write*)', ("file-write-data", {"path": "/w"})),
            ('(deny default)(allow file-read* (subpath "/w"))', ("file-read-data", {"path": "/w"})),
            ('(deny default)(allow file-read* (subpath "/w"))', ("file-read-data", {"path": "/W/x"})),
            ("(deny default)", ("file-link", {"path": "/w"}))))
        for axis in range(len(sbpl.AXES)))))
    print(f"1..{len(cases)}")
    failed = 0
    for number, (promise, check) in enumerate(cases, 1):
        held = check()
        print(f"{'ok' if held else 'not ok'} {number} - {promise}")
        failed += not held
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
