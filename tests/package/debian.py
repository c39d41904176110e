"""The Debian package in a clean Debian, as somebody new to sbx has it: installed, used by an ordinary user, upgraded, removed."""

import os
import sys

from clean_root import USER, Root
from packaged import call, main, one, promise

VERSION = "dpkg-query -W -f '${db:Status-Status} ${Version}' sbx"


def root():
    return _root


def install(t):
    """The package as it is released, in a root that has no other version."""
    done = root().install(one("*.deb"))
    t.equal(done.status, 0, done)
    return done


def older(t, version="0.0.1-1"):
    """The same package under the number of an older version."""
    tree = t.directory / "older"
    t.equal(call("dpkg-deb", "--raw-extract", one("*.deb"), tree).status, 0)
    control = tree / "DEBIAN/control"
    lines = [f"Version: {version}" if line.startswith("Version:") else line for line in control.read_text().splitlines()]
    control.write_text("\n".join(lines) + "\n")
    deb = t.directory / f"sbx_{version}_amd64.deb"
    t.equal(call("dpkg-deb", "--root-owner-group", "--build", tree, deb).status, 0)
    return deb


def purge(t):
    done = root().run("dpkg --purge sbx")
    t.equal(done.status, 0, done)
    return done


@promise("it installs where nothing else is, asks nothing, and says nothing but dpkg's own lines")
def _(t):
    done = install(t)
    t.equal([line for line in done.err.splitlines() if "debconf" not in line], [], done)
    t.equal(root().run("dpkg --audit").out, "")
    t.has(root().run(VERSION).out, "installed ", "dpkg knows it")
    again = install(t)
    t.equal(again.status, 0, again)


@promise("an ordinary user's doctor finds nothing that fails, and names what a run would use")
def _(t):
    done = root().run("sbx doctor", user=True)
    t.equal(done.status, 0, done)
    t.has(done.out, "sbx run uses native", done)
    report = t.json(root().run("sbx doctor --json", user=True).out)
    rows = report.get("rows", [])
    t.true(len(rows) > 10, report)
    t.equal([row for row in rows if row["status"] == "fail"], [])
    backends = {row["id"]: row["status"] for row in rows if row["group"] == "backends"}
    t.equal({name: status for name, status in backends.items() if status == "warn"}, {}, "nothing more is asked for")


@promise("git works in an ordinary user's box, and the box is one")
def _(t):
    setup = "git init -q -b main project && cd project && touch file && git status --short && "
    done = root().run(setup + "sbx run -- git status", user=True)
    t.equal((done.status, done.err), (0, ""), done)
    t.has(done.out, "On branch main", done)
    t.has(done.out, "file", done)
    outside = root().run("touch ~/outside && ls ~/outside", user=True)
    t.equal(outside.status, 0, outside)
    inside = root().run("cd project && sbx run -- touch /home/newcomer/outside-of-the-box", user=True)
    t.equal(inside.status, 1, inside)
    t.has(inside.err, "sbx: denied:", inside)
    t.true(not (root().place / f"home/{USER}/outside-of-the-box").exists())


@promise("every example manifest is right there, and runs a command or says what is missing")
def _(t):
    names = root().run("ls /usr/share/doc/sbx/examples/*.toml").out.split()
    t.true(len(names) >= 4, names)
    ran = 0
    for name in names:
        done = root().run(f"mkdir -p example && cd example && sbx run -f {name} -- true", user=True)
        t.among(done.status, (0, 125), done)
        t.true(done.status == 0 or "\n  fix: " in done.err, done)
        ran += done.status == 0
    t.true(ran > 0, "one of them runs")


@promise("the policy that is shipped as an example acts when root puts it into its place, and not before")
def _(t):
    run = "SBX_SANDBOX=none SBX_ALLOW_NO_SANDBOX=1 sbx run -- true"
    t.equal(root().run(run, user=True).status, 0, "no policy")
    put = "install -D -m 644 /usr/share/doc/sbx/examples/administrator/policy.toml /etc/sbx/policy.toml"
    t.equal(root().run(put).status, 0)
    done = root().run(run, user=True)
    t.equal(done.status, 125, done)
    t.has(done.err, "policy", done)
    t.equal(root().run("sbx run -- true", user=True).status, 0, "and boxes still work")
    t.equal(root().run("rm -r /etc/sbx").status, 0)


@promise("the manual pages are found and shown, and bash completes")
def _(t):
    for page in ("sbx", "sbx.toml"):
        done = root().run(f"man {page} | cat")
        t.equal(done.status, 0, done)
        t.has(done.out, "NAME", done)
    done = root().run("bash -c '. /usr/share/bash-completion/completions/sbx && complete -p sbx'", user=True)
    t.equal(done.status, 0, done)
    t.has(done.out, "sbx", done)


@promise("a parser of AppArmor that is too old for the profile is not handed it, and a newer one is")
def _(t):
    parse = "apparmor_parser --skip-kernel-load --skip-cache /etc/apparmor.d"
    t.equal(root().run(parse).status, 0, "all profiles are read")
    link = root().place / "etc/apparmor.d/disable/sbx"
    new = (root().place / "etc/apparmor.d/abi/4.0").exists()
    t.equal(link.is_symlink(), not new)
    if not new:
        t.true(root().run(f"rm /etc/apparmor.d/disable/sbx; {parse}").status != 0, "the parser refuses it")
        # As after an upgrade of apparmor: its files tell dpkg, and dpkg tells the package.
        t.equal(root().run("dpkg-reconfigure sbx").status, 0)
        t.true(link.is_symlink(), "the link is back")
        t.equal(root().run("touch /etc/apparmor.d/abi/4.0 && dpkg-trigger --no-await /etc/apparmor.d/abi/4.0 && "
                           "dpkg --triggers-only sbx").status, 0)
        t.true(not link.is_symlink(), "and goes with the new version")
        t.equal(root().run("rm /etc/apparmor.d/abi/4.0").status, 0)


@promise("an upgrade from an older version keeps the administrator's change and works")
def _(t):
    purge(t)
    t.equal(root().install(older(t)).status, 0)
    t.equal(root().run(VERSION).out, "installed 0.0.1-1")
    t.equal(root().run("echo '# changed here' >>/etc/apparmor.d/sbx").status, 0)
    done = install(t)
    t.lacks(root().run(VERSION).out, "0.0.1", done)
    t.has((root().place / "etc/apparmor.d/sbx").read_text(), "# changed here")
    t.equal(root().run("sbx run -- true", user=True).status, 0)


@promise("removing it takes the programs, purging it leaves nothing at all")
def _(t):
    purge(t)
    before = root().files()
    t.true(len(before) > 1000, len(before))
    t.lacks(before, "usr/bin/sbx")
    install(t)
    t.has(root().files(), "usr/bin/sbx")
    t.equal(root().run("dpkg -r sbx").status, 0)
    left = {name for name in root().files() if name not in before}
    t.equal({name for name in left if name.startswith("usr/")}, set())
    t.has(left, "etc/apparmor.d/sbx", "settings stay until the purge")
    purge(t)
    after = root().files()
    t.equal({name: value for name, value in after.items() if before.get(name) != value}, {})
    t.equal(set(before) - set(after), set())


if os.geteuid() != 0:
    print("# only root can make and enter a clean Debian")
    sys.exit(77)
with Root() as _root:
    main()
