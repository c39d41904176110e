"""What is installed on macOS, as far as it can be read here: the agent's list of properties and the formula. usage: installer.py"""

import pathlib
import plistlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PLACE = ROOT / "installer/macos"


def main():
    agents = sorted(PLACE.glob("*.plist"))
    read = {path: plistlib.loads(path.read_bytes()) for path in agents}
    formula = (PLACE / "sbx.rb").read_text(encoding="utf-8")
    version = re.search(r"project\(sbx VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")).group(1)
    licence = (ROOT / "LICENSE").read_text(encoding="utf-8")
    workflow = (ROOT / ".github/workflows/macos.yml").read_text(encoding="utf-8")
    checks = [
        ("there is an agent, and its label is its file's name", bool(agents) and all(
            agent["Label"] == path.stem for path, agent in read.items())),
        ("an agent has an absolute program, is no daemon of root, and is not throttled", all(
            agent["ProgramArguments"][0].startswith("/") and "UserName" not in agent and agent["ProcessType"] == "Interactive"
            for agent in read.values())),
        ("the formula is of this version and licence", f"sbx-{version}.tar.gz" in formula and "Apache License" in licence
         and 'license "Apache-2.0"' in formula),
        ("the formula's blocks are closed", len(re.findall(r"^\s*(?:class|def|test do)\b", formula, re.M))
         == len(re.findall(r"^\s*end$", formula, re.M))),
        ("the formula needs what the workflow installs to build, and tests nothing in a sandbox of brew's", all(
            name in formula and name in workflow for name in ("cmake", "ninja", "jansson")) and "selftest" not in formula
         and " run" not in formula.partition("test do")[2]),
        ("the oldest system of the formula is that of the build", "ventura" in formula and "13.0" in
         (ROOT / "cmake/macos.cmake").read_text(encoding="utf-8")),
    ]
    print(f"1..{len(checks)}")
    for number, (promise, held) in enumerate(checks, 1):
        print(f"{'ok' if held else 'not ok'} {number} - {promise}")
    sys.exit(0 if all(held for _, held in checks) else 1)


if __name__ == "__main__":
    main()
