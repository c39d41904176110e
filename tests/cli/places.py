"""Where a newcomer starts sbx: without a home, in a read-only one, in another language, below names with spaces and foreign letters, on a full
disk, in a container without user namespaces, inside another box. It works, or says what happened, why, and what to do."""

import os
import pathlib
import shutil
import subprocess

from harness import main, promise

LINUX = ("linux",)
NAMES = ("with spaces", "Grüße", "日本語", "quo\"te'd $HOME `x` \\ %s", "-dash", "e\u0301 and \u202e")
LOCALES = ({"LANG": "de_DE.ISO-8859-1"}, {"LC_ALL": "C"}, {"LC_ALL": "no_SUCH"}, {"LANG": None, "LC_ALL": None})
UNSHARE = shutil.which("unshare")
WIDER = '[sandbox]\nnetwork = "inherit"\n'


def needs_box(t):
    """Ends the case where no box can be had at all."""
    done = t.run("run", "--", "true")
    if done.status == 125:
        t.skip("box", done.err.splitlines()[0])


def needs_root(t):
    if os.geteuid() != 0:
        t.skip("root", "only root can mount")


def in_mounts(script):
    """A prefix: sbx sees mounts that this line of shell makes; $0 is the case's directory. It goes back to where it was, which may be
    mounted anew."""
    return (UNSHARE, "--mount", "--propagation", "private", "/bin/sh", "-c", f'set -e; {script}; cd "$PWD"; exec "$@"')


def read_only(directory):
    return (*in_mounts('mount --bind "$0" "$0"; mount -o remount,bind,ro "$0"'), directory)


def full(directory):
    """A disk of a few pages with nothing left; what was in the directory is gone."""
    return (*in_mounts('mount -t tmpfs -o size=64k,mode=777 none "$0"; mkdir -p "$PWD"; '
                       'head -c 65536 /dev/zero >"$0/filling" 2>/dev/null || :'), directory)


def says(t, done, status, *parts):
    """All of it in one message."""
    t.equal(done.status, status, done)
    for part in parts:
        t.has(done.err, part, done)


def row(t, done, name):
    """(status, what it says with its remedy) of a row of doctor"""
    lines = done.out.splitlines()
    for at, line in enumerate(lines):
        if line.split()[0] in ("ok", "warn", "fail", "skip") and line.split()[1:2] == [name]:
            remedy = lines[at + 1].strip() if at + 1 < len(lines) and "fix:" in lines[at + 1] else ""
            return line.split()[0], f"{line} {remedy}"
    t.true(False, f"no row {name} in {done.out}")
    return None, ""


@promise("without a home directory boxes work, and what needs one says so", on=LINUX)
def _(t):
    needs_box(t)
    for home in (None, ""):
        env = {"HOME": home}
        # As nobody's account: the home that the machine's list of users knows is not there either.
        nobody = {"user": 64999, "group": 64999, "extra_groups": ()} if os.geteuid() == 0 else {}
        t.project.chmod(0o777)
        done = t.run("run", "--", "sh", "-c", "echo works > made && cat made", env=env, **nobody)
        t.equal((done.status, done.out, done.err), (0, "works\n", ""), done)
        (t.project / "made").unlink(missing_ok=True)
        if not nobody:
            continue
        t.equal(row(t, t.run("doctor", env=env, **nobody), "state")[0], "warn")
        path = t.manifest(WIDER)
        shutil.chown(path, nobody["user"])
        says(t, t.run("trust", path, env=env, **nobody), 1, "no home directory", "\n  fix: set HOME")
        path.unlink()
    t.lacks(t.run("doctor").out, " state ", "with a home there is nothing to tell")


@promise("below a home that is mounted read-only boxes work, and writing is refused as it is outside", on=LINUX)
def _(t):
    needs_root(t)
    needs_box(t)
    path = t.manifest(WIDER)
    t.manifest("content\n", "file")
    prefix = read_only(t.home)
    for backend in ("native", "bwrap"):
        env = {"SBX_SANDBOX": backend}
        done = t.run("run", "-f", t.manifest('[sandbox]\nmode = "workspace-write"\n', "work.toml", below=t.directory), "--", "cat", "file", env=env, prefix=prefix)
        t.equal((done.status, done.out, done.err), (0, "content\n", ""), done)
        done = t.run("run", "-f", t.directory / "work.toml", "--", "touch", "new", env=env, prefix=prefix)
        says(t, done, 1, "Read-only file system", "this box allows it, the host does not")
        writable = t.run("run", "-f", t.directory / "work.toml", "--", "touch", "new", env=env)
        t.equal((writable.status, (t.project / "new").exists()), (0, True), writable)
        (t.project / "new").unlink()
    says(t, t.run("trust", path, prefix=prefix), 1, "the file system is read-only", "\n  fix: ", "XDG_STATE_HOME")
    other = {"XDG_STATE_HOME": str(t.directory / "state")}
    t.equal(t.run("trust", path, env=other, prefix=prefix).status, 0, "the remedy helps")
    status, text = row(t, t.run("doctor", prefix=prefix), "state")
    t.equal(status, "warn")
    t.has(text, "XDG_STATE_HOME")
    path.unlink()
    says(t, t.run("init", prefix=prefix), 1, "cannot create \"sbx.toml\": the file system is read-only")


@promise("the language of the caller changes nothing, and names in it arrive as they are", on=LINUX)
def _(t):
    path = t.manifest("[sandbox]\n", "grün.toml")
    for env in LOCALES:
        done = t.run("verify", path, env=env)
        t.equal(done.status, 0, done)
        done = t.run("run", "--", t.actor, "args", "grün 日本", env=t.unboxed | env)
        t.equal(done.status, 0, done)
        t.has(done.out, "grün 日本", done)


@promise("what is not UTF-8 is refused with its bytes and a remedy, in every language", on=LINUX)
def _(t):
    latin = os.fsencode(t.home) + b"/gr\xfcn"
    os.mkdir(latin)
    for env in LOCALES:
        says(t, t.run("run", "--", "true", cwd=latin, env=env), 125, 'gr\\xfcn" is not valid UTF-8', "\n  fix: ")
        says(t, t.run("run", "--", b"n\xf6", env=env), 125, '"n\\xf6"', "nothing was run; ")
    os.rmdir(latin)


@promise("boxes work below directories with spaces, quotes and foreign letters, and messages name them", on=LINUX)
def _(t):
    needs_box(t)
    for name in NAMES:
        place = t.home / name
        place.mkdir()
        env = {"HOME": str(place)}
        done = t.run("run", "--", "sh", "-c", 'printf %s "$PWD" && : > "a b"', cwd=place, env=env)
        t.equal((done.status, done.out, done.err), (0, str(place), ""), done)
        t.true((place / "a b").exists(), name)
        denied = t.run("run", "--", "touch", "/usr/sbx-places", cwd=place, env=env)
        says(t, denied, 1, "sbx: denied: creation of")
        t.true(not os.path.exists("/usr/sbx-places"), name)
        found = t.manifest(WIDER, below=place)
        refused = t.run("run", "--", "true", cwd=place, env=env)
        says(t, refused, 125, "manifest-untrusted", "\n  fix: ")
        # The remedy is a line for a shell: it has to work as it stands.
        line = refused.err.split("accept this content with: ")[-1].splitlines()[0]
        if name.isprintable():
            helped = subprocess.run(["sh", "-c", line.replace("sbx ", f"{t.copy_of_sbx()} ", 1)], cwd=t.directory,
                                    env=t.environment(env), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            t.equal(helped.returncode, 0, f"{line}\n{helped.stdout}")
            t.equal(t.run("run", "--", "true", cwd=place, env=env).status, 0, name)
        found.unlink()


@promise("on a full disk boxes work, what must be written says that there is no space, and nothing half is left", on=LINUX)
def _(t):
    needs_root(t)
    needs_box(t)
    prefix = full(t.home)
    env = {name: str(t.home) for name in ("TMPDIR", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR")}
    done = t.run("run", "--", "sh", "-c", "echo in the box; ls -A", env=env, prefix=prefix)
    t.equal((done.status, done.out, done.err), (0, "in the box\n", ""), done)
    done = t.run("run", "--", "dd", "if=/dev/zero", "of=new", "bs=4k", "count=1", env=env, prefix=prefix)
    says(t, done, 1, "No space left on device")
    t.lacks(done.err, "sbx: denied", "the box did not do it")
    done = t.run("init", env=env, prefix=prefix)
    says(t, done, 1, 'cannot write "sbx.toml": no space left')
    result = t.home / "result.json"
    done = t.run("run", "--result", result, "--", "true", env=env, prefix=prefix)
    t.has(done.err, "the outcome could not be written", done)
    t.has(done.err, "no space left", done)
    t.equal(t.run("doctor", env=env, prefix=prefix).status, 0)
    t.equal(t.run("run", "--", "dd", "if=/dev/zero", "of=new", "bs=4k", "count=1").status, 0, "and elsewhere there is room")


@promise("an answer that cannot be written is not a success", on=LINUX)
def _(t):
    with open("/dev/full", "wb") as nowhere:
        done = t.run("doctor", stdout=nowhere)
    says(t, done, 1, "the answer could not be written", "no space left")


# As in a container that forbids them: a user namespace that allows no further one.
BARREN = (UNSHARE, "-U", "-r", "/bin/sh", "-c", 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"', "sh")


@promise("where no user namespace can be made, it says which setting forbids it, and the weaker way that works", on=LINUX)
def _(t):
    done = t.run("run", "--", "true", prefix=BARREN)
    says(t, done, 125, "tried: native", "the limit on user namespaces is reached", "set the sysctl user.max_user_namespaces to more than 0",
         "\n  more: sbx doctor")
    t.lacks(done.err, "no space left", done)
    doctor = t.run("doctor", prefix=BARREN)
    t.equal(doctor.status, 1, doctor)
    t.equal(row(t, doctor, "namespaces")[0], "warn")
    t.equal(row(t, doctor, "run")[0], "fail")
    if row(t, doctor, "landlock")[0] == "ok":
        t.equal(t.run("run", "--mode", "read-only", "--", "true", prefix=BARREN).status, 0, "Landlock alone holds that")


# Everything of the machine below another root directory.
OTHER_ROOT = """
mount -t tmpfs -o mode=755 none "$0"
for entry in /*; do
    if [ -L "$entry" ]; then
        cp -P "$entry" "$0$entry"
    elif [ -d "$entry" ]; then
        mkdir "$0$entry" && mount --rbind "$entry" "$0$entry"
    fi
done
"""


@promise("a refusal that only trying shows has its remedy too, also after a home that was used elsewhere", on=LINUX)
def _(t):
    needs_root(t)
    needs_box(t)
    # The kernel makes no user namespace for a process in a chroot; what was learned outside does not hold there.
    t.equal(t.run("run", "--", "true").status, 0)
    inner = t.directory / "root"
    inner.mkdir()
    program = t.copy_of_sbx()
    prefix = (UNSHARE, "--mount", "/bin/sh", "-c", OTHER_ROOT + 'exec chroot "$0" "$@"', inner, "setpriv", "--reuid", "64999", "--regid", "64999", "--clear-groups",
              "/bin/sh", "-c", 'cd "$0" && exec "$@"', t.project)
    shutil.chown(t.home, 64999)
    t.home.chmod(0o777)
    for state in t.home.rglob("*"):
        shutil.chown(state, 64999)
    t.equal(t.run("run", "--", "true", user=64999, group=64999, extra_groups=()).status, 0, "outside it works")
    done = t.run("run", "--", "true", prefix=prefix, program=program)
    says(t, done, 125, "sandbox UNAVAILABLE", "tried: native       cannot make the namespaces of the box: operation not permitted",
         "--mode read-only", "\n  more: sbx doctor")


@promise("a program that a private directory hides is told as hidden, and the remedy shows it", on=LINUX)
def _(t):
    needs_box(t)
    program = t.directory / "program"  # below /tmp, of which a box has its own
    if not str(t.directory).startswith("/tmp/"):
        t.skip("tmp", "the cases are not below /tmp")
    shutil.copy("/bin/true", program)
    done = t.run("run", "--", program)
    says(t, done, 127, f'"{program}" exists, but "/tmp" is private and empty in the box', f"\n  fix: show it to the box: -r {program}")
    t.equal(t.run("run", "-r", program, "--", program).status, 0, "the remedy helps")


@promise("inside another box sbx refuses, and doctor says that it is below somebody's filter", on=LINUX)
def _(t):
    needs_box(t)
    program = pathlib.Path(t.copy_of_sbx())
    nested = t.run("run", "-r", program, "--", program, "run", "--", "true")
    says(t, nested, 125, "sandbox UNAVAILABLE", "a filter hides it")
    doctor = t.run("run", "-r", program, "--", program, "doctor")
    status, text = row(t, doctor, "nested")
    t.equal((status, doctor.status), ("warn", 1), doctor)
    t.has(text, "start sbx outside of it")


main()
