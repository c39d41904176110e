/* posix/linux_seccomp: everyday tools work under the deny and the strict program together. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "posix/linux_seccomp.h"
#include "tests/check.h"
#include "tests/unit/os_actor.h"

#include "common/base/banned.h"

#define PATIENCE_S 100

static bool is_installed(const char *tool)
{
    const char *path = getenv("PATH");
    char name[4096];
    while (path != NULL && *path != '\0') {
        int length = (int)strcspn(path, ":");
        (void)snprintf(name, sizeof name, "%.*s/%s", length, path, tool);
        if (access(name, X_OK) == 0) {
            return true;
        }
        path += path[length] == ':' ? length + 1 : length;
    }
    return false;
}

/* The shell starts under the programs, in a new directory that is its home; what it and its children
 * print goes to a file beside it. Rust's wrappers find their compiler below the true home. */
static _Noreturn void be_shell(const char *directory, const char *script, bool is_boxed)
{
    char rust[4096];
    const char *home = getenv("HOME");
    (void)snprintf(rust, sizeof rust, "%s/.rustup", home == NULL ? "" : home);
    (void)setenv("RUSTUP_HOME", rust, 0);
    (void)setenv("TMPDIR", directory, 1);
    if (chdir(directory) != 0 || freopen("../printed", "w", stdout) == NULL ||
        dup2(STDOUT_FILENO, STDERR_FILENO) < 0 || setenv("HOME", directory, 1) != 0) {
        _exit(121);
    }
    (void)alarm(PATIENCE_S);
    if (is_boxed &&
        (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || sbx_filter_load(SBX_FILTER_DENY, 0) != 0 ||
         sbx_filter_load(SBX_FILTER_STRICT, 0) != 0)) {
        _exit(122);
    }
    (void)execl("/bin/sh", "sh", "-e", "-c", script, (char *)NULL);
    _exit(123);
}

static int run_shell(const char *name, const char *script, bool is_boxed)
{
    char directory[4096];
    (void)snprintf(directory, sizeof directory, "%s", scratch(name));
    actor_remove_tree(directory);
    actor_write(scratch("made"), "");
    CHECK_INT(mkdir(directory, 0700), 0);
    (void)fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        be_shell(directory, script, is_boxed);
    }
    int status = 0;
    CHECK_INT(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* True when the script ended well under the programs; else what it printed is shown. */
static bool works(const char *name, const char *script)
{
    if (CHECK_INT(run_shell(name, script, true), 0)) {
        return true;
    }
    printf("# %s printed: %.1500s\n", name, actor_read(scratch("printed")));
    return false;
}

/* ---- cases ------------------------------------------------------------------------------------- */

static void shells_and_their_tools(void)
{
    works("shell",
          "mkdir -p a/b && echo hello > a/b/c && cp -a a d && mv d e && ln -s e f"
          " && cat f/b/c | sort | grep -q hello && find . -type f | xargs ls -l"
          " && tar cf x.tar e && mkdir g && tar xf x.tar -C g && gzip x.tar && touch -d"
          " yesterday a/b/c && mkfifo p && (cat p & echo y > p; wait) && sleep 0.01 && date"
          " && df . && id && nice true && timeout 5 true && rm -rf a");
    CHECK_INT(run_shell("shell", "exit 7", true), 7);
}

static void a_process_outside_the_list_is_ended(void)
{
    static const char script[] =
        "python3 -c 'import ctypes; ctypes.CDLL(None).syscall(%d, 0, 0, 0, 0,"
        " 0)' ; exit $?";
    char text[256];
#if defined(__x86_64__)
    (void)snprintf(text, sizeof text, script, 216); /* remap_file_pages */
#else
    (void)snprintf(text, sizeof text, script, 234);
#endif
    CHECK_INT(run_shell("outside", "set +e", true), 0);
    char whole[512];
    (void)snprintf(whole, sizeof whole, "set +e; %s", text);
    CHECK_INT(run_shell("outside", whole, true), 128 + SIGSYS);
    CHECK_INT(run_shell("outside", whole, false), 0);
}

static void python_works(void)
{
    works("python",
          "cat > t.py <<'E'\n"
          "import asyncio, concurrent.futures, mmap, os, pathlib, shutil, socket, subprocess\n"
          "import tempfile, threading, time, multiprocessing\n"
          "async def main():\n"
          "    p = await asyncio.create_subprocess_exec('echo', 'x', stdout=subprocess.PIPE)\n"
          "    assert (await p.communicate())[0] == b'x\\n'\n"
          "    s = await asyncio.start_server(lambda r, w: w.close(), '127.0.0.1', 0)\n"
          "    r, w = await asyncio.open_connection(*s.sockets[0].getsockname())\n"
          "    assert await r.read() == b''\n"
          "asyncio.run(main())\n"
          "with concurrent.futures.ThreadPoolExecutor(4) as pool:\n"
          "    assert sum(pool.map(lambda n: n * n, range(100))) == 328350\n"
          "with tempfile.TemporaryDirectory() as d:\n"
          "    pathlib.Path(d, 'a').write_text('a'); shutil.copy2(d + '/a', d + '/b')\n"
          "    os.chmod(d + '/b', 0o755)\n"
          "assert mmap.mmap(-1, 4096)\n"
          "def child(q): q.put(os.getpid())\n"
          "if hasattr(os, 'memfd_create'): os.close(os.memfd_create('x'))\n"
          "m = multiprocessing.get_context('fork'); q = m.Queue(); p = m.Process(target=child, "
          "args=(q,))\n"
          "p.start(); assert q.get() == p.pid; p.join()\n"
          "try: socket.socket(socket.AF_UNIX); assert False\n"
          "except OSError as e: assert e.errno == 97, e\n"
          "try: os.chmod('t.py', 0o4755); assert False\n"
          "except PermissionError: pass\n"
          "E\n"
          "python3 t.py");
}

static void compilers_work(void)
{
    works("gcc",
          "echo 'int puts(const char *); int main(void) { return puts(\"built\") < 0; }' > a.c"
          " && gcc -O2 -pipe -o a a.c && ./a | grep -q built"
          " && printf 'all: b\\nb: a.c\\n\\tgcc -o b a.c\\n' > Makefile && make -j2 && ./b");
    works("cmake", "echo 'int main(void) { return 0; }' > a.c && printf 'cmake_minimum_required("
                   "VERSION 3.20)\\nproject(a C)\\nadd_executable(a a.c)\\n' > CMakeLists.txt"
                   " && cmake -S . -B b -G Ninja && cmake --build b && b/a");
}

static void git_works(void)
{
    if (!is_installed("git")) {
        sbx_test_skip("git", "git is not installed");
        return;
    }
    works("git",
          "export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1"
          " GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b"
          " && git init -q . && echo a > a && git add a && git commit -qm one && echo b >> a"
          " && git commit -qam two && git checkout -qb other HEAD^ && git merge -q master"
          " && git gc -q && git clone -q . ../clone-of-git && git -C ../clone-of-git log"
          " --oneline | grep -q two && git status && rm -rf ../clone-of-git");
}

static void node_works(void)
{
    if (!is_installed("node")) {
        sbx_test_skip("node", "node is not installed");
        return;
    }
    works(
        "node",
        "cat > t.js <<'E'\n"
        "const c = require('child_process'), fs = require('fs'), net = require('net');\n"
        "const w = require('worker_threads'), crypto = require('crypto'), zlib = require('zlib');\n"
        "if (c.execSync('echo x').toString() !== 'x\\n') throw 1;\n"
        "fs.writeFileSync('a', 'a'); fs.chmodSync('a', 0o755); fs.copyFileSync('a', 'b');\n"
        "const watcher = fs.watch('.'); crypto.randomBytes(8); zlib.gzipSync('a');\n"
        "new w.Worker('process.exit(0)', {eval: true}).on('exit', () => watcher.close());\n"
        "const s = net.createServer(k => k.end('hi')).listen(0, '127.0.0.1', () =>\n"
        "  net.connect(s.address().port, '127.0.0.1').on('data', d => {\n"
        "    if (d.toString() !== 'hi') throw 2; s.close(); console.log('served'); }));\n"
        "E\n"
        "node t.js | grep -q served");
}

/* What a machine may have besides; each that is there has to work. */
static void other_tools_that_are_there_work(void)
{
    static const struct {
        const char *tool, *script;
    } tools[] = {
        {"npm", "npm --version && echo '{\"scripts\": {\"x\": \"echo ran\"}}' > package.json"
                " && npm run -s x | grep -q ran"},
        {"javac", "printf 'class A { public static void main(String[] a) throws Exception {"
                  " Thread t = new Thread(() -> System.out.println(1)); t.start(); t.join();"
                  " new ProcessBuilder(\"true\").start().waitFor(); System.gc(); } }' > A.java"
                  " && javac A.java && java A | grep -q 1"},
        {"rustc", "printf 'fn main() { std::thread::spawn(|| println!(\"{}\", 1)).join().unwrap();"
                  " std::fs::copy(\"a.rs\", \"b\").unwrap(); }' > a.rs && rustc a.rs && ./a"},
        {"cargo", "cargo init --vcs none -q x && cd x && cargo build -q --offline && cargo run -q"},
        {"go", "printf 'package main\\nfunc main() { println(1) }\\n' > a.go && go run a.go"},
        {"perl", "perl -e 'fork or exit 0; wait; exit $?'"},
        {"sqlite3",
         "sqlite3 a.db 'pragma journal_mode=wal; create table t(a); insert into t values(1)'"},
        {"curl", "echo x > a && curl -s file://$PWD/a | grep -q x"},
        {"zsh", "zsh -c 'echo a | read b; [[ $b = a ]]'"},
    };
    unsigned found = 0;
    for (size_t i = 0; i < SBX_COUNT(tools); i++) {
        if (!is_installed(tools[i].tool)) {
            printf("# %s: not installed\n", tools[i].tool);
            continue;
        }
        /* A wrapper may be there without what it starts. */
        if (run_shell(tools[i].tool, tools[i].script, false) != 0) {
            printf("# %s: not usable: %.200s\n", tools[i].tool, actor_read(scratch("printed")));
            continue;
        }
        found++;
        works(tools[i].tool, tools[i].script);
    }
    CHECK(found > 0);
}

static const struct sbx_test tests[] = {
    {"shells and their tools work", shells_and_their_tools},
    {"a process that calls what is outside the list is ended", a_process_outside_the_list_is_ended},
    {"python works: asyncio, threads, processes, files", python_works},
    {"gcc, make and cmake work", compilers_work},
    {"git works", git_works},
    {"node works: processes, threads, servers, watching", node_works},
    {"other tools that are installed work", other_tools_that_are_there_work},
};
ACTOR_TEST_MAIN("seccomp tools", tests)
