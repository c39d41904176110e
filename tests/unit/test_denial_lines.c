/* Lines of standard error as real programs write them, and whether the box is to blame. */
#include <stdio.h>
#include <string.h>

#include "tests/check.h"
#include "tests/unit/denial_fixture.h"

#include "common/base/banned.h"

/* One line, in one box. `want` is "kind operation subject", NULL when nobody may be accused. */
struct line_case {
    const char *line;
    const char *want;
};

static void check_line(enum box box, const struct line_case *row)
{
    AUTO_DENIALS d;
    denials_start(&d, box);
    denials_read(&d, row->line);
    char got[512] = "";
    if (d.found.count > 0) {
        denials_describe(&d.found.items[0], got, sizeof got);
    }
    if (!CHECK_TEXT(d.found.count == 0 ? NULL : got, row->want) || d.found.count > 1) {
        printf("#   in box %d: %s\n", (int)box, row->line);
    }
    CHECK(d.found.count <= 1);
    CHECK(d.found.count == 0 || !d.found.items[0].is_exact);
}

#define CHECK_LINES(box, rows)                                                                     \
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {                                                 \
        check_line((box), &(rows)[i]);                                                             \
    }

/* ---- files: writing ---- */

static void writing_to_what_is_only_readable(void)
{
    static const struct line_case rows[] = {
        {"sh: 1: cannot create /etc/x: Read-only file system", "file create /etc/x"},
        {"/bin/sh: 1: cannot create /etc/x: Read-only file system", "file create /etc/x"},
        {"bash: line 1: /etc/x: Read-only file system", "file write /etc/x"},
        {"bash: /etc/x: Read-only file system", "file write /etc/x"},
        {"zsh:1: read-only file system: /etc/x", "file write /etc/x"},
        {"ash: can't create /etc/x: Read-only file system", "file create /etc/x"},
        {"touch: cannot touch '/etc/x': Read-only file system", "file write /etc/x"},
        {"touch: cannot touch ‘/etc/x’: Read-only file system", "file write /etc/x"},
        {"touch: /etc/x: Read-only file system", "file write /etc/x"},
        {"mkdir: cannot create directory '/opt/new': Read-only file system",
         "file create /opt/new"},
        {"mkdir: can't create directory '/opt/new': Read-only file system", "file create /opt/new"},
        {"rm: cannot remove '/etc/passwd': Read-only file system", "file remove /etc/passwd"},
        {"rm: cannot remove `/etc/passwd': Read-only file system", "file remove /etc/passwd"},
        {"mv: cannot move '/home/user/project/a' to '/etc/a': Read-only file system",
         "file rename /etc/a"},
        {"mv: cannot move '/etc/a' to '/home/user/project/a': Read-only file system",
         "file rename /etc/a"},
        {"cp: cannot create regular file '/usr/local/bin/x': Read-only file system",
         "file create /usr/local/bin/x"},
        {"ln: failed to create symbolic link '/usr/bin/x': Read-only file system",
         "file link /usr/bin/x"},
        {"chmod: changing permissions of '/etc/passwd': Read-only file system",
         "file mode /etc/passwd"},
        {"tee: /etc/x: Read-only file system", "file write /etc/x"},
        {"install: cannot create regular file '/usr/bin/x': Read-only file system",
         "file create /usr/bin/x"},
        {"OSError: [Errno 30] Read-only file system: '/etc/x'", "file write /etc/x"},
        {"OSError: [Errno 30] Read-only file system: 'a' -> '/etc/b'", "file write /etc/b"},
        {"Error: EROFS: read-only file system, open '/etc/x'", "file write /etc/x"},
        {"Error: EROFS: read-only file system, mkdir '/home/user/.npm'",
         "file create /home/user/.npm"},
        {"npm ERR! Error: EROFS: read-only file system, unlink '/usr/lib/x'",
         "file remove /usr/lib/x"},
        {"panic: open /etc/x: read-only file system", "file write /etc/x"},
        {"time=\"2026-01-01\" level=fatal msg=\"open /etc/x: read-only file system\"",
         "file write /etc/x"},
        {"error: failed to open /home/user/.cargo/x: Read-only file system (os error 30)",
         "file write /home/user/.cargo/x"},
        {"thread 'main' panicked at 'x: Os { code: 30, message: \"Read-only file system\" }'",
         NULL},
        {"java.io.FileNotFoundException: /etc/x (Read-only file system)", "file write /etc/x"},
        {"Exception in thread \"main\" java.nio.file.FileSystemException: /etc/x: Read-only file "
         "system",
         "file write /etc/x"},
        {"fatal: could not create work tree dir '/opt/repo': Read-only file system",
         "file create /opt/repo"},
        {"fatal: Unable to create '/opt/repo/index.lock': Read-only file system",
         "file create /opt/repo/index.lock"},
        {"/usr/bin/ld: cannot open output file /opt/a.out: Read-only file system",
         "file create /opt/a.out"},
        {"collect2: fatal error: cannot open /opt/a.out: Read-only file system",
         "file write /opt/a.out"},
        {"Assembler messages: Fatal error: can't create /opt/x.o: Read-only file system",
         "file create /opt/x.o"},
        {"curl: (23) Failed to open the file /etc/x: Read-only file system", "file write /etc/x"},
        {"tar: /etc/x: Cannot open: Read-only file system", "file write /etc/x"},
        {"dpkg: error: cannot write '/var/lib/dpkg/lock': Read-only file system",
         "file write /var/lib/dpkg/lock"},
        {"touch: cannot touch '/etc/my file': Read-only file system", "file write /etc/my file"},
        {"bash: /etc/my file: Read-only file system", "file write /etc/my file"},
        {"touch: cannot touch '../up': Read-only file system", "file write /home/user/up"},
        {"touch: cannot touch '../../../../x/../etc/x': Read-only file system",
         "file write /etc/x"},
        {"\x1b[31mtouch: cannot touch '\x1b[1m/etc/x\x1b[0m': Read-only file system\x1b[0m",
         "file write /etc/x"},
        {"TOUCH: CANNOT TOUCH '/etc/x': READ-ONLY FILE SYSTEM", "file write /etc/x"},
    };
    CHECK_LINES(BOX_WORKSPACE, rows)
}

static void a_box_without_mounts_says_permission_denied(void)
{
    static const struct line_case rows[] = {
        {"PermissionError: [Errno 13] Permission denied: '/etc/x'", "file write /etc/x"},
        {"PermissionError: [Errno 1] Operation not permitted: '/etc/x'", "file write /etc/x"},
        {"Error: EACCES: permission denied, open '/etc/x'", "file write /etc/x"},
        {"npm ERR! Error: EACCES: permission denied, mkdir '/usr/lib/x'", "file create /usr/lib/x"},
        {"Error: EPERM: operation not permitted, unlink '/etc/passwd'", "file remove /etc/passwd"},
        {"open /etc/x: permission denied", "file write /etc/x"},
        {"Error: Permission denied (os error 13): /etc/x", "file write /etc/x"},
        {"java.nio.file.AccessDeniedException: /etc/x", "file write /etc/x"},
        {"bash: line 1: /etc/x: Permission denied", "file write /etc/x"},
        {"sh: 1: cannot create /etc/x: Permission denied", "file create /etc/x"},
        {"zsh: permission denied: /etc/x", "file write /etc/x"},
        {"sed: couldn't open temporary file /etc/sedX: Permission denied", "file write /etc/sedX"},
        /* Reading is allowed, so whatever kept it from reading was not the box. */
        {"cat: /etc/passwd: Permission denied", NULL},
        {"ls: cannot open directory '/var/lib': Permission denied", NULL},
        {"grep: /usr/x: Permission denied", NULL},
        {"sh: 1: /usr/bin/tool: Permission denied", NULL},
        {"make: execvp: /usr/bin/tool: Permission denied", NULL},
        {"Error: EACCES: permission denied, scandir '/var/lib'", NULL},
        /* The host refuses it just so. */
        {"PermissionError: [Errno 13] Permission denied: '/etc/locked'", NULL},
        {"sh: 1: cannot create /etc/locked: Permission denied", NULL},
    };
    CHECK_LINES(BOX_LANDLOCK, rows)
}

static void where_mounts_say_read_only_a_mere_permission_error_is_the_hosts(void)
{
    static const struct line_case rows[] = {
        {"cat: /etc/locked: Permission denied", NULL},
        {"PermissionError: [Errno 13] Permission denied: '/etc/locked'", NULL},
        {"open /etc/locked: permission denied", NULL},
        {"PermissionError: [Errno 13] Permission denied: '/home/user/project/mine'", NULL},
        {"touch: cannot touch '/home/user/project/mine': Permission denied", NULL},
        {"touch: cannot touch 'mine': Permission denied", NULL},
        {"touch: cannot touch 'mine': Read-only file system", NULL},
        {"bash: ./configure: Permission denied", NULL},
        {"touch: cannot touch '/tmp/x': Permission denied", NULL},
        /* With words that say it writes, and a host that would have let it, it is the box. */
        {"touch: cannot touch '/etc/x': Permission denied", "file write /etc/x"},
        {"chown: changing ownership of '/etc/passwd': Operation not permitted",
         "file mode /etc/passwd"},
        {"PermissionError: [Errno 13] Permission denied: '/etc/x'", "file write /etc/x"},
    };
    CHECK_LINES(BOX_WORKSPACE, rows)
}

static void relative_names_count_where_a_path_stands(void)
{
    static const struct line_case rows[] = {
        {"touch: cannot touch 'out': Read-only file system", "file write /home/user/project/out"},
        {"bash: out.txt: Read-only file system", "file write /home/user/project/out.txt"},
        {"bash: line 3: build/out.txt: Read-only file system",
         "file write /home/user/project/build/out.txt"},
        {"sh: 1: cannot create out.txt: Read-only file system",
         "file create /home/user/project/out.txt"},
        {"zsh: read-only file system: out.txt", "file write /home/user/project/out.txt"},
        {"mkdir: cannot create directory ‘a b’: Read-only file system",
         "file create /home/user/project/a b"},
        {"error: could not lock config file .git/config: Read-only file system",
         "file create /home/user/project/.git/config"},
        {"OSError: [Errno 30] Read-only file system: 'out'", "file write /home/user/project/out"},
        {"/usr/bin/ld: cannot open output file a.out: Read-only file system",
         "file create /home/user/project/a.out"},
        /* Words are no names. */
        {"error: Read-only file system", NULL},
        {"Read-only file system", NULL},
        {"rm: Read-only file system", NULL},
        {"warning: the disk and/or its Read-only file system", NULL},
        {"I/O error: Read-only file system", NULL},
        {"cat: write error: Read-only file system", NULL},
        {"Error: EROFS: read-only file system", NULL},
        {"Error: EROFS: read-only file system, write", NULL},
        {"tar: Cannot open: Read-only file system", NULL},
        {"[Errno 30] Read-only file system", NULL},
    };
    CHECK_LINES(BOX_READ_ONLY, rows)
}

/* ---- files: reading ---- */

static void reading_what_is_masked_or_not_there(void)
{
    static const struct line_case rows[] = {
        {"cat: /etc/shadow: Permission denied", "file read /etc/shadow"},
        {"PermissionError: [Errno 13] Permission denied: '/etc/shadow'", "file read /etc/shadow"},
        {"cat: /home/user/.ssh/id_rsa: No such file or directory",
         "file read /home/user/.ssh/id_rsa"},
        {"FileNotFoundError: [Errno 2] No such file or directory: '/home/user/.ssh/id_rsa'",
         "file read /home/user/.ssh/id_rsa"},
        {"Error: ENOENT: no such file or directory, open '/home/user/.ssh/id_rsa'",
         "file read /home/user/.ssh/id_rsa"},
        {"ls: cannot access '/opt/tool': No such file or directory", "file read /opt/tool"},
        {"sh: 1: /opt/tool: not found", "file execute /opt/tool"},
        {"bash: line 1: /opt/tool: No such file or directory", "file read /opt/tool"},
        {"/usr/bin/env: ‘/opt/tool’: No such file or directory", "file read /opt/tool"},
        {"cc1: fatal error: /opt/tool: No such file or directory", "file read /opt/tool"},
        {"java.nio.file.NoSuchFileException: /opt/tool", "file read /opt/tool"},
        {"touch: cannot touch '/home/user/.ssh/new': No such file or directory",
         "file write /home/user/.ssh/new"},
        {"cat: /tmp/of-the-host: No such file or directory", "file read /tmp/of-the-host"},
        {"bash: cd: /home/user: No such file or directory", "file read /home/user"},
        /* Nowhere, so not hidden. */
        {"cat: /opt/nothing: No such file or directory", NULL},
        {"cat: /tmp/nothing: No such file or directory", NULL},
        {"main.c:3:10: fatal error: missing.h: No such file or directory", NULL},
        {"bash: foo: command not found", NULL},
        {"sh: 1: foo: not found", NULL},
        /* Readable in the box: it was not the box. */
        {"cat: /etc/passwd: No such file or directory", NULL},
    };
    CHECK_LINES(BOX_STRICT, rows)
}

static void words_alone_accuse_nobody(void)
{
    static const struct line_case rows[] = {
        {"", NULL},
        {"Permission denied", NULL},
        {"Permission denied (publickey).", NULL},
        {"git@github.com: Permission denied (publickey).", NULL},
        {"fatal: Could not read from remote repository.", NULL},
        {"main.c:12:9: error: expected ';' before \"Permission denied\"", NULL},
        {"src/err.c:40: warning: unused variable 'msg' [\"Permission denied\"]", NULL},
        {"  12 |     puts(\"Permission denied: /x\");", NULL},
        {"test_permission_denied ... ok", NULL},
        {"checking whether EACCES is declared... yes", NULL},
        {"  code: 'EACCES',", NULL},
        {"  errno: -13,", NULL},
        {"assert errno == EPERM", NULL},
        {"docs/permission-denied.md: updated", NULL},
        {"/etc/x", NULL},
        {"wrote /etc/x", NULL},
        {"error: /etc/x is broken", NULL},
        {"HTTP 403: Access denied for https://example.com/etc/x", NULL},
        {"/dev/tty: Permission denied", NULL},
        {"bash: /dev/tcp/x: Read-only file system", NULL},
        {"/proc/sys/kernel/x: Read-only file system", NULL},
        {"Connection refused", NULL},
        {"curl: (7) Failed to connect to 127.0.0.1 port 80: Connection refused", NULL},
        {"ssh: connect to host example.com port 22: Connection timed out", NULL},
    };
    CHECK_LINES(BOX_WORKSPACE, rows)
}

/* ---- protected names ---- */

static void protected_names_are_told_apart(void)
{
    static const struct line_case rows[] = {
        {"error: could not lock config file .git/config: Permission denied",
         "protected create /home/user/project/.git/config"},
        {"fatal: Unable to create '/home/user/project/.git/index.lock': Read-only file system",
         "protected create /home/user/project/.git/index.lock"},
        {"touch: cannot touch '.vscode/tasks.json': Operation not permitted",
         "protected write /home/user/project/.vscode/tasks.json"},
        {"Error: EACCES: permission denied, open '.npmrc'",
         "protected write /home/user/project/.npmrc"},
        {"cat: .git/config: Permission denied", NULL},
    };
    CHECK_LINES(BOX_WORKSPACE, rows)
}

/* ---- network ---- */

static void a_box_without_network_reaches_nobody(void)
{
    static const struct line_case rows[] = {
        {"curl: (6) Could not resolve host: example.com", "network connect example.com"},
        {"fatal: unable to access 'https://u:pw@github.com/x/y/': Could not resolve host: "
         "github.com",
         "network connect github.com"},
        {"ssh: Could not resolve hostname github.com: Temporary failure in name resolution",
         "network connect github.com"},
        {"wget: unable to resolve host address ‘example.com’", "network connect example.com"},
        {"Resolving example.com (example.com)... failed: Temporary failure in name resolution.",
         "network connect example.com"},
        {"E: Failed: Temporary failure resolving 'archive.example.org'",
         "network connect archive.example.org"},
        {"npm ERR! request to https://registry.example.org/x failed, reason: getaddrinfo EAI_AGAIN "
         "registry.example.org",
         "network connect registry.example.org"},
        {"Error: getaddrinfo EAI_AGAIN example.com", "network connect example.com"},
        {"Error: connect ENETUNREACH 93.184.216.34:443", "network connect"},
        {"urllib3.exceptions.MaxRetryError: HTTPSConnectionPool(host='pypi.org', port=443): [Errno "
         "-3] Temporary failure in name resolution",
         "network connect pypi.org"},
        {"OSError: [Errno 101] Network is unreachable", "network connect"},
        {"dial tcp: lookup proxy.golang.org: Temporary failure in name resolution",
         "network connect proxy.golang.org"},
        {"dial tcp 93.184.216.34:443: connect: network is unreachable",
         "network connect 93.184.216.34"},
        {"Caused by: java.net.UnknownHostException: repo.maven.apache.org",
         "network connect repo.maven.apache.org"},
        {"ping: connect: Network is unreachable", "network connect"},
        {"curl: (7) Failed to connect to 1.1.1.1 port 443: Network is unreachable",
         "network connect 1.1.1.1"},
        {"curl: (7) Failed to connect to example.com port 80: Connection refused", NULL},
    };
    CHECK_LINES(BOX_WORKSPACE, rows)
}

static void a_list_of_hosts_is_to_blame_only_for_what_it_lacks(void)
{
    static const struct line_case rows[] = {
        {"curl: (6) Could not resolve host: example.com", "network connect example.com"},
        {"curl: (6) Could not resolve host: pypi.org", NULL},
        {"OSError: [Errno 101] Network is unreachable", NULL},
    };
    CHECK_LINES(BOX_HOSTS, rows)
    static const struct line_case open_rows[] = {
        {"curl: (6) Could not resolve host: example.com", NULL},
        {"OSError: [Errno 101] Network is unreachable", NULL},
        {"socket: Address family not supported by protocol", NULL},
    };
    CHECK_LINES(BOX_NETWORK, open_rows)
}

static void unix_sockets_of_the_host_are_refused(void)
{
    static const struct line_case rows[] = {
        {"socket: Address family not supported by protocol", "socket connect"},
        {"OSError: [Errno 97] Address family not supported by protocol", "socket connect"},
        {"connect /run/docker.sock: Address family not supported by protocol",
         "socket connect /run/docker.sock"},
        {"bind [::]:80: Address family not supported by protocol", NULL},
        {"socket AF_INET6: Address family not supported by protocol", NULL},
    };
    CHECK_LINES(BOX_WORKSPACE, rows)
    static const struct line_case strict_rows[] = {
        {"dial unix /run/docker.sock: connect: no such file or directory",
         "socket connect /run/docker.sock"},
    };
    CHECK_LINES(BOX_STRICT, strict_rows)
    static const struct line_case landlock_rows[] = {
        {"socket: Address family not supported by protocol", "network connect"},
        {"dial tcp: lookup example.com: socket: address family not supported by protocol",
         "network connect example.com"},
        {"bind [::]:80: Address family not supported by protocol", "network connect"},
        {"connect /run/docker.sock: Address family not supported by protocol",
         "socket connect /run/docker.sock"},
    };
    CHECK_LINES(BOX_LANDLOCK, landlock_rows)
}

/* ---- calls ---- */

static void calls_that_end_or_are_not_there(void)
{
    static const struct line_case rows[] = {
        {"bash: line 1:  1234 Bad system call         (core dumped) unshare -r true", "call call"},
        {"Bad system call", "call call"},
        {"OSError: [Errno 38] Function not implemented", "call call"},
        {"setns: Function not implemented", "call call"},
    };
    CHECK_LINES(BOX_STRICT, rows)
    static const struct line_case open_rows[] = {
        {"OSError: [Errno 38] Function not implemented", NULL},
        {"the function is not implemented", NULL},
    };
    CHECK_LINES(BOX_WORKSPACE, open_rows)
}

/* ---- Windows ---- */

static void windows_has_its_own_words(void)
{
    static const struct line_case rows[] = {
        {"PermissionError: [WinError 5] Access is denied: 'C:\\\\Windows\\\\x'",
         "file write C:\\Windows\\x"},
        {"Access to the path 'C:\\Windows\\x' is denied.", "file write C:\\Windows\\x"},
        {"open C:\\Windows\\x: Access is denied.", "file write C:\\Windows\\x"},
        {"Error: EPERM: operation not permitted, mkdir 'C:\\Windows\\x'",
         "file create C:\\Windows\\x"},
        {"mkdir: cannot create C:/Windows/x: Permission denied", "file create C:\\Windows\\x"},
        {"PermissionError: [WinError 5] Access is denied: 'C:\\\\Users\\\\user\\\\project\\\\x'",
         NULL},
        {"Access is denied.", NULL},
    };
    CHECK_LINES(BOX_WINDOWS, rows)
}

static const struct sbx_test tests[] = {
    {"writing to what is only readable is the box's", writing_to_what_is_only_readable},
    {"a box without mounts says \"Permission denied\"",
     a_box_without_mounts_says_permission_denied},
    {"where mounts say \"read-only\", a mere permission error is the host's",
     where_mounts_say_read_only_a_mere_permission_error_is_the_hosts},
    {"relative names count where a path stands", relative_names_count_where_a_path_stands},
    {"reading what is masked or not there is the box's", reading_what_is_masked_or_not_there},
    {"words alone accuse nobody", words_alone_accuse_nobody},
    {"protected names are told apart", protected_names_are_told_apart},
    {"a box without network reaches nobody", a_box_without_network_reaches_nobody},
    {"a list of hosts is to blame only for what it lacks",
     a_list_of_hosts_is_to_blame_only_for_what_it_lacks},
    {"unix sockets of the host are refused", unix_sockets_of_the_host_are_refused},
    {"calls that end the process, or in a strict box are not there, are the box's",
     calls_that_end_or_are_not_there},
    {"Windows has its own words", windows_has_its_own_words},
};
SBX_TEST_MAIN("denial lines", tests)
