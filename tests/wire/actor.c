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
#else
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#endif

#include "common/base/attr.h"

#include "common/base/banned.h"

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
    const char *value = getenv(args[0]);
    (void)fputs(value == NULL ? "unset" : value, stdout);
    return flush(0);
}

/* cwd: the directory it runs in */
static int verb_cwd(char **args)
{
    (void)args;
    char path[4096];
#ifdef _WIN32
    if (_getcwd(path, sizeof path) == NULL) return 94;
#else
    if (getcwd(path, sizeof path) == NULL) return 94;
#endif
    (void)fputs(path, stdout);
    return flush(0);
}

/* touch PATH: makes it, or says why not as programs do */
static int verb_touch(char **args)
{
    FILE *file = fopen(args[0], "wb");
    if (file != NULL) return fclose(file);
    (void)fprintf(stderr, "wire_actor: %s: %s\n", args[0], strerror(errno));
    return 1;
}

#ifndef _WIN32

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
#ifndef _WIN32
    {"reach", 2, verb_reach}, {"trap", 0, verb_trap}, {"size", 0, verb_size},
#endif
};

int main(int argc, char **argv)
{
#ifdef _WIN32
    (void)_setmode(0, _O_BINARY);
    (void)_setmode(1, _O_BINARY);
    (void)_setmode(2, _O_BINARY);
#endif
    for (size_t i = 0; argc > 1 && i < SBX_COUNT(verbs); i++)
        if (strcmp(argv[1], verbs[i].name) == 0 && argc - 2 >= verbs[i].args)
            return verbs[i].run(argv + 2);
    (void)fputs("usage: wire_actor VERB ARG...\n", stderr);
    return 99;
}
