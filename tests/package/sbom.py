"""The bill of materials: SPDX 2.3 in its form, complete, and true to the packages beside it."""

import hashlib
import json
import re
import tarfile

from packaged import PACKAGES, one, main, promise

WANTED = {
    "spdxVersion": "SPDX-2.3",
    "dataLicense": "CC0-1.0",
    "SPDXID": "SPDXRef-DOCUMENT",
}
# What each program must be said to contain, and no program of the other system.
LINKED = {"sbx": {"musl", "jansson"}, "sbx.exe": {"mingw-w64", "jansson"}}


def load():
    return json.loads(one("*.spdx.json").read_text())


def checksum(entry, algorithm):
    return next(item["checksumValue"] for item in entry["checksums"] if item["algorithm"] == algorithm)


@promise("it is an SPDX 2.3 document: its identifiers are unique and lead somewhere")
def _(t):
    document = load()
    for key, value in WANTED.items():
        t.equal(document.get(key), value, key)
    t.true(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", document["creationInfo"]["created"]), document["creationInfo"])
    t.true(re.fullmatch(r"[a-z][a-z0-9+.-]*:[^#\s]+", document["documentNamespace"]), document["documentNamespace"])
    names = [entry["SPDXID"] for entry in document["packages"] + document["files"]]
    t.equal(len(set(names)), len(names), "unique")
    t.equal([name for name in names if not re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", name)], [])
    known = {*names, "SPDXRef-DOCUMENT"}
    for relation in document["relationships"]:
        t.true({relation["spdxElementId"], relation["relatedSpdxElement"]} <= known, relation)
    for package in document["packages"]:
        t.true({"name", "versionInfo", "downloadLocation", "licenseConcluded", "filesAnalyzed"} <= set(package), package)
        t.equal("packageVerificationCode" in package, package["filesAnalyzed"], package)


@promise("every package beside it is in it with its hash, and every file of the tarball with its own")
def _(t):
    document = load()
    said = {package["packageFileName"]: checksum(package, "SHA256") for package in document["packages"] if "packageFileName" in package}
    there = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in PACKAGES.iterdir()
             if path.name != "SHA256SUMS" and not path.name.endswith(".spdx.json")}
    t.equal(said, there)
    hashes = {(entry["fileName"], checksum(entry, "SHA256"), checksum(entry, "SHA1")) for entry in document["files"]}
    with tarfile.open(one("sbx-*-linux-*.tar.gz")) as archive:
        for member in archive:
            if member.isfile():
                data = archive.extractfile(member).read()
                t.true((f"./{member.name}", hashlib.sha256(data).hexdigest(), hashlib.sha1(data).hexdigest()) in hashes, member.name)


@promise("each program names what is linked into it, with a version and a licence")
def _(t):
    document = load()
    packages = {package["SPDXID"]: package for package in document["packages"]}
    programs = [entry for entry in document["files"] if entry["fileTypes"] == ["BINARY"] and
                entry["fileName"].rsplit("/", 1)[-1] in LINKED]
    t.true(len(programs) >= 3, programs)
    for entry in programs:
        linked = [packages[relation["relatedSpdxElement"]] for relation in document["relationships"]
                  if relation["relationshipType"] == "STATIC_LINK" and relation["spdxElementId"] == entry["SPDXID"]]
        names = {package["name"] for package in linked}
        t.true(LINKED[entry["fileName"].rsplit("/", 1)[-1]] <= names, (entry["fileName"], names))
        t.equal({"musl", "mingw-w64"} <= names, False, names)
        for package in linked:
            t.true(package["versionInfo"] and package["licenseConcluded"] not in ("", "NOASSERTION"), package)


main()
