"""Makes the Windows Installer package of a directory: what is below it is what gets installed.
usage: make_msi.py DIRECTORY VERSION OUTPUT

The same directory gives the same bytes, wherever and whenever: the product code comes from the version, a component's code from its
path, and the package code, which Windows takes for the identity of the bytes, from the bytes. wixl writes the time of day and a random
package code; both are replaced in the finished file, where they have fixed sizes. SOURCE_DATE_EPOCH is the time of all files."""

import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import uuid
from xml.sax.saxutils import quoteattr

import compound

HERE = pathlib.Path(__file__).resolve().parent
# What all versions of sbx have in common; Windows finds older ones by it. It never changes.
UPGRADE_CODE = uuid.UUID("aa31c080-10f8-49d8-be5a-ae51f9cc1920")
PROGRAM = "sbx.exe"


def code(kind, name):
    """The UUID of something of ours that has a name."""
    return str(uuid.uuid5(UPGRADE_CODE, f"{kind}:{name}")).upper()


def identifier(path):
    """Names in the tables have at most 72 of few characters; the program has its own."""
    text = path.as_posix()
    return text if text == PROGRAM else f"_{hashlib.sha256(text.encode()).hexdigest()[:32]}"


def components(top, directory, indent, references):
    """The elements of a directory's files and of the directories below it; their names are added to references."""
    for path in sorted(directory.iterdir(), key=lambda entry: (entry.is_dir(), entry.name)):
        name = path.relative_to(top)
        if path.is_dir():
            yield f'{indent}<Directory Id="{identifier(name)}" Name={quoteattr(path.name)}>'
            yield from components(top, path, indent + "  ", references)
            yield f"{indent}</Directory>"
            continue
        references.append(identifier(name))
        yield f'{indent}<Component Id="{identifier(name)}" Guid="{code("component", name.as_posix())}" Win64="yes">'
        yield (f'{indent}  <File Id="{identifier(name)}" Name={quoteattr(path.name)} Source={quoteattr(f"files/{name.as_posix()}")}'
               ' KeyPath="yes"/>')
        yield f"{indent}</Component>"


def fill(name, values):
    """The text of a file beside this one with every @NAME@ replaced."""
    return re.sub(r"@([A-Z_]+)@", lambda match: values[match[1]], (HERE / name).read_text(encoding="utf-8"))


def values_of(top, version):
    if not re.fullmatch(r"\d{1,3}\.\d{1,3}\.\d{1,5}", version) or any(
            int(part) > most for part, most in zip(version.split("."), (255, 255, 65535))):
        sys.exit(f'make_msi: Windows Installer cannot hold the version "{version}": three numbers, at most 255.255.65535')
    references = []
    files = "\n".join(components(top, top, " " * 10, references))
    if PROGRAM not in references:
        sys.exit(f'make_msi: "{top}" has no {PROGRAM}')
    return {
        "VERSION": version,
        "FILE_VERSION": f"{version}.0",
        "UPGRADE_CODE": str(UPGRADE_CODE).upper(),
        "PRODUCT_CODE": code("product", version),
        "SERVICE_GUID": code("component", "service"),
        "FILES": files,
        "REFERENCES": "\n".join(f'      <ComponentRef Id="{name}"/>' for name in references),
    }


def stage(source, target, epoch):
    """A copy whose files all have one time: the cabinet records it."""
    shutil.copytree(source, target)
    for path in target.rglob("*"):
        os.utime(path, (epoch, epoch))


def statements(text):
    return [line for line in text.splitlines() if line and not line.startswith("--")]


def call(*command, cwd):
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0 or done.stdout:  # wixl only warns of an attribute that it does not know
        sys.exit(f"make_msi: {command[0]} ended with {done.returncode}: {done.stdout.strip()}")


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__.splitlines()[1])
    source, version, output = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH", "1767225600"))
    with tempfile.TemporaryDirectory(prefix="sbx-msi-") as work:
        top, made = pathlib.Path(work) / "files", pathlib.Path(work) / "sbx.msi"
        stage(source, top, epoch)
        values = values_of(top, version)
        described = pathlib.Path(work) / "sbx.wxs"
        described.write_text(fill("sbx.wxs.in", values), encoding="utf-8")
        call("wixl", "-a", "x64", "-o", made.name, described.name, cwd=work)  # it wants relative names
        for statement in statements(fill("tables.sql", values)):
            call("msibuild", made.name, "-q", statement, cwd=work)
        content = compound.stamped(made.read_bytes(), epoch, lambda plain: code("package", hashlib.sha256(plain).hexdigest()))
        output.write_bytes(content)


if __name__ == "__main__":
    main()
