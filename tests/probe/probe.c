/* sbx-probe: the frame. Tries each attack in a child, so that a filter that kills is an answer too. */
#include "tests/probe/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "common/base/banned.h"

#define SECONDS 8
#define LINE 400
#define PATH_BUFFERS 8

static const struct {
    const char *name;
    const struct probe *probes;
} classes[] = {
    {"read", probe_read},
    {"write", probe_write},
    {"change", probe_change},
    {"create", probe_create},
    {"git", probe_git},
    {"process", probe_process},
    {"network", probe_network},
    {"ipc", probe_ipc},
    {"resource", probe_resource},
    {"terminal", probe_terminal},
    {"inherited", probe_inherited},
    {"privilege", probe_privilege},
    {"kernel", probe_kernel},
    {"behaviour", probe_behaviour},
};

static char **places;
static int answer_fd = -1;
static const char *self;
static unsigned long long inherited;
static char path_buffers[PATH_BUFFERS][5000];
static unsigned path_turn;

/* ---- answers ---- */

/* Writes the answer; whoever calls it ends the process after va_end. */
__attribute__((format(printf, 2, 0))) static void answer(const char *word, const char *format,
                                                         va_list list)
{
    char text[LINE];
    int used = snprintf(text, sizeof(text), "%s ", word);
    if (used > 0 && (size_t)used < sizeof(text)) {
        (void)vsnprintf(text + used, sizeof(text) - (size_t)used, format, list);
    }
    size_t length = strlen(text);
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)text[i] < ' ' || (unsigned char)text[i] > '~') text[i] = '?';
    }
    (void)!write(answer_fd, text, length); /* without an answer the parent says ERROR */
}

void probe_done(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    answer("DONE", format, list);
    va_end(list);
    _exit(0);
}

void probe_denied(const char *format, ...)
{
    const char *name = strerrorname_np(errno);
    va_list list;
    va_start(list, format);
    answer(probe_format("DENIED %s", name == NULL ? "0" : name), format, list);
    va_end(list);
    _exit(0);
}

void probe_absent(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    answer("ABSENT", format, list);
    va_end(list);
    _exit(0);
}

void probe_broken(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    answer("ERROR", format, list);
    va_end(list);
    _exit(0);
}

void probe_settle(long result, const char *what)
{
    if (result >= 0) probe_done("%s", what);
    if (errno == ENOENT || errno == ENOTDIR || errno == ESRCH || errno == ENXIO ||
        errno == ENODEV) {
        probe_absent("%s: %s", what, strerrorname_np(errno));
    }
    probe_denied("%s", what);
}

void probe_reached(long result, const char *what)
{
    if (result >= 0) probe_done("%s", what);
    if (errno == EPERM || errno == ENOSYS || errno == EACCES || errno == EAFNOSUPPORT) {
        probe_denied("%s", what);
    }
    probe_done("%s was reached: %s", what, strerrorname_np(errno));
}

/* ---- places ---- */

const char *probe_place_if(const char *name)
{
    size_t length = strlen(name);
    for (char **word = places; *word != NULL; word++) {
        if (strncmp(*word, name, length) != 0 || (*word)[length] != '=') continue;
        const char *value = *word + length + 1;
        return value[0] == '$' ? getenv(value + 1) : value; /* a place that only the box knows */
    }
    return NULL;
}

const char *probe_place(const char *name)
{
    const char *value = probe_place_if(name);
    if (value == NULL) probe_broken("%s=... was not given", name);
    return value;
}

long probe_number(const char *name)
{
    return strtol(probe_place(name), NULL, 10);
}

const char *probe_format(const char *format, ...)
{
    char *text = path_buffers[path_turn++ % PATH_BUFFERS];
    va_list list;
    va_start(list, format);
    (void)vsnprintf(text, sizeof(path_buffers[0]), format, list);
    va_end(list);
    return text;
}

const char *probe_path(const char *place, const char *name)
{
    return probe_format("%s/%s", probe_place(place), name);
}

unsigned long long probe_inherited_set(void)
{
    return inherited;
}

const char *probe_self(void)
{
    return self;
}

pid_t probe_launcher(void)
{
    const char *value = probe_place("launcher");
    if (strcmp(value, "parent") != 0) return (pid_t)strtol(value, NULL, 10);
    /* This process is a child of the program that the box started. */
    char text[400];
    if (probe_slurp(probe_format("/proc/%d/stat", (int)getppid()), text, sizeof(text)) < 0) {
        return 1;
    }
    const char *after = strrchr(text, ')');
    return after == NULL ? 1 : (pid_t)strtol(after + 3, NULL, 10);
}

bool probe_on_host(void)
{
    char link[100] = {0};
    ssize_t length = readlink("/proc/self/ns/mnt", link, sizeof(link) - 1);
    const char *host = probe_place_if("hostmnt");
    return length < 0 || host == NULL || strcmp(link, host) == 0;
}

/* ---- files ---- */

ssize_t probe_slurp_at(int directory, const char *path, char *text, size_t size)
{
    int fd = openat(directory, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return -1;
    size_t used = 0;
    ssize_t got = 0;
    while (used < size - 1 && (got = read(fd, text + used, size - 1 - used)) > 0) {
        used += (size_t)got;
    }
    int error = errno;
    close(fd);
    if (got < 0 && used == 0) {
        errno = error;
        return -1;
    }
    text[used] = '\0';
    return (ssize_t)used;
}

ssize_t probe_slurp(const char *path, char *text, size_t size)
{
    return probe_slurp_at(AT_FDCWD, path, text, size);
}

void probe_secret(const char *path)
{
    char text[200];
    ssize_t length = probe_slurp(path, text, sizeof(text));
    if (length < 0) probe_settle(-1, "read the secret");
    if (strncmp(text, PROBE_MARK, strlen(PROBE_MARK)) != 0) {
        probe_absent("no secret in it (%zd bytes)", length);
    }
    probe_done("read the secret");
}

int probe_scribble(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0644);
    if (fd < 0) return -1;
    ssize_t wrote = write(fd, "scribbled\n", 10);
    int error = errno;
    close(fd);
    errno = error;
    return wrote == 10 ? 0 : -1;
}

void probe_make(const char *path)
{
    if (probe_scribble(path) != 0) {
        probe_broken("cannot make %s: %s", path, strerrorname_np(errno));
    }
}

void probe_make_directory(const char *path)
{
    if (mkdir(path, 0755) != 0 && errno != EEXIST) {
        probe_broken("cannot make %s: %s", path, strerrorname_np(errno));
    }
}

bool probe_exists(const char *path)
{
    struct stat found;
    return lstat(path, &found) == 0;
}

void probe_sleep_ms(long ms)
{
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = (ms % 1000) * 1000000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

/* ---- the frame ---- */

static const struct probe *find(const char *id)
{
    for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
        for (const struct probe *row = classes[i].probes; row->id != NULL; row++) {
            if (strcmp(row->id, id) == 0) return row;
        }
    }
    return NULL;
}

static int list(void)
{
    for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
        for (const struct probe *row = classes[i].probes; row->id != NULL; row++) {
            printf("%s\t%s\t%s\n", row->id, classes[i].name, row->what);
        }
    }
    return fflush(stdout) == 0 ? 0 : 1;
}

/* What a child that said nothing died of; these signals are how limits and filters speak. */
static const char *silent(int status)
{
    if (!WIFSIGNALED(status)) return probe_format("ERROR ended with %d without an answer", status);
    int number = WTERMSIG(status);
    if (number == SIGSYS || number == SIGKILL || number == SIGXCPU || number == SIGXFSZ) {
        return probe_format("DENIED SIG%s killed", sigabbrev_np(number));
    }
    return probe_format("ERROR killed by SIG%s", sigabbrev_np(number));
}

/* The child's answer, or what became of it. */
static void await(const char *id, pid_t child, int from)
{
    char text[LINE + 1] = {0};
    struct pollfd wait = {.fd = from, .events = POLLIN};
    int ready = poll(&wait, 1, SECONDS * 1000);
    ssize_t length = ready > 0 ? read(from, text, LINE) : 0;
    (void)kill(child, SIGKILL);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (ready == 0) {
        printf("%s ERROR no answer in %d seconds\n", id, SECONDS);
    } else {
        printf("%s %s\n", id, length > 0 ? text : silent(status));
    }
    (void)fflush(stdout);
}

static void try(const char *id)
{
    const struct probe *probe = find(id);
    int ends[2];
    if (probe == NULL || pipe2(ends, O_CLOEXEC) != 0) {
        printf("%s ERROR %s\n", id, probe == NULL ? "no such probe" : "no pipe");
        (void)fflush(stdout);
        return;
    }
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        answer_fd = ends[1];
        (void)umask(022);
        probe->run();
        probe_broken("the probe returned");
    }
    close(ends[1]);
    if (child < 0) {
        printf("%s ERROR no process\n", id);
        (void)fflush(stdout);
    } else {
        await(id, child, ends[0]);
    }
    close(ends[0]);
}

/* A process of the host for attacks to aim at: writes a mark into the file for each SIGURG, and a dot to its
   standard output for each SIGRTMIN. Of two that wait the kernel hands out the lower number first, so whoever gets the
   dot knows that every mark is written. */
static int bystander(const char *path)
{
    int heard = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGURG);
    (void)sigaddset(&set, SIGRTMIN);
    if (heard < 0 || sigprocmask(SIG_BLOCK, &set, NULL) != 0) return 1;
    (void)alarm(300); /* should nobody end it */
    (void)!write(1, "ready\n", 6);
    for (;;) {
        int number = sigwaitinfo(&set, NULL);
        if (number == SIGURG) (void)!write(heard, "!", 1);
        if (number == SIGRTMIN) (void)!write(1, ".", 1);
    }
}

/* Starts a command with a secret in its session keyring. */
static int keyed(const char *name, char **command)
{
    static const char secret[] = PROBE_MARK "key";
    (void)syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
    (void)syscall(SYS_add_key, "user", name, secret, sizeof(secret), KEY_SPEC_SESSION_KEYRING);
    (void)execvp(command[0], command);
    return 127;
}

/* Starts a command whose controlling terminal is its standard input. */
static int on_terminal(char **command)
{
    if (setsid() < 0 || ioctl(0, TIOCSCTTY, 0) != 0) return 126;
    (void)execvp(command[0], command);
    return 127;
}

int main(int argc, char **argv)
{
    for (int fd = 3; fd < 1024; fd++) {
        if (fcntl(fd, F_GETFD) >= 0) inherited |= 1ull << (fd < 63 ? fd : 63);
    }
    places = argv + 1;
    self = argv[0];
    if (argc < 2) {
        (void)fprintf(stderr, "usage: sbx-probe --list | NAME=VALUE... ID...\n");
        return 99;
    }
    if (strcmp(argv[1], "--list") == 0) return list();
    if (strcmp(argv[1], "--euid") == 0) return (int)geteuid() == 0 ? 0 : 1;
    if (strcmp(argv[1], "--bystander") == 0) return argc == 3 ? bystander(argv[2]) : 99;
    if (strcmp(argv[1], "--keyed") == 0) return argc > 3 ? keyed(argv[2], argv + 3) : 99;
    if (strcmp(argv[1], "--terminal") == 0) return argc > 2 ? on_terminal(argv + 2) : 99;
    if (strcmp(argv[1], "--create") == 0) return argc == 3 && probe_scribble(argv[2]) == 0 ? 0 : 1;
    for (char **word = argv + 1; *word != NULL; word++) {
        if (strchr(*word, '=') == NULL) try(*word);
    }
    return 0;
}
