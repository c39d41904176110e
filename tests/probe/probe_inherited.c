/* Attacks with what a process is born with: environment, descriptors, working directory. */
#include "tests/probe/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/banned.h"

extern char **environ;

static void secret_variable(void)
{
    for (char **entry = environ; *entry != NULL; entry++) {
        if (strstr(*entry, PROBE_MARK) != NULL) probe_done("a secret is in the environment");
    }
    probe_absent("not in the environment");
}

static void loader_variable(void)
{
    static const char *const names[] = {"LD_LIBRARY_PATH", "LD_DEBUG_OUTPUT", "BASH_ENV",
                                        "NODE_OPTIONS",    "PYTHONPATH",      "PERL5LIB"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (getenv(names[i]) != NULL) probe_done("%s is set", names[i]);
    }
    probe_absent("none is set");
}

static void agent_variable(void)
{
    static const char *const names[] = {"SSH_AUTH_SOCK", "SSH_ASKPASS", "GIT_ASKPASS",
                                        "DBUS_SESSION_BUS_ADDRESS"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (getenv(names[i]) != NULL) probe_done("%s is set", names[i]);
    }
    probe_absent("none is set");
}

static void secret_in_initial(void)
{
    static char text[1 << 16];
    ssize_t length = probe_slurp("/proc/self/environ", text, sizeof(text));
    if (length < 0) probe_settle(-1, "/proc/self/environ");
    if (memmem(text, (size_t)length, PROBE_MARK, strlen(PROBE_MARK)) != NULL) {
        probe_done("a secret is in it");
    }
    probe_absent("not in it");
}

static void file_descriptor(void)
{
    char text[100] = {0};
    ssize_t got = pread((int)probe_number("fdfile"), text, sizeof(text) - 1, 0);
    if (got < 0) probe_settle(-1, "read the inherited file");
    if (strncmp(text, PROBE_MARK, strlen(PROBE_MARK)) != 0) probe_absent("another file");
    probe_done("read the inherited file");
}

static void directory_descriptor(void)
{
    char text[100] = {0};
    ssize_t got = probe_slurp_at((int)probe_number("fddir"), "secret", text, sizeof(text));
    if (got < 0) probe_settle(-1, "openat at the inherited directory");
    if (strncmp(text, PROBE_MARK, strlen(PROBE_MARK)) != 0) probe_absent("another file");
    probe_done("read below the inherited directory");
}

static void directory_by_proc(void)
{
    probe_secret(probe_format("/proc/self/fd/%ld/secret", probe_number("fddir")));
}

static void connected_socket(void)
{
    char text[100] = {0};
    int fd = (int)probe_number("fdsocket");
    if (send(fd, "hello\n", 6, MSG_NOSIGNAL) != 6) probe_settle(-1, "send");
    probe_sleep_ms(50);
    if (recv(fd, text, sizeof(text) - 1, 0) <= 0) probe_settle(-1, "receive");
    probe_done("talked over an inherited socket");
}

static void any_descriptor(void)
{
    unsigned long long set = probe_inherited_set();
    if (set != 0) probe_done("descriptors %#llx are open", set);
    probe_absent("none besides the three");
}

static void working_directory(void)
{
    char place[4096];
    if (getcwd(place, sizeof(place)) == NULL) probe_settle(-1, "working directory");
    probe_secret("secret");
}

const struct probe probe_inherited[] = {
    {"E01", "secret variable of the host", secret_variable},
    {"E01b", "secret in /proc/self/environ", secret_in_initial},
    {"E02", "variables that load other code", loader_variable},
    {"LK08", "variables that lead to agents of the host", agent_variable},
    {"F01", "inherited file descriptor", file_descriptor},
    {"F02", "inherited directory descriptor with openat", directory_descriptor},
    {"F02b", "inherited directory descriptor through /proc/self/fd", directory_by_proc},
    {"F02c", "any inherited descriptor", any_descriptor},
    {"LN13", "inherited connected socket", connected_socket},
    {"F03", "working directory outside the box", working_directory},
    {NULL, NULL, NULL}};
