"""A scratch world to attack: a workspace, what lies outside it, and things of the host that are not files.

A world is made fresh for every run, because an attack that works changes it. All of it belongs to the user who is to
be the attacker, so that only the box stands in the way."""

import ctypes
import os
import pathlib
import random
import select
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import threading
import time

SECRET = b"planted:secret\n"
CHANGES = ("chmod fchmod fchmodat2 chown fchown times own_times utimes xattr fxattr remove_xattr truncate rename "
           "rename_in link unlink flags").split()
LIBC = ctypes.CDLL(None, use_errno=True)
SESSION_KEYRING = -3
SYS_ADD_KEY, SYS_KEYCTL = (248, 250) if os.uname().machine == "x86_64" else (217, 219)
# No account has this number, and no other test that runs at the same time: nothing else runs under it.
OTHER_USER = 65000 + os.getpid() % 400


class Identity:
    """Who attacks: options for subprocess, and a change of owner for files."""

    def __init__(self, name):
        self.name = name
        self.uid = os.geteuid() if name == "root" or os.geteuid() != 0 else OTHER_USER
        self.options = {} if self.uid == os.geteuid() else {
            "user": self.uid, "group": self.uid, "extra_groups": []}

    def missing(self):
        """Why it cannot be had here, or None."""
        return "not started as root" if self.name == "root" and os.geteuid() != 0 else None

    def own(self, *paths):
        if self.options:
            for path in paths:
                os.chown(path, self.uid, self.uid, follow_symlinks=False)


def serve(listener, datagram=False):
    """Answers whoever says something with a secret, until the socket is closed."""
    def loop():
        while True:
            try:
                if datagram:
                    _, sender = listener.recvfrom(100)
                    if sender:
                        listener.sendto(SECRET, sender)
                    continue
                connection, _ = listener.accept()
                connection.settimeout(2)
                with connection:
                    if connection.recv(100):
                        connection.sendall(SECRET)
            except socket.timeout:
                continue
            except OSError:
                return
    threading.Thread(target=loop, daemon=True).start()


class Host:
    """What the machine has besides files: servers, System V, a queue, shared memory. One for all worlds."""

    def __init__(self):
        self.closers = []
        self.key = random.randrange(1 << 16, 1 << 30)
        self.names = {"ipckey": self.key}
        self._servers()
        self._shared()

    def _servers(self):
        for name, family, kind in (("tcp", socket.AF_INET, socket.SOCK_STREAM),
                                   ("tcp6", socket.AF_INET6, socket.SOCK_STREAM),
                                   ("udp", socket.AF_INET, socket.SOCK_DGRAM)):
            try:
                server = socket.socket(family, kind)
                server.bind(("::1" if family == socket.AF_INET6 else "127.0.0.1", 0))
            except OSError:  # a machine without IPv6: the control then finds nobody, and the case is skipped
                self.names[name] = 1
                continue
            if kind == socket.SOCK_STREAM:
                server.listen(64)
            self.names[name] = server.getsockname()[1]
            serve(server, kind == socket.SOCK_DGRAM)
            self.closers.append(server.close)
        abstract = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.names["abstract"] = f"sbx-fence-{self.key}"
        abstract.bind("\0" + self.names["abstract"])
        abstract.listen(64)
        serve(abstract)
        self.closers.append(abstract.close)

    def _shared(self):
        segment = LIBC.shmget(self.key, 4096, 0o1666)
        LIBC.shmat.restype = ctypes.c_void_p
        address = LIBC.shmat(segment, None, 0)
        ctypes.memmove(address, SECRET, len(SECRET))
        self.names["shmid"] = segment
        self.closers.append(lambda: LIBC.shmctl(segment, 0, None))
        queue = LIBC.msgget(self.key, 0o1666)
        self.closers.append(lambda: LIBC.msgctl(queue, 0, None))
        semaphores = LIBC.semget(self.key, 1, 0o1666)
        self.closers.append(lambda: LIBC.semctl(semaphores, 0, 0))
        name = f"/sbx-fence-{self.key}"
        old = os.umask(0)
        LIBC.mq_open(name.encode(), os.O_CREAT | os.O_RDWR, 0o666, None)
        shared = pathlib.Path("/dev/shm") / name[1:]
        shared.write_bytes(SECRET)
        shared.chmod(0o666)
        os.umask(old)
        self.names["queue"] = name
        self.names["shmfile"] = name[1:]
        self.closers.append(lambda: LIBC.mq_unlink(name.encode()))
        self.closers.append(lambda: shared.unlink(missing_ok=True))

    def close(self):
        for closer in self.closers:
            closer()


def join_keyring():
    """In a child: a session keyring of its own with a secret in it."""
    LIBC.syscall(SYS_KEYCTL, 1, None)
    LIBC.syscall(SYS_ADD_KEY, b"user", b"sbx-fence", SECRET, len(SECRET), SESSION_KEYRING)


class World:
    """The directories, and a process of the host to aim at."""

    def __init__(self, host, identity, probe):
        self.identity = identity
        self.top = pathlib.Path(os.path.realpath(tempfile.mkdtemp(prefix="sbx-fence-")))
        self.top.chmod(0o755)
        self.listeners = []
        self.bystander = None
        for name in ("tools", "ro", "outside", "work", "work2", "home", "scratch"):
            setattr(self, name, self.top / name)
            getattr(self, name).mkdir()
        self._tools(probe)
        self._files()
        self._sockets()
        for root, directories, files in os.walk(self.top):
            if pathlib.Path(root) != self.tools:
                identity.own(root, *(os.path.join(root, name) for name in directories + files))
        os.chown(self.tools, 0 if os.geteuid() == 0 else os.geteuid(), -1)
        self._bystander()
        self.names = {**host.names, "world": self.top, "tools": self.tools, "ro": self.ro, "outside": self.outside,
                      "work": self.work, "work2": self.work2, "home": self.home, "key": "sbx-fence",
                      "hostpid": self.bystander.pid, "hostgroup": self.bystander.pid,
                      "hostmnt": os.readlink("/proc/self/ns/mnt")}

    def _tools(self, probe):
        self.probe = self.tools / "sbx-probe"
        shutil.copy(probe, self.probe)
        shutil.copy(pathlib.Path(probe).with_name("sbx-sequence"), self.tools)
        copy = self.tools / "probe-set-user-id"
        shutil.copy(probe, copy)
        copy.chmod(0o4755)

    def put(self, path, data=SECRET):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    def _files(self):
        for place in (self.ro, self.outside):
            for name in CHANGES:
                path = self.put(place / f"for-{name}", b"plain text\n")
                try:
                    os.setxattr(path, "user.sbx-planted", b"x")
                except OSError:
                    pass  # the control then fails, and the case is skipped with that reason
        for path in (self.ro / "file", self.outside / "linked", self.work / "plain.txt"):
            self.put(path, b"plain text\n")
        for path in (self.ro / "denied/secret", self.outside / "secret", self.work / "secrets/key",
                     self.work / "lib/hidden.env", self.home / ".ssh/id_test"):
            self.put(path)
        os.link(self.outside / "linked", self.work / "hard-linked")
        os.symlink("../outside/secret", self.work / "planted-link")
        for name in ("repo", "repo-away", "repo-exchange", "repo-exchange-parent", "nested/a/b", "nested/deep/er",
                     "repo-commit"):
            git = self.work / name / ".git"
            self.put(git / "config", b"[core]\n")
            (git / "hooks").mkdir()
            (git / "info").mkdir()
        (self.work / "repo-commit/.git/modules/m/hooks").mkdir(parents=True)
        self.put(self.work2 / ".git/config", b"[core]\n")
        (self.work2 / ".git/hooks").mkdir()
        self.put(self.work / "there/.envrc", b"plain text\n")
        self.put(self.work / "tree/.git", b"gitdir: ../store\n")
        self.put(self.work / "store/config", b"[core]\n")
        self.put(self.work / "store/HEAD", b"ref: refs/heads/main\n")
        (self.work / "store/hooks").mkdir()
        self.put(self.work / "tree2/.git", f"gitdir: {self.outside}/gitdir\n".encode())
        self.put(self.outside / "gitdir/config", b"[core]\n")
        (self.work / "absent").mkdir()
        (self.work / "mnt").mkdir()
        (self.home / ".local/state/sbx").mkdir(parents=True)

    def _sockets(self):
        for path, kind in ((self.ro / "socket", socket.SOCK_STREAM), (self.work / "socket", socket.SOCK_STREAM),
                           (self.ro / "datagram", socket.SOCK_DGRAM)):
            server = socket.socket(socket.AF_UNIX, kind)
            server.bind(str(path))
            if kind == socket.SOCK_STREAM:
                server.listen(64)
            serve(server, kind == socket.SOCK_DGRAM)
            self.listeners.append(server)

    def _bystander(self):
        self.heard = self.top / "heard"
        self.heard.touch()
        self.identity.own(self.heard)
        self.bystander = subprocess.Popen(
            [self.probe, "--bystander", self.heard], stdout=subprocess.PIPE, process_group=0,
            env={"PLANTED": SECRET.decode()}, **self.identity.options)
        self.bystander.stdout.readline()

    def got_signals(self):
        """How many reached the process of the host; one that no longer answers counts as reached."""
        answer = self.bystander.stdout.fileno()
        self.bystander.send_signal(signal.SIGRTMIN)
        answers = select.select([answer], [], [], 10)[0] and os.read(answer, 1) == b"."
        return max(self.heard.stat().st_size, 0 if answers else 1)

    def close(self):
        self.bystander.kill()
        self.bystander.wait()
        self.bystander.stdout.close()
        for server in self.listeners:
            server.close()
        remove(self.top)


def remove(top):
    """Also what is too deep for names, or has modes that forbid it."""
    subprocess.run(["chmod", "-R", "u+rwx", top], check=False, stderr=subprocess.DEVNULL)
    subprocess.run(["rm", "-rf", top], check=False, stderr=subprocess.DEVNULL)


# ---- looking from outside ----

def fingerprint(place, skip=()):
    """{path: all that an attack could have changed} of everything below."""
    found = {}
    for root, directories, files in os.walk(place):
        for name in [".", *directories, *files]:
            path = os.path.join(root, name)
            if os.path.relpath(path, place) in skip:
                continue
            state = os.lstat(path)
            data = b""
            if stat.S_ISREG(state.st_mode):
                data = pathlib.Path(path).read_bytes()
            elif stat.S_ISLNK(state.st_mode):
                data = os.readlink(path).encode()
            try:
                attributes = [(key, os.getxattr(path, key, follow_symlinks=False))
                              for key in sorted(os.listxattr(path, follow_symlinks=False))]
            except OSError:
                attributes = []
            found[os.path.relpath(path, place)] = (
                stat.S_IFMT(state.st_mode), stat.S_IMODE(state.st_mode), state.st_uid, state.st_gid, state.st_nlink,
                state.st_mtime_ns if name != "." or skip == () else 0, data, attributes)
    return found


def differences(before, after):
    return ([f"gone: {path}" for path in sorted(before.keys() - after.keys())]
            + [f"new: {path}" for path in sorted(after.keys() - before.keys())]
            + [f"changed: {path}: {before[path][:6]} -> {after[path][:6]}"
               for path in sorted(before.keys() & after.keys()) if before[path] != after[path]])


def dangerous(place):
    """Set-user-ID files, devices, files with capabilities below a place."""
    found = []
    for root, directories, files in os.walk(place):
        for name in directories + files:
            path = os.path.join(root, name)
            state = os.lstat(path)
            if stat.S_ISBLK(state.st_mode) or stat.S_ISCHR(state.st_mode):
                found.append(f"device {path}")
            if state.st_mode & (stat.S_ISUID | stat.S_ISGID) and not stat.S_ISLNK(state.st_mode):
                found.append(f"mode {stat.S_IMODE(state.st_mode):o} {path}")
            if not stat.S_ISLNK(state.st_mode) and "security.capability" in os.listxattr(path):
                found.append(f"capabilities {path}")
    return found


def processes_of(text, but=()):
    """Processes whose command line names the text."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) not in (os.getpid(), *but):
            try:
                words = pathlib.Path("/proc", entry, "cmdline").read_bytes()
            except OSError:
                continue
            if str(text).encode() in words:
                found.append(f"{entry}: {words!r}")
    return found


def mounts():
    return sorted(line.split(" ", 1)[1] for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines())


def owner_lives(name):
    """Whether the sbx a group is named after (sbx-PID-START-NUMBER) still runs: then the group is in use."""
    try:
        pid, start = name.split("-")[1:3]
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[19] == start
    except (OSError, ValueError, IndexError):
        return False


def cgroups():
    """Groups that dead sbx left."""
    found = set()
    for root, directories, _ in os.walk("/sys/fs/cgroup"):
        found |= {os.path.join(root, name) for name in directories
                  if name.startswith("sbx-") and not owner_lives(name)}
    return found


def left_cgroups(before):
    """Groups that were not there before and are still there a second later. Tests that kill sbx run beside this one: what
    they leave is gone by then, as is promised of every box."""
    found = cgroups() - before
    end = time.monotonic() + 1
    while found and time.monotonic() < end:
        time.sleep(0.05)
        found &= cgroups()
    return sorted(found)
