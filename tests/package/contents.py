"""What is in the packages: everything a user needs, nothing that acts by itself, nothing of the machine that built them."""

import tarfile
import zipfile

from packaged import PACKAGES, ROOT, call, main, one, promise

DEB = {
    "usr/bin/sbx": 0o755,
    "usr/bin/sbxd": 0o755,
    "etc/apparmor.d/sbx": 0o644,
    "usr/share/bash-completion/completions/sbx": 0o644,
    "usr/share/zsh/vendor-completions/_sbx": 0o644,
    "usr/share/fish/vendor_completions.d/sbx.fish": 0o644,
    "usr/share/man/man1/sbx.1.gz": 0o644,
    "usr/share/man/man5/sbx.toml.5.gz": 0o644,
    "usr/share/man/man8/sbxd.8.gz": 0o644,
    "usr/share/doc/sbx/copyright": 0o644,
    "usr/share/doc/sbx/changelog.gz": 0o644,
    "usr/share/doc/sbx/changelog.Debian.gz": 0o644,
    "usr/share/doc/sbx/examples/administrator/policy.toml": 0o644,
}


def deb_files(t):
    """name without "./" -> tarfile.TarInfo"""
    path = t.directory / "data.tar"
    with path.open("wb") as stream:
        t.equal(call("sh", "-c", 'exec dpkg-deb --fsys-tarfile "$1" >"$2"', "sh", one("*.deb"), path).status, 0)
        stream.flush()
    with tarfile.open(path) as archive:
        return {member.name.removeprefix("./").rstrip("/"): member for member in archive}


@promise("the Debian package has programs, pages, completions and examples, owned by root")
def _(t):
    files = deb_files(t)
    # Units for the system are beside a directory of those for users.
    units = ROOT / "installer/linux/systemd"
    places = {f"usr/lib/systemd/{'user' if path.parent != units else 'system'}/{path.name}": 0o644
              for path in units.rglob("*.s*") if path.is_file()}
    for name, mode in (DEB | places).items():
        t.true(name in files, name)
        t.equal(files[name].mode if name in files else None, mode, name)
    for name, member in files.items():
        t.equal((member.uname, member.gname, member.mode & 0o7022), ("root", "root", 0), name)


@promise("the Debian package sets no policy and switches nothing on")
def _(t):
    t.equal(sorted(name for name in deb_files(t) if name.startswith(("etc/sbx", "var/", "run/", "home/"))), [])
    t.lacks(call("dpkg-deb", "--ctrl-tarfile", one("*.deb")).out, "systemctl enable")


@promise("lintian finds nothing")
def _(t):
    done = call("lintian", "--allow-root", "--fail-on", "error,warning", one("*.deb"))
    t.equal((done.status, done.out), (0, ""), done)


@promise("the tarball has one directory with the static program in it, and it runs")
def _(t):
    with tarfile.open(one("sbx-*-linux-*.tar.gz")) as archive:
        names = archive.getnames()
        t.equal(len({name.split("/")[0] for name in names}), 1, names)
        t.equal({(member.uid, member.gid, member.uname, member.gname) for member in archive}, {(0, 0, "root", "root")})
        archive.extractall(t.directory)
    program = t.directory / names[0].split("/")[0] / "bin/sbx"
    done = call(program, "version")
    t.equal((done.status, done.out.split()[0]), (0, "sbx"), done)
    t.lacks(call("readelf", "--wide", "--program-headers", program).out, "INTERP", "no loader: it is static")


@promise("the archive of libsbx has the header, both libraries and what finds them")
def _(t):
    with tarfile.open(one("libsbx-*-linux-*.tar.gz")) as archive:
        names = {member.name.split("/", 1)[1] for member in archive if "/" in member.name}
    for name in ("include/sbx.h", "lib/libsbx.so", "lib/libsbx.a", "lib/pkgconfig/sbx.pc", "lib/cmake/sbx/sbxConfig.cmake"):
        t.true(name in names, sorted(names))


@promise("the Windows archive has the program and its papers")
def _(t):
    with zipfile.ZipFile(one("*-windows-*.zip")) as archive:
        names = {name.split("/", 1)[1] for name in archive.namelist() if "/" in name}
    for name in ("sbx.exe", "LICENSE", "README.md", "docs/INSTALL.md", "examples/agent.toml"):
        t.true(name in names, sorted(names))


@promise("SHA256SUMS names every file and is right")
def _(t):
    named = {line.split(maxsplit=1)[1] for line in (PACKAGES / "SHA256SUMS").read_text().splitlines()}
    t.equal(named | {"SHA256SUMS"}, {path.name for path in PACKAGES.iterdir()})
    t.equal(call("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=PACKAGES).status, 0)


main()
