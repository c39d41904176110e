"""A box runs as the user and group of its manifest: taken on before it is built, by root only."""

import os

from boxed import BACKEND, each, main, unused_uid

BACKENDS = ((BACKEND, ()), ("landlock", ("--mode", "read-only", "-C", "/")))


def told(box, *options, backend=BACKEND, command=("id",)):
    return box.run(*command, options=options, sbx_env={"SBX_SANDBOX": backend})


@each("root runs a box as another user, with that user's groups and no other", identities=("root",))
def _(box):
    uid = unused_uid()
    box.project.chmod(0o777)
    for backend, options in BACKENDS:
        done = told(box, "--user", str(uid), *options, backend=backend, command=("sh", "-c", "id -u; id -g; id -G"))
        box.t.equal((done.status, done.out.split()), (0, [str(uid)] * 3), done)
        # The control: the same without the key is root.
        done = told(box, *options, backend=backend, command=("id", "-u"))
        box.t.equal((done.status, done.out.strip()), (0, "0"), done)


@each("what such a box writes belongs to that user, and root's files stay closed to it", identities=("root",))
def _(box):
    uid = unused_uid()
    box.project.chmod(0o777)
    secret = box.write("secret", "root only\n", mode=0o600)
    script = f"echo mine > made; cat {secret}"
    done = told(box, "--user", str(uid), command=("sh", "-c", script))
    box.t.true(done.status != 0 and "root only" not in done.out, done)
    box.t.equal(os.stat(box.project / "made").st_uid, uid, done)
    done = told(box, command=("cat", str(secret)))
    box.t.equal((done.status, done.out), (0, "root only\n"), done)


@each("a group alone changes the group alone", identities=("root",))
def _(box):
    done = told(box, "--group", "7", command=("sh", "-c", "id -u; id -g"))
    box.t.equal((done.status, done.out.split()), (0, ["0", "7"]), done)


@each("limits hold for another user's box too, and its group goes away", identities=("root",))
def _(box):
    before = box.watch()
    box.project.chmod(0o777)
    hog = "x = bytearray(300 << 20)"
    done = told(box, "--user", str(unused_uid()), "-m", "64M", command=("python3", "-c", hog))
    box.t.equal(done.status, 124 if "ended: memory" in done.err else 1, done)
    box.t.true(done.status != 0, done)
    before.unchanged("after a limit")


@each("an unknown user or group is refused, and nothing runs", identities=("root",))
def _(box):
    for option in ("--user", "--group"):
        done = told(box, option, "sbx-nobody-has-this", command=("touch", "ran"))
        box.t.equal((done.status, (box.project / "ran").exists()), (125, False), done)
        box.t.has(done.err, "on this machine", done)


@each("an ordinary user cannot be another, and can be itself", identities=("user",))
def _(box):
    done = told(box, "--user", "0", command=("touch", "ran"))
    box.t.equal((done.status, (box.project / "ran").exists()), (125, False), done)
    box.t.has(done.err, "only root", done)
    done = told(box, "--user", str(box.uid), command=("id", "-u"))
    box.t.equal((done.status, done.out.strip()), (0, str(box.uid)), done)


main()
