/* sbx-oracle, on a Mac: asks the kernel the questions that the evaluator (tests/macos/sbpl.py) has answered, and prints every
 * difference. Not yet run on a Mac.
 *
 *     python3 -B tests/macos/export.py DIRECTORY      on any machine: a profile and its questions per manifest
 *     sbx-oracle DIRECTORY/NAME…                      on a Mac, outside of any sandbox
 *
 * NAME.sb is a profile, NAME.values its parameters, one a line, NAME.tsv its questions: verdict, operation, kind (path,
 * service, none), value. Each profile is applied to a child of its own, which sleeps while it is asked about. Paths are asked
 * as they are: what is not there is judged by its name. Exit status: 0 no difference, 1 differences, 2 a profile was refused,
 * 3 a file cannot be read, 4 this process is sandboxed itself. */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "posix/macos_sandbox.h"

#include "common/base/banned.h"

enum { LINE = 4096, PARAMETERS = 512 };
enum { SAME = 0, DIFFERENT = 1, REFUSED = 2, UNREADABLE = 3, NESTED = 4 };

struct counts {
    unsigned asked, different;
};

static char *read_all(const char *name, const char *suffix)
{
    char path[LINE];
    (void)snprintf(path, sizeof path, "%s%s", name, suffix);
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, (size_t)8 << 20);
    if (file == NULL || text == NULL) {
        (void)fprintf(stderr, "cannot read %s\n", path);
        exit(UNREADABLE);
    }
    size_t got = fread(text, 1, ((size_t)8 << 20) - 1, file);
    text[got] = '\0';
    (void)fclose(file);
    return text;
}

/* "P0", value, … NULL */
static const char *const *parameters_of(char *lines)
{
    static const char *list[2 * PARAMETERS + 1];
    static char names[PARAMETERS][16];
    size_t count = 0;
    char *rest = lines;
    for (char *line; (line = strsep(&rest, "\n")) != NULL && count < PARAMETERS;) {
        if (line[0] != '\0') {
            (void)snprintf(names[count], sizeof names[count], "P%zu", count);
            list[2 * count] = names[count];
            list[2 * count + 1] = line;
            count++;
        }
    }
    list[2 * count] = NULL;
    return list;
}

/* A child under the profile; 0 when it was refused. */
static pid_t confine(const char *profile, const char *const *parameters)
{
    int ready[2];
    char answer = 0;
    if (pipe(ready) != 0) {
        return 0;
    }
    pid_t pid = fork();
    if (pid == 0) {
        char *error = NULL;
        answer = sandbox_init_with_parameters(profile, 0, parameters, &error) == 0;
        if (answer == 0) {
            (void)fprintf(stderr, "refused: %s\n", error == NULL ? strerror(errno) : error);
        }
        ssize_t put = write(ready[1], &answer, 1);
        while (put == 1 && answer != 0) {
            (void)pause();
        }
        _exit(REFUSED);
    }
    (void)close(ready[1]);
    bool is_ready = pid > 0 && read(ready[0], &answer, 1) == 1 && answer != 0;
    (void)close(ready[0]);
    if (pid > 0 && !is_ready) {
        (void)waitpid(pid, NULL, 0);
    }
    return is_ready ? pid : 0;
}

static int ask(pid_t pid, const char *operation, const char *kind, const char *value)
{
    if (strcmp(kind, "path") == 0) {
        return sandbox_check(pid, operation, SBX_CHECK_PATH | SANDBOX_CHECK_NO_REPORT, value);
    }
    if (strcmp(kind, "service") == 0) {
        return sandbox_check(pid, operation, SBX_CHECK_GLOBAL_NAME | SANDBOX_CHECK_NO_REPORT,
                             value);
    }
    return sandbox_check(pid, operation, SBX_CHECK_NONE | SANDBOX_CHECK_NO_REPORT);
}

static void compare(const char *name, pid_t pid, char *questions, struct counts *counts)
{
    char *rest = questions;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        const char *want = strsep(&line, "\t");
        const char *operation = line == NULL ? NULL : strsep(&line, "\t");
        const char *kind = line == NULL ? NULL : strsep(&line, "\t");
        if (kind == NULL || line == NULL) {
            continue;
        }
        int answer = ask(pid, operation, kind, line);
        const char *got = answer == 0 ? "allow" : answer == 1 ? "deny" : "error";
        counts->asked++;
        if (strcmp(got, want) != 0) {
            counts->different++;
            printf("DIFFERENT %s: model %s, kernel %s: %s %s %s\n", name, want, got, operation,
                   kind, line);
        }
    }
}

int main(int argc, char **argv)
{
    int status = SAME;
    struct counts all = {0, 0};
    if (sandbox_check(getpid(), NULL, SBX_CHECK_NONE) == 1) {
        (void)fprintf(stderr, "sbx-oracle runs inside a sandbox: nothing can be asked here\n");
        return NESTED;
    }
    for (int i = 1; i < argc; i++) {
        struct counts here = {0, 0};
        char *profile = read_all(argv[i], ".sb");
        char *questions = read_all(argv[i], ".tsv");
        char *values = read_all(argv[i], ".values");
        pid_t pid = confine(profile, parameters_of(values));
        if (pid > 0) {
            compare(argv[i], pid, questions, &here);
            (void)kill(pid, SIGKILL);
            (void)waitpid(pid, NULL, 0);
        } else {
            status = REFUSED;
        }
        printf("%s: %u asked, %u different\n", argv[i], here.asked, here.different);
        all.asked += here.asked;
        all.different += here.different;
        free(profile);
        free(questions);
        free(values);
    }
    printf("%u asked, %u different\n", all.asked, all.different);
    return status != SAME ? status : all.different > 0 || all.asked == 0 ? DIFFERENT : SAME;
}
