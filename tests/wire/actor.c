/* What the tests of the protocol let the service run: `wire_actor VERB ARG…` does one thing, the same everywhere. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#include <direct.h>
#include <fcntl.h>
#include <io.h>
#include <windows.h>

#include <shellapi.h>
#else
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#endif

#include "common/base/attr.h"

#include "common/base/banned.h"

#ifdef _WIN32

/* The C runtime's own texts are in the code page of the machine; the tests speak UTF-8. What these return stays. */
static char *narrow(const wchar_t *text)
{
    int size = text == NULL ? 0 : WideCharToMultiByte(CP_UTF8, 0, text, -1, NULL, 0, NULL, NULL);
    char *out = size > 0 ? malloc((size_t)size) : NULL;
    if (out != NULL) (void)WideCharToMultiByte(CP_UTF8, 0, text, -1, out, size, NULL, NULL);
    return out;
}

static wchar_t *widen(const char *text)
{
    int size = MultiByteToWideChar(CP_UTF8, 0, text, -1, NULL, 0);
    wchar_t *out = size > 0 ? calloc((size_t)size, sizeof *out) : NULL;
    if (out != NULL) (void)MultiByteToWideChar(CP_UTF8, 0, text, -1, out, size);
    return out;
}

/* The arguments as they were sent, instead of the C runtime's. */
static char **arguments(int *count)
{
    wchar_t **wide = CommandLineToArgvW(GetCommandLineW(), count);
    char **out = wide == NULL ? NULL : calloc((size_t)*count + 1, sizeof *out);
    for (int i = 0; out != NULL && i < *count; i++) out[i] = narrow(wide[i]);
    return out;
}

#endif

static int flush(int status)
{
    return fflush(stdout) == 0 ? status : 98;
}

/* say TEXT: on standard output, without a newline */
static int verb_say(char **args)
{
    (void)fputs(args[0], stdout);
    return flush(0);
}

/* both OUT ERR CODE */
static int verb_both(char **args)
{
    (void)fputs(args[0], stdout);
    (void)fputs(args[1], stderr);
    return flush((int)strtol(args[2], NULL, 10));
}

/* bytes HEX */
static int verb_bytes(char **args)
{
    for (const char *at = args[0]; at[0] != '\0' && at[1] != '\0'; at += 2) {
        const char pair[] = {at[0], at[1], '\0'};
        (void)putchar((int)strtol(pair, NULL, 16));
    }
    return flush(0);
}

/* flood BYTES: so many on standard output, then "done" on standard error */
static int verb_flood(char **args)
{
    unsigned long left = strtoul(args[0], NULL, 10);
    char block[4096];
    memset(block, 'x', sizeof block);
    while (left > 0) {
        size_t part = left < sizeof block ? (size_t)left : sizeof block;
        if (fwrite(block, 1, part, stdout) != part) return 97;
        left -= (unsigned long)part;
    }
    int status = flush(0);
    (void)fputs("done", stderr);
    return status;
}

/* cat: standard input to standard output, as it comes */
static int verb_cat(char **args)
{
    (void)args;
    char block[4096];
    for (;;) {
#ifdef _WIN32
        int got = _read(0, block, sizeof block);
#else
        ssize_t got = read(0, block, sizeof block);
#endif
        if (got <= 0) return got == 0 ? 0 : 96;
        if (fwrite(block, 1, (size_t)got, stdout) != (size_t)got) return 97;
        if (fflush(stdout) != 0) return 98;
    }
}

static void wait_long(void)
{
#ifdef _WIN32
    Sleep(600000);
#else
    (void)sleep(600);
#endif
}

/* hold: says "ready", then does nothing for long */
static int verb_hold(char **args)
{
    (void)args;
    (void)fputs("ready", stdout);
    (void)flush(0);
    wait_long();
    return 95;
}

/* env NAME: its value, or "unset" */
static int verb_env(char **args)
{
#ifdef _WIN32
    wchar_t *name = widen(args[0]);
    const char *value = name == NULL ? NULL : narrow(_wgetenv(name));
#else
    const char *value = getenv(args[0]);
#endif
    (void)fputs(value == NULL ? "unset" : value, stdout);
    return flush(0);
}

/* cwd: the directory it runs in */
static int verb_cwd(char **args)
{
    (void)args;
#ifdef _WIN32
    const char *path = narrow(_wgetcwd(NULL, 0));
    if (path == NULL) return 94;
#else
    char path[4096];
    if (getcwd(path, sizeof path) == NULL) return 94;
#endif
    (void)fputs(path, stdout);
    return flush(0);
}

/* touch PATH: makes it, or says why not as programs do */
static int verb_touch(char **args)
{
#ifdef _WIN32
    wchar_t *name = widen(args[0]);
    FILE *file = name == NULL ? NULL : _wfopen(name, L"wb");
#else
    FILE *file = fopen(args[0], "wb");
#endif
    if (file != NULL) return fclose(file);
    (void)fprintf(stderr, "wire_actor: %s: %s\n", args[0], strerror(errno));
    return 1;
}

#ifdef _WIN32

/* own PATH: makes a file that is gone when this process is, says "ready", then does nothing for long */
static int verb_own(char **args)
{
    wchar_t *name = widen(args[0]);
    if (name == NULL) return 91;
    HANDLE file = CreateFileW(name, GENERIC_WRITE | DELETE, 0, NULL, CREATE_NEW,
                              FILE_FLAG_DELETE_ON_CLOSE, NULL);
    return file == INVALID_HANDLE_VALUE ? 92 : verb_hold(args);
}

#else

static volatile sig_atomic_t caught;

static void on_signal(int number)
{
    caught = number;
}

static void catch_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH};
    sigset_t set;
    (void)sigemptyset(&set);
    for (size_t i = 0; i < SBX_COUNT(numbers); i++) {
        struct sigaction action = {.sa_handler = on_signal};
        (void)sigaction(numbers[i], &action, NULL);
        (void)sigaddset(&set, numbers[i]);
    }
    /* Held until somebody waits for one: none comes between "ready" and the waiting. */
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
}

static int wait_signal(void)
{
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigsuspend(&none);
    return caught;
}

/* trap: says "ready", then the number of the first signal, and exits with 40 */
static int verb_trap(char **args)
{
    (void)args;
    catch_signals();
    (void)fputs("ready", stdout);
    (void)flush(0);
    (void)fprintf(stdout, " %d", wait_signal());
    return flush(40);
}

static void say_size(void)
{
    struct winsize size = {0};
    if (ioctl(0, TIOCGWINSZ, &size) != 0) (void)fputs("no terminal", stdout);
    (void)fprintf(stdout, "%ux%u;", (unsigned)size.ws_row, (unsigned)size.ws_col);
    (void)flush(0);
}

/* size: of its terminal, now and after it changed */
static int verb_size(char **args)
{
    (void)args;
    catch_signals();
    say_size();
    while (wait_signal() != SIGWINCH) {
    }
    say_size();
    return 0;
}

/* reach SOCKET LINE: what the first answer to that line is, or why there is none */
static int verb_reach(char **args)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t len = strlen(args[0]);
    if (len >= sizeof address.sun_path) return 93;
    memcpy(address.sun_path, args[0], len);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    char answer[4096];
    ssize_t got = -1;
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
        send(fd, args[1], strlen(args[1]), MSG_NOSIGNAL) > 0 && send(fd, "\n", 1, MSG_NOSIGNAL) > 0)
        got = recv(fd, answer, sizeof answer, 0);
    if (got < 0)
        (void)fputs(strerror(errno), stdout);
    else
        (void)fwrite(answer, 1, (size_t)got, stdout);
    if (fd >= 0) (void)close(fd);
    return flush(0);
}

#endif

static const struct {
    const char *name;
    int args;
    int (*run)(char **args);
} verbs[] = {
    {"say", 1, verb_say},     {"both", 3, verb_both}, {"bytes", 1, verb_bytes},
    {"flood", 1, verb_flood}, {"cat", 0, verb_cat},   {"hold", 0, verb_hold},
    {"env", 1, verb_env},     {"cwd", 0, verb_cwd},   {"touch", 1, verb_touch},
#ifdef _WIN32
    {"own", 1, verb_own},
#else
    {"reach", 2, verb_reach}, {"trap", 0, verb_trap}, {"size", 0, verb_size},
#endif
};

int main(int argc, char **argv)
{
#ifdef _WIN32
    (void)_setmode(0, _O_BINARY);
    (void)_setmode(1, _O_BINARY);
    (void)_setmode(2, _O_BINARY);
    argv = arguments(&argc);
    if (argv == NULL) return 90;
#endif
    for (size_t i = 0; argc > 1 && i < SBX_COUNT(verbs); i++)
        if (strcmp(argv[1], verbs[i].name) == 0 && argc - 2 >= verbs[i].args)
            return verbs[i].run(argv + 2);
    (void)fputs("usage: wire_actor VERB ARG...\n", stderr);
    return 99;
}
