/* What the command-line tests let sbx run: `cli_actor VERB ARG…` does one thing, the same everywhere. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#include <direct.h>
#include <fcntl.h>
#include <io.h>
#include <process.h>
#include <windows.h>
#else
#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
#endif

#include "common/base/attr.h"

#include "common/base/banned.h"

#ifndef _WIN32 /* whose headers have it */
extern char **environ;
#endif

static int usage(void)
{
    (void)fprintf(stderr, "usage: cli_actor VERB ARG...\n");
    return 99;
}

static void wait_ms(const char *text)
{
    unsigned long ms = strtoul(text, NULL, 10);
#ifdef _WIN32
    Sleep(ms);
#else
    struct timespec left = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
    while (nanosleep(&left, &left) != 0) {
    }
#endif
}

static int touch(const char *path)
{
    FILE *file = fopen(path, "wb");
    return file != NULL && fclose(file) == 0 ? 0 : 1;
}

/* exit CODE */
static int verb_exit(char **args)
{
    return (int)strtoul(args[0], NULL, 10);
}

/* args WORD…: one a line, in brackets */
static int verb_args(char **args)
{
    for (; *args != NULL; args++) {
        printf("[%s]\n", *args);
    }
    return 0;
}

/* env: one a line */
static int verb_env(char **args)
{
    (void)args;
    for (char **entry = environ; *entry != NULL; entry++) {
        printf("%s\n", *entry);
    }
    return 0;
}

/* cat: standard input to standard output, byte by byte the same */
static int verb_cat(char **args)
{
    (void)args;
    char block[65536];
    size_t got;
    while ((got = fread(block, 1, sizeof block, stdin)) > 0) {
        if (fwrite(block, 1, got, stdout) != got) {
            return 1;
        }
    }
    return fflush(stdout) == 0 ? 0 : 1;
}

/* say OUT ERR CODE: a line on each stream */
static int verb_say(char **args)
{
    printf("%s\n", args[0]);
    (void)fflush(stdout);
    (void)fprintf(stderr, "%s\n", args[1]);
    return (int)strtoul(args[2], NULL, 10);
}

/* cwd */
static int verb_cwd(char **args)
{
    (void)args;
    char text[4096];
#ifdef _WIN32
    if (_getcwd(text, sizeof text) == NULL) return 1;
#else
    if (getcwd(text, sizeof text) == NULL) {
        return 1;
    }
#endif
    printf("%s\n", text);
    return 0;
}

/* touch FILE */
static int verb_touch(char **args)
{
    return touch(args[0]);
}

/* late MS FILE: makes FILE after a while */
static int verb_late(char **args)
{
    wait_ms(args[0]);
    return touch(args[1]);
}

/* hang READY MS FILE: starts another process that makes FILE after MS, makes READY, and outwaits it */
static int verb_hang(char **args, char *self)
{
#ifdef _WIN32
    const char *late[] = {self, "late", args[1], args[2], NULL};
    if (_spawnv(_P_NOWAIT, self, late) == -1) return 1;
#else
    (void)self;
    pid_t pid = fork();
    if (pid == 0) {
        _exit(verb_late(args + 1));
    }
    if (pid < 0) {
        return 1;
    }
#endif
    if (touch(args[0]) != 0) return 1;
    wait_ms(args[1]);
    wait_ms("1000");
    return 0;
}

/* fds: numbers of the open descriptors, one a line */
static int verb_fds(char **args)
{
    (void)args;
#ifndef _WIN32
    for (int fd = 0; fd < 4096; fd++) {
        if (fcntl(fd, F_GETFD) >= 0) {
            printf("%d\n", fd);
        }
    }
#endif
    return 0;
}

static const struct {
    const char *name;
    int args; /* at least */
    int (*run)(char **args);
} verbs[] = {
    {"exit", 1, verb_exit}, {"args", 0, verb_args}, {"env", 0, verb_env},
    {"cat", 0, verb_cat},   {"say", 3, verb_say},   {"cwd", 0, verb_cwd},
    {"late", 2, verb_late}, {"fds", 0, verb_fds},   {"touch", 1, verb_touch},
};

int main(int argc, char **argv)
{
#ifdef _WIN32
    /* Bytes, not lines. */
    (void)_setmode(_fileno(stdin), _O_BINARY);
    (void)_setmode(_fileno(stdout), _O_BINARY);
    (void)_setmode(_fileno(stderr), _O_BINARY);
#endif
    if (argc < 2) {
        return usage();
    }
    if (strcmp(argv[1], "hang") == 0 && argc == 5) {
        return verb_hang(argv + 2, argv[0]);
    }
    for (size_t i = 0; i < SBX_COUNT(verbs); i++) {
        if (strcmp(argv[1], verbs[i].name) == 0 && argc - 2 >= verbs[i].args) {
            return verbs[i].run(argv + 2);
        }
    }
    return usage();
}
