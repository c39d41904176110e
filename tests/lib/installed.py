"""libsbx as it is installed: the example is built against it with pkg-config and with CMake, shared and static, as C and as C++, exports
what the header declares and nothing else, and runs a command in a box.

usage: installed.py SOURCE-TREE BUILD-TREE CC CXX [DIRECTORY-OF-SBXD]"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE, BUILD, CC, CXX = (sys.argv + [""] * 5)[1:5]
PROGRAMS = sys.argv[5] if len(sys.argv) > 5 else ""
HEADER = pathlib.Path(SOURCE, "include/sbx.h").read_text(encoding="utf-8")
DECLARED = set(re.findall(r"^(?!typedef)[a-z][\w *]*?\b(sbx_client_\w+)\(", HEADER, re.M))
results = []


def check(promise, held, why=""):
    results.append(held)
    if not held:
        print("# " + str(why).replace("\n", "\n# "))
    print(f"{'ok' if held else 'not ok'} {len(results)} - {promise}", flush=True)


def run(*command, **options):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, errors="replace", check=False,
                          timeout=240, **options)


def told(done):
    return f"{done.args}: {done.returncode}\n{done.stdout}{done.stderr}"


def names(*nm):
    return {line.split()[-1].split("@")[0] for line in run(*nm).stdout.splitlines() if re.search(r" [TDBR] ", line)}


def manual_example():
    """The program in the comment of the header."""
    lines = re.search(r"^ \*     (#include <sbx.h>.*?^ \*     \})$", HEADER, re.M | re.S).group(1)
    return "\n".join(re.sub(r"^ \* ?(    )?", "", line) for line in lines.splitlines()) + "\n"


def ten_lines():
    """The first C block of docs/LIBSBX.md."""
    text = pathlib.Path(SOURCE, "docs/LIBSBX.md").read_text(encoding="utf-8")
    return re.search(r"```c\n(.*?)```", text, re.S).group(1)


def build_all(prefix, work):
    """Programs that were built, by how."""
    library = next(prefix.rglob("libsbx.a")).parent
    environment = dict(os.environ, PKG_CONFIG_PATH=str(library / "pkgconfig"), LC_ALL="C")
    flags = run("pkg-config", "--cflags", "--libs", "sbx", env=environment)
    check("pkg-config knows it", flags.returncode == 0, told(flags))
    flags = flags.stdout.split()
    example = pathlib.Path(SOURCE, "examples/libsbx")
    (work / "manual.c").write_text(manual_example(), encoding="utf-8")
    (work / "ten.c").write_text(ten_lines(), encoding="utf-8")
    (work / "plus.cpp").write_text("#include <sbx.h>\nint main() { return sbx_client_version() == SBX_VERSION_NUMBER ? 0 : 1; }\n",
                                   encoding="utf-8")
    strict = ["-Wall", "-Wextra", "-pedantic", "-Werror"]
    rpath = f"-Wl,-rpath,{library}"
    commands = {
        "shared": [CC, "-std=c11", *strict, example / "run.c", *flags, rpath],
        "static": [CC, "-std=c99", *strict, example / "run.c", f"-I{prefix}/include", library / "libsbx.a"],
        "manual": [CC, "-std=c99", *strict, work / "manual.c", *flags, rpath],
        "ten": [CC, "-std=c99", *strict, work / "ten.c", *flags, rpath],
        "plus": [CXX, "-std=c++11", *strict, work / "plus.cpp", *flags, rpath],
    }
    programs = {}
    for name, command in commands.items():
        done = run(*command, "-o", work / name, env=environment)
        check(f"a program is built against the installed library: {name}", done.returncode == 0, told(done))
        programs[name] = work / name
    done = run("cmake", "-S", example, "-B", work / "cmake", f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_C_COMPILER={CC}")
    if done.returncode == 0:
        done = run("cmake", "--build", work / "cmake")
    check("a project of CMake finds and links it", done.returncode == 0, told(done))
    programs.update(cmake=work / "cmake/run", cmake_static=work / "cmake/run_static")
    exported = names("nm", "-D", "--defined-only", library / "libsbx.so") - {"SBX_0"}
    check("the shared library exports what the header declares", exported == DECLARED, exported ^ DECLARED)
    exported = names("nm", "--defined-only", "--extern-only", library / "libsbx.a")
    check("the static library too, and no other name", exported == DECLARED, exported ^ DECLARED)
    return programs


def run_all(programs, work):
    environment = dict(os.environ, PATH=PROGRAMS + os.pathsep + os.environ["PATH"], XDG_RUNTIME_DIR=str(work / "none"))
    environment.pop("SBX_SOCKET", None)
    project = work / "project"
    project.mkdir()
    for name in ("shared", "static", "cmake", "cmake_static"):
        done = run(programs[name], "--local", "sh", "-c", "echo out; echo err >&2; exit 7", env=environment, cwd=project)
        check(f"{name}: a command in a box of a worker of one's own: output, errors and status",
              (done.returncode, done.stdout, done.stderr) == (7, "out\n", "err\n"), told(done))
    for name in ("manual", "ten"):
        done = run(programs[name], env=environment, cwd=project)
        check(f"{name}: the example of the manual does what it says",
              (done.returncode, done.stdout) == (0, "hello from a box\nstatus 0\n"), told(done))
    done = run(programs["plus"], env=environment)
    check("a program in C++ runs", done.returncode == 0, told(done))
    done = run(programs["shared"], "--service", "true", env=environment, cwd=project)
    check("without a service it says how to start one",
          done.returncode == 125 and done.stderr.startswith("no_service: ") and "sbx serve" in done.stderr, told(done))


def main():
    with tempfile.TemporaryDirectory(prefix="sbx-lib-") as directory:
        work = pathlib.Path(directory)
        prefix = work / "prefix"
        done = run("cmake", "--install", BUILD, "--prefix", prefix, "--component", "dev")
        check("it is installed", done.returncode == 0, told(done))
        programs = build_all(prefix, work)
        if PROGRAMS:
            run_all(programs, work)
        shutil.rmtree(prefix)
    print(f"1..{len(results)}")
    sys.exit(0 if results and all(results) else 1)


main()
