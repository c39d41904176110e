"""sbx why: the rule that decides, and a line that really changes it."""

import shlex

from harness import POSIX, WINDOWS, main, native, promise, toml

STRICT = '[sandbox]\nprofile = "strict"\n'


def ask(t, *words, **options):
    done = t.run("why", "--json", *words, **options)
    report = t.json(done.out, done)
    t.equal(done.status, 0 if report.get("allowed") else 1, done)
    return report


def flags_of(report):
    """The suggested flag as words, as a shell would read it."""
    return report["flag"].replace('"', "").split(" ", 1) if WINDOWS else shlex.split(report["flag"])


def check_round_trip(t, *question, manifest=STRICT, suggests=None):
    """Denied; the suggestion, as a line of the manifest and as a flag, allows it; and run takes it."""
    path = t.manifest(manifest, "base.toml")
    report = ask(t, "-f", path, *question)
    if not t.equal(report.get("allowed"), False, question) or not t.true(report.get("change"), report):
        return
    if suggests:
        t.equal((report["change"], report["flag"]), suggests)
    key = report["change"].split(" = ")[0]
    kept = "".join(line + "\n" for line in manifest.splitlines() if not line.startswith(f"{key} ="))
    changed = t.manifest(kept + report["change"] + "\n", "changed.toml")
    t.equal(ask(t, "-f", changed, *question).get("allowed"), True, report["change"])
    t.equal(t.run("verify", changed).status, 0, report["change"])
    flags = flags_of(report)
    t.equal(ask(t, "-f", path, *flags, *question).get("allowed"), True, flags)
    done = t.run("run", "-f", path, *flags, "--", t.actor, "exit", 3, env=t.unboxed)
    t.equal(done.status, 3, done)


@promise("paths: denied, then allowed by the suggested line and by the suggested flag")
def _(t):
    for name in ("data", "with space", "quo'te", "dollar$HOME", "back`tick", "uml\u00e4ut", "semi;colon", "a=b",
                 "-dash", "#hash", "tab\u3000wide"):
        if WINDOWS and any(character in name for character in "`;"):
            continue
        place = t.directory / name
        place.mkdir()
        (place / "file").write_text("x")
        check_round_trip(t, "--path", native(place), "--op", "write")
    for target in (t.directory / "data", t.directory / "data/file"):
        for op in ("read", "write", "exec"):
            check_round_trip(t, "--path", native(target), "--op", op)


@promise("paths: what a manifest has already stays in the suggested line")
def _(t):
    first, second = t.directory / "first", t.directory / "second"
    first.mkdir()
    second.mkdir()
    base = STRICT + f"fs_read_allow = [{toml(native(first))}]\n"
    check_round_trip(t, "--path", native(second), manifest=base, suggests=(
        f"fs_read_allow = [{toml(native(first))}, {toml(native(second))}]", f"-r {native(second)}"))


@promise("paths: a protected file inside a writable directory, and a masked one", on=POSIX)
def _(t):
    (t.project / ".git").mkdir()
    (t.project / ".git/config").write_text("x")
    (t.project / "secret").write_text("x")
    check_round_trip(t, "--path", ".git/config", "--op", "write", manifest='[sandbox]\nmode = "workspace-write"\n')
    check_round_trip(t, "--path", "secret", manifest='[sandbox]\nmode = "workspace-write"\n'
                     'filesystem = { ":cwd/s*" = "none" }\n')
    report = ask(t, "--path", ".git/config", "--op", "write")
    t.has(report["rule"], "protected: .git below")


@promise("paths: a commit needs git, a new file its directory, or to be made first", on=POSIX)
def _(t):
    (t.project / ".git").mkdir()
    (t.project / ".git/index").write_text("x")
    place = t.directory / "place"
    place.mkdir()
    mode = '[sandbox]\nmode = "workspace-write"\n'
    check_round_trip(t, "--path", ".git/index", "--op", "write", manifest=mode,
                     suggests=('git = "commit"', "--git commit"))
    base = STRICT + f'filesystem = {{ {toml(t.directory)} = "read" }}\n'
    check_round_trip(t, "--path", place / "new", "--op", "write", manifest=base,
                     suggests=(f"fs_write_allow = [{toml(place)}]", f"-w {place}"))
    path = t.manifest(base, "base.toml")
    for broad in ("/etc/sbx-cli-new-file", t.home / "new"):
        report = ask(t, "-f", path, "--path", broad, "--op", "write")
        t.equal([report.get(key) for key in ("allowed", "change", "flag", "needs_file")],
                [False, f"fs_write_allow = [{toml(broad)}]", f"-w {broad}", True], broad)
        t.has(t.run("why", "-f", path, "--path", broad, "--op", "write").out,
              "note: it does not exist yet: make it outside the box first\n")
    (t.home / "new").write_text("")
    check_round_trip(t, "--path", t.home / "new", "--op", "write", manifest=base,
                     suggests=(f"fs_write_allow = [{toml(t.home / 'new')}]", f"-w {t.home / 'new'}"))


@promise("paths: where no line helps, the answer says why instead of suggesting one")
def _(t):
    missing = "Z:\\no\\such" if WINDOWS else "/no/such"
    for words, text in ((("--path", missing), "does not exist"),
                        (("--path", native("/"), "--op", "write"), "whole disk")):
        report = ask(t, "-p", "strict", *words)
        t.equal((report.get("allowed"), report.get("change"), report.get("flag")), (False, None, None))
        t.has(report.get("obstacle") or "", text)
        shown = t.run("why", "-p", "strict", *words)
        t.has(shown.out, "no manifest line allows it as things are", shown)


@promise("paths: sbx's own files can be suggested to nobody", on=POSIX)
def _(t):
    for own in (".local/state/sbx/trust", ".config/sbx/x"):
        report = ask(t, "--path", t.home / own, "--op", "write", cwd=t.home)
        t.equal((report.get("allowed"), report.get("change")), (False, None))


@promise("paths: the rule and its place are named")
def _(t):
    t.manifest('[sandbox]\nprofile = "strict"\nfs_read_allow = [":project"]\n', "rules.toml")
    done = t.run("why", "-f", "rules.toml", "--path", "x/y")
    t.equal(done.status, 0, done)
    t.has(done.out, f"allowed: read {native(t.project / 'x/y')}", done)
    t.has(done.out, f"by:  {native(t.project)} = read  rules.toml:3", done)
    done = t.run("why", "-f", "rules.toml", "--path", "x/y", "--op", "write")
    t.equal(done.status, 1, done)
    t.has(done.out, "denied: write", done)


@promise("paths: a narrower rule decides over a broader one")
def _(t):
    for name in ("code/secrets/tmp", "code/src"):
        (t.project / name).mkdir(parents=True)
    code = native(t.project / "code")
    sep = "\\" if WINDOWS else "/"
    t.manifest(f'[sandbox]\nprofile = "strict"\n[sandbox.filesystem]\n{toml(code)} = "write"\n'
               f'{toml(code + sep + "secrets")} = "none"\n{toml(code + sep + "secrets" + sep + "tmp")} = "write"\n',
               "split.toml")
    for path, read, write in (("code/src/x", True, True), ("code/secrets", False, False),
                              ("code/secrets/x", False, False), ("code/secrets/tmp/x", True, True)):
        for op, wanted in (("read", read), ("write", write)):
            t.equal(ask(t, "-f", "split.toml", "--path", path, "--op", op).get("allowed"), wanted, (path, op))


@promise("paths: a private directory hides the host's files, and takes new ones", on=("linux",))
def _(t):
    (t.directory / "file").write_text("x")
    for op in ("read", "write", "exec"):
        report = ask(t, "-p", "strict", "--path", t.directory / "file", "--op", op)
        t.equal(report.get("allowed"), False, op)
        t.has(report.get("rule") or "", "private and empty", op)
    t.equal(ask(t, "-p", "strict", "--path", "/tmp/sbx-cli-new-file", "--op", "write").get("allowed"), True)
    t.equal(ask(t, "-p", "strict", "--path", "/tmp", "--op", "write").get("allowed"), True)


@promise("paths: links are followed to the file that would be opened", on=POSIX)
def _(t):
    outside = t.directory / "outside"
    outside.mkdir()
    (t.project / "link").symlink_to(outside)
    report = ask(t, "-p", "strict", "-r", t.project, "--path", "link")
    t.equal((report.get("allowed"), report.get("subject")), (False, f"read {outside}"))


@promise("requests: denied, then allowed by the suggested line and flag")
def _(t):
    for url, change, flag in (
            ("https://example.com/x?y#z", 'hosts = ["example.com"]', "--net example.com"),
            ("http://example.com", 'hosts = ["example.com"]', "--net example.com"),
            ("https://example.com:8443/", 'hosts = ["example.com:8443"]', "--net example.com:8443"),
            ("api.example.com", 'hosts = ["api.example.com"]', "--net api.example.com"),
            ("wss://example.com:444", 'hosts = ["example.com:444"]', "--net example.com:444"),
            ("http://localhost:8080/", 'hosts = [], local = ["localhost:8080"]', "--local localhost:8080"),
            ("http://127.0.0.1:5432", 'hosts = [], local = ["127.0.0.1:5432"]', "--local 127.0.0.1:5432"),
            ("http://10.1.2.3/", 'hosts = [], local = ["10.1.2.3:80"]', "--local 10.1.2.3:80"),
            ("http://203.0.113.7/", 'hosts = ["203.0.113.7"]', "--net 203.0.113.7"),
            ("http://[::1]:80/", 'hosts = [], local = ["[::1]:80"]', None)):
        check_round_trip(t, "--url", url)
        report = ask(t, "-p", "strict", "--url", url)
        t.equal(report["change"], f'network = {{ kind = "allow_hosts", {change} }}')
        if flag:
            t.equal(report["flag"], flag)


@promise("requests: hosts that are listed already stay in the suggested line")
def _(t):
    base = STRICT + 'network = { kind = "allow_hosts", hosts = ["example.org"], local = ["localhost:1"] }\n'
    check_round_trip(t, "--url", "https://example.com", manifest=base, suggests=(
        'network = { kind = "allow_hosts", hosts = ["example.org", "example.com"], local = ["localhost:1"] }',
        "--net example.com"))
    path = t.manifest(base, "base.toml")
    for url, wanted in (("https://example.org", True), ("https://www.example.org", True), ("http://localhost:1", True),
                        ("http://localhost:2", False), ("https://example.org:444", False),
                        ("https://example.com", False)):
        t.equal(ask(t, "-f", path, "--url", url).get("allowed"), wanted, url)


@promise("requests: what no host list may hold is not suggested")
def _(t):
    for url, text in (("http://169.254.169.254/latest", "metadata"), ("https://github.io", "shared platform"),
                      ("https://*.example.com", ""), ("https://ex ample.com", "")):
        report = ask(t, "-p", "strict", "--url", url)
        t.equal((report.get("allowed"), report.get("change")), (False, None), url)
        t.has(report.get("obstacle") or "", text)
        t.true(report.get("obstacle"), url)


@promise("requests: a method may come first, nonsense may not")
def _(t):
    t.equal(ask(t, "--net", "inherit", "--url", "POST", "https://example.com").get("allowed"), True)
    for words in (("--url", "https://a.example", "https://b.example"), ("--url", ""), ("--url", "https://"),
                  ("--url", "https://user:pw@example.com/"), ("--url", "https://example.com:0"),
                  ("--url", "https://example.com:65536"), ("--url", "https://example.com:x"),
                  ("--url", "GET", "a", "b")):
        done = t.run("why", *words)
        t.equal((done.status, done.out), (2, ""), done)


@promise("variables: declared, passed and dropped")
def _(t):
    for words, wanted in (((), False), (("-e", "NAME=x"), True), (("-E", "NAME"), True), (("-e", "NAME2=x"), False)):
        t.equal(ask(t, *words, "--env", "NAME").get("allowed"), wanted, words)
    check_round_trip(t, "--env", "NAME", suggests=('env_pass = ["NAME"]', "-E NAME"))
    check_round_trip(t, "--env", "NAME", manifest=STRICT + 'env_pass = ["PATH"]\n',
                     suggests=('env_pass = ["PATH", "NAME"]', "-E NAME"))
    report = ask(t, "--env", "A=B")
    t.equal((report.get("allowed"), report.get("change")), (False, None))


@promise("variables: case counts where it does")
def _(t):
    t.equal(ask(t, "-E", "Name", "--env", "NAME").get("allowed"), WINDOWS)


@promise("without a sandbox everything but the environment is open, and that is the rule named")
def _(t):
    for words in (("--path", native("/"), "--op", "write"), ("--url", "https://example.com")):
        report = ask(t, *words, env=t.unboxed)
        t.equal((report.get("allowed"), report.get("rule")), (True, "there is no sandbox"))
    t.equal(ask(t, "--env", "HOME", env=t.unboxed).get("allowed"), False)


@promise("why answers for another platform too, with its paths")
def _(t):
    for platform, inside, outside in (("linux", "/usr/bin/x", "/home/user/x"), ("macos", "/usr/bin/x", "/Users/x"),
                                      ("windows", "C:\\Windows\\x", "D:\\x")):
        t.equal(ask(t, "--platform", platform, "-p", "strict", "--path", inside).get("allowed"), True, platform)
        if platform != ("windows" if WINDOWS else "linux"):
            report = ask(t, "--platform", platform, "-p", "strict", "--path", outside)
            t.equal(report.get("allowed"), False, platform)
            t.true(report.get("change"), platform)


@promise("a question that cannot be answered is neither allowed nor denied: exit 2")
def _(t):
    t.manifest("[sandbox\n", "broken.toml")
    for words in (("--path", "x", "-f", "broken.toml"), ("--path", "x", "-f", "missing.toml"), ("--path", ""),
                  ("--path", "x" * 20000), ("--env", "X", "--op", "read")):
        done = t.run("why", *words)
        t.equal((done.status, done.out), (2, ""), done)
        t.true(done.err.startswith("sbx: error["), done)


main()
