"""sbxd as a daemon: where it listens, whom it talks to, how it ends, what it keeps warm."""

import os
import pathlib
import pwd
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import time

import peer
import tap


def serves(function):
    """The case gets a daemon."""
    def case():
        daemon = peer.Daemon()
        try:
            return function(daemon)
        finally:
            daemon.end()
    case.__doc__ = function.__doc__
    return case


@serves
def place(daemon):
    """the socket is its user's alone, in a directory that is"""
    assert stat.S_IMODE(os.stat(daemon.path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(daemon.path.parent).st_mode) == 0o700


@serves
def second(daemon):
    """a second daemon at the same place is refused, and the first goes on"""
    other = subprocess.run([str(peer.SBXD), "--socket", str(daemon.path)], stderr=subprocess.PIPE, env=daemon.env)
    assert other.returncode == 1 and b"another sbxd listens" in other.stderr
    result, out = daemon.client().run("echo", "here", **peer.READ)
    assert (result["status"], out) == (0, "here\n")


@serves
def left_behind(daemon):
    """the socket of a killed daemon is replaced"""
    daemon.kill()
    assert daemon.path.exists()
    daemon.start()
    assert daemon.client().run("true", **peer.READ)[0]["status"] == 0


def refused_places():
    """a directory that others may write, a link, and a file at the socket's place are refused with a remedy"""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="sbx-service-"))
    try:
        (folder / "open").mkdir()
        (folder / "open").chmod(0o777)
        (folder / "own").mkdir(mode=0o700)
        (folder / "link").symlink_to(folder / "own")
        (folder / "file").mkdir(mode=0o700)
        (folder / "file" / "sbx.sock").write_text("mine")
        for name in ("open", "link", "file"):
            done = subprocess.run([str(peer.SBXD), "--socket", str(folder / name / "sbx.sock")],
                                  stderr=subprocess.PIPE, timeout=peer.SECONDS)
            assert done.returncode == 1, name
            assert b"sbxd: " in done.stderr
        assert (folder / "file" / "sbx.sock").read_text() == "mine"
    finally:
        shutil.rmtree(folder)


def activated():
    """systemd's socket is used, and systemd is told when it is ready and when it stops"""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="sbx-service-"))
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(folder / "sock"))
    listener.listen(8)
    told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    told.bind(str(folder / "notify"))
    told.settimeout(peer.SECONDS)
    child = os.fork()
    if child == 0:
        os.dup2(listener.fileno(), 3)
        os.set_inheritable(3, True)
        os.environ.update({"LISTEN_FDS": "1", "LISTEN_PID": str(os.getpid()), "NOTIFY_SOCKET": str(folder / "notify")})
        os.execv(peer.SBXD, ["sbxd"])
    try:
        assert told.recv(64) == b"READY=1"
        client = peer.Client(folder / "sock")
        assert client.run("true", **peer.READ)[0]["status"] == 0
        os.kill(child, signal.SIGTERM)
        assert told.recv(64) == b"STOPPING=1"
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert (folder / "sock").exists(), "the socket is systemd's"
    finally:
        listener.close()
        told.close()
        shutil.rmtree(folder)


@serves
def boxed_peer(daemon):
    """a process in a box that was given the socket is not talked to"""
    program = ("import socket,sys\ns=socket.socket(socket.AF_UNIX)\ns.settimeout(60)\ns.connect(sys.argv[1])\n"
               "try:\n s.sendall(b'{}\\n')\n got=s.recv(100)\nexcept ConnectionError:\n got=b''\nprint('answered' if got else 'refused')\n")
    words = ["unshare", "--user", "--pid", "--fork", "python3", "-c", program, str(daemon.path)]
    outside = subprocess.run(words[4:], stdout=subprocess.PIPE, timeout=peer.SECONDS)
    assert outside.stdout == b"answered\n", outside
    inside = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=peer.SECONDS)
    if b"unshare" in inside.stderr:
        return "no namespaces for tests"
    assert inside.stdout == b"refused\n", inside
    return None


@serves
def drained(daemon):
    """SIGTERM lets what runs end, takes nothing new, and then the daemon ends"""
    client = daemon.client()
    run = client.call("run.start", argv=["sh", "-c", "echo ready; read line; echo $line"], stdin="pipe", **peer.READ)["run"]
    client.note("output", run)
    daemon.process.send_signal(signal.SIGTERM)
    peer.until(lambda: not daemon.answers(), "nobody new is taken")
    refused = client.call("run.start", argv=["true"], **peer.READ)
    assert refused["error"]["data"]["name"] == "shutting_down", refused
    assert daemon.process.poll() is None
    client.call("run.stdin", run=run, data="done\n", eof=True)
    assert client.note("exited", run)["result"]["status"] == 0
    assert daemon.process.wait(peer.SECONDS) == 0
    assert not daemon.path.exists()


def drain_ends():
    """what does not end in its time is ended with the daemon"""
    daemon = peer.Daemon("--drain", "1")
    try:
        client = daemon.client()
        run = client.call("run.start", argv=["sleep", "1000"], **peer.READ)["run"]
        daemon.process.send_signal(signal.SIGTERM)
        assert client.note("exited", run)["result"]["limit"] == "cancel"
        assert daemon.process.wait(peer.SECONDS) == 0
    finally:
        daemon.end()


@serves
def warm(daemon):
    """a run like the one before is warm, and its box and result are those of a cold one"""
    client = daemon.client()
    words = ["sh", "-c", "grep -c . /proc/self/mountinfo; touch /etc/x; grep Seccomp: /proc/self/status"]
    cold, cold_out = client.run(*words, **peer.READ)
    assert not cold["warm"]
    results = []

    def becomes_warm():
        results.append(client.run(*words, **peer.READ))
        return results[-1][0]["warm"]
    peer.until(becomes_warm, "a box is ready")
    hot, hot_out = results[-1]
    assert hot_out == cold_out
    for key in ("status", "plan_digest", "manifest", "selection", "tiers", "denials", "findings"):
        assert hot[key] == cold[key], (key, hot[key], cold[key])


@serves
def warm_follows(daemon):
    """a manifest that changed counts at once, also for boxes that stood ready"""
    folder = daemon.folder / "project"
    (folder / ".git").mkdir(parents=True)
    manifest = folder / "sbx.toml"
    manifest.write_text('[sandbox]\nmode = "workspace-write"\n')
    client = daemon.client()
    touch = ["sh", "-c", "touch made && echo yes"]
    peer.until(lambda: client.run(*touch, cwd=str(folder))[0].get("warm"), "a box is ready")
    manifest.write_text('[sandbox]\nmode = "read-only"\n')
    result, out = client.run(*touch, cwd=str(folder))
    assert result["status"] != 0 and "yes" not in out, (result, out)


@serves
def leaves_nothing(daemon):
    """thousands of runs leave no descriptor and no process behind"""
    count = int(os.environ.get("SBX_SERVICE_RUNS", "150"))
    client = daemon.client()

    def some(number):
        for _ in range(number):
            assert client.run("true", **peer.READ)[0]["status"] == 0
    some(30)
    idle = []
    peer.until(lambda: idle.append(daemon.fds()) or len(idle) > 25 and len(set(idle[-25:])) == 1, "it has settled")
    before = daemon.fds()
    some(count)
    client.run("nosuchprogram", **peer.READ)
    peer.until(lambda: daemon.fds() <= before, f"no more than {before} descriptors, not {daemon.fds()}")


@serves
def client_gone(daemon):
    """the runs of a client that goes away end"""
    mark = f"mark-{os.getpid()}-gone"
    client = daemon.client()
    run = client.call("run.start", argv=["sh", "-c", "echo ready; sleep 1000", mark], **peer.READ)["run"]
    client.note("output", run)
    assert peer.marked(mark)
    client.close()
    peer.until(lambda: not peer.marked(mark), "its processes are gone")


def system():
    """the system service runs each user's commands as that user, and shows nobody another's runs"""
    if os.geteuid() != 0:
        return "only root can be the system service"
    users = [entry for entry in (pwd.getpwnam("nobody"), pwd.getpwnam("daemon"))]
    daemon = peer.Daemon("--system", "--idle", "1")
    try:
        daemon.folder.chmod(0o755)
        program = ("import json,os,socket,sys\ns=socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\nf=s.makefile('rw')\n"
                   "def ask(i,m,**p):\n f.write(json.dumps({'jsonrpc':'2.0','id':i,'method':m,'params':p})+'\\n'); f.flush()\n"
                   " while True:\n  l=json.loads(f.readline())\n  if l.get('id')==i: return l\n"
                   "ask(1,'hello',protocol=[1],client={'name':'t','version':'1'})\n"
                   "seen=ask(2,'run.list')['result']['runs']\n"
                   "r=ask(3,'run.start',argv=['sh','-c','id -u; id -g; touch made'],cwd=sys.argv[2],"
                   "manifest={'sandbox':{'mode':'workspace-write'}})\n"
                   "w=ask(4,'run.wait',run=r['result']['run'])['result'] if 'result' in r else r\n"
                   "print(json.dumps({'seen':seen,'status':w.get('status'),'raw':w}))\n")
        for user in users:
            home = daemon.folder / user.pw_name
            home.mkdir()
            os.chown(home, user.pw_uid, user.pw_gid)
            done = subprocess.run(["python3", "-c", program, str(daemon.path), str(home)], user=user.pw_uid,
                                  group=user.pw_gid, extra_groups=[], cwd="/", stdout=subprocess.PIPE,
                                  timeout=peer.SECONDS)
            answer = peer.json.loads(done.stdout)
            assert answer["seen"] == [] and answer["status"] == 0, answer
            made = os.stat(home / "made")
            assert (made.st_uid, made.st_gid) == (user.pw_uid, user.pw_gid), made
        children = f"/proc/{daemon.process.pid}/task/{daemon.process.pid}/children"
        peer.until(lambda: not open(children, encoding="ascii").read(), "workers without clients end")
        return None
    finally:
        daemon.end()


if __name__ == "__main__":
    tap.play([place, second, left_behind, refused_places, activated, boxed_peer, drained, drain_ends, warm, warm_follows,
              leaves_nothing, client_gone, system])
