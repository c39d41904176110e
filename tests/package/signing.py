"""Signing for Windows (scripts/package.d/sign), with certificates that are made here and thrown away: what is signed can be verified,
what is changed afterwards is found out, and neither key nor passphrase is seen anywhere."""

import os
import shutil
import subprocess

from packaged import ROOT, call, main, one, promise, unzipped

SIGN = ROOT / "scripts/package.d/sign"
PASSPHRASE = "planted-passphrase-4711"
GOOD = "Signature verification: ok"


class Signer:
    """A certificate for signing code in a directory of its own, its key once plain and once with a passphrase, and both as PKCS#12."""

    def __init__(self, directory):
        self.certificate, self.key = directory / "cert.pem", directory / "key.pem"
        self.locked, self.p12, self.passphrase = directory / "locked.pem", directory / "both.p12", directory / "pass"
        self.passphrase.write_text(f"{PASSPHRASE}\n", encoding="ascii")
        self._openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=sbx test", "-addext",
                      "keyUsage=digitalSignature", "-addext", "extendedKeyUsage=codeSigning", "-keyout", self.key,
                      "-out", self.certificate)
        self._openssl("rsa", "-aes256", "-in", self.key, "-out", self.locked, "-passout", f"file:{self.passphrase}")
        self._openssl("pkcs12", "-export", "-inkey", self.key, "-in", self.certificate, "-out", self.p12,
                      "-passout", f"file:{self.passphrase}")

    @staticmethod
    def _openssl(*words):
        subprocess.run(["openssl", *map(str, words)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def ways(self):
        """The environments in which something is signed with it."""
        return ({"SBX_SIGN_CERT": self.certificate, "SBX_SIGN_KEY": self.key},
                {"SBX_SIGN_CERT": self.certificate, "SBX_SIGN_KEY": self.locked, "SBX_SIGN_PASS_FILE": self.passphrase},
                {"SBX_SIGN_P12": self.p12, "SBX_SIGN_PASS_FILE": self.passphrase})

    def verifies(self, file):
        """What osslsigncode says, trusting this certificate and no other."""
        done = call("osslsigncode", "verify", "-CAfile", self.certificate, "-in", file)
        return done.status == 0 and GOOD in done.out, done


def sign(file, way, **more):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SBX_SIGN_", "SOURCE_DATE_"))}
    return call(SIGN, file, env={**environment, **{name: str(value) for name, value in way.items()}, **more})


def unsigned(t):
    """Copies of the program and of the package, as they are without a certificate."""
    program, package = t.directory / "sbx.exe", t.directory / "sbx.msi"
    shutil.copyfile(unzipped(t.directory / "zip") / "sbx.exe", program)
    shutil.copyfile(one("sbx-*-windows-*.msi"), package)
    return program, package


@promise("program and package are signed with a key in PEM, with a passphrase or not, or in PKCS#12")
def _(t):
    signer = Signer(t.directory)
    for file in unsigned(t):
        plain = file.read_bytes()
        t.equal(signer.verifies(file)[0], False, "the control: nobody has signed it")
        for way in signer.ways():
            file.write_bytes(plain)
            done = sign(file, way)
            t.equal(done.status, 0, done)
            t.true(file.read_bytes() != plain)
            is_good, said = signer.verifies(file)
            t.true(is_good, said)
            t.lacks(done.out + done.err + said.out, PASSPHRASE)


@promise("what was changed after it was signed does not verify, nor what another has signed")
def _(t):
    signer = Signer(t.directory)
    (t.directory / "other").mkdir()
    other = Signer(t.directory / "other")
    for file in unsigned(t):
        t.equal(sign(file, signer.ways()[0]).status, 0)
        signed = file.read_bytes()
        t.equal((signer.verifies(file)[0], other.verifies(file)[0]), (True, False), file)
        middle = len(signed) // 2
        file.write_bytes(signed[:middle] + bytes([signed[middle] ^ 1]) + signed[middle + 1:])
        is_good, said = signer.verifies(file)
        t.equal(is_good, False, said)


@promise("a signed package is still a package: the same tables")
def _(t):
    signer = Signer(t.directory)
    package = unsigned(t)[1]
    before = call("msiinfo", "export", package, "File").out
    t.equal(sign(package, signer.ways()[0]).status, 0)
    t.equal(call("msiinfo", "export", package, "File").out, before)
    t.has(call("msiinfo", "tables", package).out, "InstallExecuteSequence")


@promise("the same bytes are signed the same when the time is given")
def _(t):
    signer = Signer(t.directory)
    first, again = t.directory / "first", t.directory / "again"
    for file in (first, again):
        shutil.copyfile(unsigned(t)[0], file)
        t.equal(sign(file, signer.ways()[0], SOURCE_DATE_EPOCH=str(int(signer.key.stat().st_mtime) + 60)).status, 0)
        shutil.rmtree(t.directory / "zip")
    t.true(first.read_bytes() == again.read_bytes())


@promise("no secret is an argument of a program")
def _(t):
    signer = Signer(t.directory)
    program, seen, bin_directory = unsigned(t)[0], t.directory / "seen", t.directory / "bin"
    bin_directory.mkdir()
    watcher = bin_directory / "osslsigncode"
    watcher.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >>{seen}\nexec {shutil.which("osslsigncode")} "$@"\n', encoding="ascii")
    watcher.chmod(0o755)
    for way in signer.ways():
        done = sign(program, way, PATH=f"{bin_directory}:{os.environ['PATH']}")
        t.equal(done.status, 0, done)
    t.has(seen.read_text(), "-readpass", "the control: it was called, and watched")
    t.lacks(seen.read_text(), PASSPHRASE)


@promise("without a certificate nothing is done; with half of one, or a wrong passphrase, it fails and the file is as it was")
def _(t):
    signer = Signer(t.directory)
    program = unsigned(t)[0]
    plain = program.read_bytes()
    t.equal((sign(program, {}).status, program.read_bytes() == plain), (0, True))
    wrong = t.directory / "wrong"
    wrong.write_text("another\n", encoding="ascii")
    for way in ({"SBX_SIGN_CERT": signer.certificate}, {"SBX_SIGN_KEY": signer.key},
                {"SBX_SIGN_P12": signer.p12, "SBX_SIGN_PASS_FILE": wrong},
                {"SBX_SIGN_CERT": signer.certificate, "SBX_SIGN_KEY": signer.locked},
                {"SBX_SIGN_CERT": signer.certificate, "SBX_SIGN_KEY": t.directory / "none.pem"}):
        done = sign(program, way)
        t.equal((done.status != 0, program.read_bytes() == plain), (True, True), done)
        t.true(done.err, "and says why")


main()
