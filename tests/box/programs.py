"""Everyday programs do their work in a strict box."""

import pathlib
import shutil
import socket
import textwrap
import threading

from boxed import each, main

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
# What the build of one library needs.
ROOMS = ("CMakeLists.txt", "cmake", "common", "posix", "LICENSE", "README.md", "CHANGELOG.md", "docs/man")


def works(box, *command, says="", seconds=60, **more):
    done = box.run(*command, seconds=seconds, **more)
    box.t.equal(done.status, 0, done)
    box.t.has(done.out, says, done)
    return done


@each("sh: pipes, here documents, background jobs, traps, redirections")
def _(box):
    works(box, "sh", "-c", textwrap.dedent("""\
        set -eu
        seq 100 | sort -rn | head -1 | tee first > second
        test "$(cat first)" = 100
        cat > document <<END
        $((6 * 7)) lines
        END
        (sleep 0.05; echo late > job) & wait $!
        cat job document
        trap 'echo trapped' EXIT
        mkfifo pipe; (echo through > pipe) & read -r line < pipe; echo "$line"
        find . -name 'f*' -type f | wc -l
        umask 077; mkdir private; stat -c %a private
        cp document copy; mv copy moved; ln moved linked; ln -s moved soft; cmp soft linked; rm soft linked
        """), says="late\n42 lines\nthrough\n1\n700\ntrapped\n")


FIFO = """
import os, threading
os.mkfifo("pipe")
def write(flags):
    fd = os.open("pipe", flags, 0o600); os.write(fd, b"x"); os.close(fd)
for turn in range(300):
    for reader, writer in ((os.O_RDONLY, os.O_WRONLY | os.O_CREAT), (os.O_RDONLY | os.O_CREAT, os.O_WRONLY)):
        thread = threading.Thread(target=write, args=(writer,)); thread.start()
        fd = os.open("pipe", reader, 0o600); assert os.read(fd, 9) == b"x", turn; os.close(fd)
        thread.join()
print("joined")
"""


@each("a FIFO joins its two ends, whoever comes first and whoever would make the file")
def _(box):
    box.has("python3")
    works(box, "python3", "-c", FIFO, says="joined\n")


WRITTEN = """
import os, fcntl, shutil
program = open("/bin/true", "rb").read()
for turn in range(200):
    fd = os.open("program", os.O_CREAT | os.O_WRONLY, 0o755); os.write(fd, program); os.close(fd)
    pid = os.posix_spawn("program", ["program"], {}); assert os.waitpid(pid, 0)[1] == 0, turn
    os.unlink("program")
    fd = os.open("lock", os.O_CREAT | os.O_WRONLY, 0o600); fcntl.flock(fd, fcntl.LOCK_EX); os.close(fd)
    fd = os.open("lock", os.O_RDONLY); fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB); os.close(fd)
print("clean")
"""


@each("a file that was closed is closed: it can be executed, and its lock is free")
def _(box):
    box.has("python3")
    works(box, "python3", "-c", WRITTEN, says="clean\n")


@each("a box of a mode has HOME, LANG, PATH and TERM of the caller, and nothing else of its environment")
def _(box):
    secret = {"PLANTED": "planted", "AWS_SECRET_ACCESS_KEY": "planted", "LD_LIBRARY_PATH": "/planted"}
    done = box.sbx("run", "--", "env", env={**secret, "TERM": "dumb", "LANG": "C"})
    names = {line.partition("=")[0] for line in done.out.splitlines()}
    box.t.equal((done.status, names - {"HOME", "LANG", "PATH", "TERM"}), (0, set()), done)
    box.t.has(done.out, "TERM=dumb\n", done)
    box.t.lacks(done.out, "planted", done)


@each("bash: process substitution, arrays, coprocesses, here strings")
def _(box):
    box.has("bash")
    works(box, "bash", "-c", textwrap.dedent("""\
        set -euo pipefail
        diff <(echo same) <(echo same)
        list=(a b c); echo "${#list[@]} ${list[-1]}"
        read -r word <<< "here string"; echo "$word"
        coproc { cat; }; echo through >&"${COPROC[1]}"; read -r line <&"${COPROC[0]}"; echo "$line"
        exec 7> seven; echo seven >&7; exec 7>&-; cat seven
        """), says="3 c\nhere string\nthrough\nseven\n")


@each("git: status, add, commit, branch, rebase, stash and worktrees")
def _(box):
    box.has("git")
    box.write("a", "1\n")
    for words in ("init -q -b main .", "config user.name Test", "config user.email test@invalid", "add a",
                  "commit -q -m first", "worktree add -q ../project-side -b side"):
        box.outside("git", *words.split())
    works(box, "sh", "-euc", textwrap.dedent("""\
        git status --porcelain | wc -l
        echo 2 >> a; git add a; git commit -q -m second
        git checkout -q -b topic HEAD~1
        echo b > b; git add b; git commit -q -m third
        git rebase -q main
        echo 3 >> a; git stash -q; git stash pop -q; git diff --stat | tail -1
        git checkout -q a; git log --oneline --all | wc -l; git worktree list | wc -l
        """), options=("--strict", "--git", "commit"), says=" 1 file changed, 1 insertion(+)\n3\n2\n")
    done = works(box, "git", "log", "--format=%s", "topic")
    box.t.equal(done.out.split(), ["third", "second", "first"], done)
    box.t.equal(box.outside("git", "fsck", "--strict")[0], 0)


ASYNC = """
import asyncio, sys
async def main():
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", "print(6 * 7)", stdout=asyncio.subprocess.PIPE)
    out, _ = await child.communicate()
    loop = asyncio.get_running_loop()
    number = await loop.run_in_executor(None, lambda: 1)
    server = await asyncio.start_server(lambda r, w: (w.write(b"served"), w.close()), "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    print(out.decode().strip(), number, (await reader.read()).decode())
    writer.close(); server.close()
asyncio.run(main())
"""
MULTI = """
import multiprocessing, threading, queue
def double(n): return 2 * n
if __name__ == "__main__":
    for method in ("fork", "spawn", "forkserver"):
        try:
            with multiprocessing.get_context(method).Pool(2) as pool:
                print(method, pool.map(double, range(3)))
        except OSError as problem:
            print(method, type(problem).__name__)
    found = queue.Queue()
    threads = [threading.Thread(target=found.put, args=(n,)) for n in range(8)]
    [thread.start() for thread in threads]; [thread.join() for thread in threads]
    print("threads", found.qsize())
    lock = multiprocessing.Lock(); shared = multiprocessing.Value("i", 7)
    print("shared", shared.value)
"""
FILES = """
import tempfile, sqlite3, os, mmap, fcntl, selectors, signal, subprocess
with tempfile.NamedTemporaryFile() as one, tempfile.TemporaryDirectory(dir=".") as two:
    one.write(b"x"); print(os.path.dirname(one.name), os.path.isdir(two))
with sqlite3.connect("data.db") as base:
    base.execute("pragma journal_mode=wal"); base.execute("create table t (n)")
    base.executemany("insert into t values (?)", [(n,) for n in range(100)])
print(base.execute("select sum(n) from t").fetchone()[0])
with open("map", "w+b") as file:
    file.truncate(4096); fcntl.flock(file, fcntl.LOCK_EX); fcntl.lockf(file, fcntl.LOCK_EX)
    memory = mmap.mmap(file.fileno(), 4096); memory[:2] = b"ok"; memory.flush(); print(bytes(memory[:2]).decode())
selectors.DefaultSelector().close(); signal.setitimer(signal.ITIMER_REAL, 0)
print(subprocess.run(["sh", "-c", "exit 5"]).returncode, subprocess.check_output("echo shell", shell=True, text=True))
"""


@each("python3: asyncio with subprocesses and a server, multiprocessing, threads, tempfile, sqlite3")
def _(box):
    box.has("python3")
    works(box, "python3", "-c", ASYNC, says="42 1 served\n")
    box.write("multi.py", MULTI)
    # The server of "forkserver" is a unix socket, which a box without network does not have.
    works(box, "python3", "multi.py", says="fork [0, 2, 4]\nspawn [0, 2, 4]\n").out.index("threads 8\nshared 7\n")
    works(box, "python3", "-c", FILES, says="/tmp True\n4950\nok\n5 shell\n")


NODE = r"""
const {execSync, spawn} = require("child_process"), {Worker} = require("worker_threads");
const fs = require("fs"), net = require("net"), assert = require("assert");
assert.equal(execSync("echo hello | cat").toString(), "hello\n");
async function main() {
  const word = await new Promise((ok, bad) => {
    const w = new Worker("require('worker_threads').parentPort.postMessage('worker')", {eval: true});
    w.on("message", ok); w.on("error", bad); });
  const seen = await new Promise((ok, bad) => {
    const watcher = fs.watch(".", (kind, name) => { if (name == "watched") { watcher.close(); ok(kind); } });
    watcher.on("error", bad); setTimeout(() => fs.writeFileSync("watched", "x"), 20); });
  const server = net.createServer(s => s.end("served"));
  await new Promise(ok => server.listen(0, "127.0.0.1", ok));
  const answer = await new Promise((ok, bad) => {
    let text = ""; const s = net.connect(server.address().port, "127.0.0.1");
    s.on("data", d => text += d); s.on("end", () => ok(text)); s.on("error", bad); });
  server.close();
  const code = await new Promise(ok => spawn("sh", ["-c", "exit 3"]).on("exit", ok));
  await fs.promises.mkdir("deep/er", {recursive: true}); await fs.promises.rm("deep", {recursive: true});
  console.log(word, seen, answer, code, require("os").cpus().length > 0);
}
main().catch(e => { console.error(e); process.exit(1); });
"""


@each("node: execSync, spawn, worker_threads, fs.watch, a server and its client")
def _(box):
    box.has("node")
    works(box, "node", "-e", NODE, says="worker rename served 3 true\n")


@each("npm: init, run and pack, offline")
def _(box):
    box.has("node", "npm")
    works(box, "sh", "-euc", textwrap.dedent("""\
        npm init -y > /dev/null
        npm pkg set name=sample scripts.hello='node -e "console.log(6 * 7)"'
        npm run --silent hello
        npm pack --offline --silent
        tar tzf sample-1.0.0.tgz
        """), env={"npm_config_update_notifier": "false"}, says="42\nsample-1.0.0.tgz\npackage/package.json\n")


@each("gcc and make: a program of two files, in parallel, with its own test")
def _(box):
    box.has("gcc", "make")
    box.write("one.c", '#include <stdio.h>\nint two(void);\nint main(void) { printf("%d\\n", two()); return 0; }\n')
    box.write("two.c", "int two(void) { return 42; }\n")
    box.write("Makefile", "all: prog\n\t./prog\nprog: one.o two.o\n\t$(CC) -o $@ $^\n"
                          "%.o: %.c\n\t$(CC) -O2 -pipe -c $<\nclean:\n\trm -f *.o prog\n")
    works(box, "make", "-j2", says="./prog\n42\n")
    works(box, "make", "clean")
    box.t.equal(sorted(path.name for path in box.project.iterdir()), ["Makefile", "one.c", "two.c"])


@each("cmake and ninja: sbx itself is configured, and one of its libraries built")
def _(box):
    box.has("cmake", "ninja", "gcc", "pkg-config")
    for name in ROOMS:
        source, copy = SOURCE / name, box.project / "sbx" / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, copy)
        elif source.exists():
            shutil.copy(source, copy)
    box.own(box.project)
    works(box, "sh", "-euc", "cmake -S sbx -B build -G Ninja -DBUILD_TESTING=OFF > log 2>&1 || { cat log; exit 1; }\n"
                             "ninja -C build sbx_base | tail -1; ls build/common/base/*.a",
          options=("--strict", "-t", "60s"), says="build/common/base/libsbx_base.a\n")


@each("perl: fork, pipes, sockets, files in place")
def _(box):
    box.has("perl")
    box.write("text", "one\ntwo\n")
    works(box, "perl", "-e", textwrap.dedent("""\
        use strict; use IO::Socket::INET; use File::Temp; use Socket;
        my $server = IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1") or die "listen: $!";
        if (!fork) { my $c = IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $server->sockport) or die;
                     print $c "hello\\n"; exit 0 }
        print $server->accept->getline; wait;
        socketpair(my $a, my $b, AF_UNIX, SOCK_STREAM, 0) or die "pair: $!";
        local @ARGV = ("text"); local $^I = ""; while (<>) { s/o/0/g; print }
        open(my $in, "-|", "cat", "text") or die; print STDOUT <$in>;
        """), says="hello\n0ne\ntw0\n")


@each("java: compiles and runs a class with threads and a process")
def _(box):
    box.has("java", "javac")
    box.write("Hello.java", textwrap.dedent("""\
        import java.util.concurrent.*;
        public class Hello {
            public static void main(String[] a) throws Exception {
                ExecutorService pool = Executors.newFixedThreadPool(2);
                int sum = pool.submit(() -> 40).get() + pool.submit(() -> 2).get();
                pool.shutdown();
                Process child = new ProcessBuilder("sh", "-c", "echo child").start();
                System.out.println(sum + " " + new String(child.getInputStream().readAllBytes()).trim());
            }
        }
        """))
    works(box, "sh", "-euc", "javac Hello.java; java -XX:+UseSerialGC Hello", says="42 child\n",
          options=("--strict", "-t", "60s"))


@each("cargo and rustc: a package is made, built and run, offline")
def _(box):
    box.has("cargo", "rustc")
    works(box, "sh", "-euc", "cargo new -q --vcs none sample; cd sample; cargo run -q --offline",
          options=("--strict", "-t", "60s"), says="Hello, world!\n")


@each("go: a program is built and run, offline")
def _(box):
    box.has("go")
    box.write("main.go", textwrap.dedent("""\
        package main
        import ("fmt"; "os/exec")
        func main() {
            done := make(chan int)
            for i := 0; i < 4; i++ { go func(n int) { done <- n }(i) }
            sum := 0
            for i := 0; i < 4; i++ { sum += <-done }
            out, err := exec.Command("sh", "-c", "echo child").Output()
            fmt.Print(sum, " ", string(out), err, "\\n")
        }
        """))
    works(box, "sh", "-euc", "go run main.go",
          env={"GOCACHE": str(box.project / "cache"), "GOFLAGS": "-mod=mod", "GO111MODULE": "off"},
          options=("--strict", "-t", "90s"), seconds=100, says="6 child\n<nil>")


SERVER = """
import http.server, threading, urllib.request
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b"inside")
    def log_message(self, *words): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/").read().decode())
"""
ASK = "import socket, sys; print(socket.create_connection(('127.0.0.1', int(sys.argv[1])), 3).recv(7).decode())"


@each("a test server in the box is reached from the box; a server of the host is not")
def _(box):
    box.has("python3")
    works(box, "python3", "-c", SERVER, says="inside\n")
    with socket.create_server(("127.0.0.1", 0)) as server:
        def serve():
            try:
                while True:
                    other, _ = server.accept()
                    other.sendall(b"outside")
                    other.close()
            except OSError:
                pass
        threading.Thread(target=serve, daemon=True).start()
        port = str(server.getsockname()[1])
        box.t.equal(box.outside("python3", "-c", ASK, port), (0, "outside\n"))
        works(box, "python3", "-c", ASK, port, options=("--strict", "--net", "inherit"), says="outside\n")
        done = box.run("python3", "-c", ASK, port)
        box.t.true(done.status != 0, done)
        box.t.has(done.err, "refused", done)


main()
