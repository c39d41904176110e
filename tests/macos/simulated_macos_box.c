/* Whole macOS boxes on Linux: the code of posix/macos_*.c, unchanged, from plan to record, with a kernel that is played
 * (fake_kernel.c). What this shows is the order of things: who is held, let go, told, ended and cleaned up. It shows nothing of
 * Seatbelt. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "posix/macos_first.h"
#include "posix/macos_launch.h"
#include "posix/macos_log.h"
#include "posix/selftest.h"
#include "posix/system.h"
#include "tests/check.h"
#include "tests/macos/unaliased.h"
#include "tests/macos/fake_kernel.h"
#include "tests/unit/policy_fixture.h"

#include "common/base/banned.h"

static char root[] = "/tmp/sbx-macos-XXXXXX"; /* writable for the box */
static char place[128];                       /* of its scratch directory */

bool __wrap_sbx_system_self(char *out, size_t size);
bool __wrap_sbx_system_self(char *out, size_t size)
{
    ssize_t len = readlink("/proc/self/exe", out, size - 1);
    out[len > 0 ? len : 0] = '\0';
    return len > 0;
}

void sbx_macos_log_read(struct sbx_arena *arena, const char *tag, unsigned seconds,
                        struct sbx_run_record *record)
{
    (void)arena;
    (void)tag;
    (void)seconds;
    (void)record;
}

struct ran {
    struct fixture f;
    struct sbx_run_record record;
    struct sbx_err err;
    enum sbx_code code;
};

static void release(struct ran *ran)
{
    fixture_release(&ran->f);
}
#define AUTO_RAN SBX_CLEANUP(release) struct ran

/* A shell script in a box; `lines` of the manifest besides the usual ones. */
static void run(struct ran *ran, const char *lines, const char *script)
{
    static const char *words[] = {"/bin/sh", "-c", NULL, NULL};
    AUTO_BUF toml;
    words[2] = script;
    *ran = (struct ran){0};
    sbx_buf_init(&toml, 4096);
    sbx_buf_printf(
        &toml,
        "[sandbox]\nnetwork = \"deny\"\ncwd = \"%s\"\nenv = [[\"PATH\", \"/usr/bin:/bin\"]]\n"
        "fs_write_allow = [\"%s\"]\n%s\n",
        root, root, lines);
    fixture_policy(&ran->f, SBX_MACOS, sbx_buf_text(&toml));
    /* "/tmp" is "/private/tmp" on macOS, and is not here. */
    ran->f.policy.cwd = (struct sbx_path){root, strlen(root), SBX_PATH_MACOS};
    ran->f.policy.context.tmp = (struct sbx_path){place, strlen(place), SBX_PATH_MACOS};
    fixture_plan(&ran->f);
    ran->f.plan.command = words;
    fake_policy = &ran->f.policy;
    fake_asked = 0;
    ran->code = sbx_macos_run(&ran->f.arena, &ran->f.plan, NULL, &ran->record, &ran->err);
}

static const char *path_in(const char *name)
{
    static char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", root, name);
    return path;
}

static bool is_there(const char *name)
{
    struct stat info;
    return lstat(path_in(name), &info) == 0;
}

static void pause_ms(long ms)
{
    const struct timespec rest = {ms / 1000, ms % 1000 * 1000000};
    (void)nanosleep(&rest, NULL);
}

/* Nothing of a box is left in the place of scratch directories. */
static bool is_clean(void)
{
    return rmdir(place) == 0 && mkdir(place, 0700) == 0;
}

static void a_command_runs_and_its_status_is_told(void)
{
    AUTO_RAN ran;
    run(&ran, "", "echo $TMPDIR > out; test -d \"$TMPDIR\" && exit 7");
    CHECK_CODE(ran.code, SBX_OK, &ran.err);
    CHECK(ran.record.outcome.started);
    CHECK_U64(ran.record.outcome.exit_code, 7);
    CHECK(is_there("out"));
    CHECK(ran.record.evidence_count > 12);
    CHECK(is_clean());
}

static void a_signal_is_told_as_such(void)
{
    AUTO_RAN ran;
    run(&ran, "", "kill -SEGV $$");
    CHECK_CODE(ran.code, SBX_OK, &ran.err);
    CHECK_INT(ran.record.outcome.signal, SIGSEGV);
}

static void only_declared_variables_and_three_descriptors_arrive(void)
{
    AUTO_RAN ran;
    run(&ran, "", "env | sed 's/=.*//' | sort > names; ls /proc/self/fd | wc -l > fds");
    CHECK_CODE(ran.code, SBX_OK, &ran.err);
    char text[256] = "";
    FILE *file = fopen(path_in("names"), "re");
    size_t got = file == NULL ? 0 : fread(text, 1, sizeof text - 1, file);
    text[got] = '\0';
    if (file != NULL) {
        (void)fclose(file);
    }
    /* The shell itself sets PWD and _. */
    CHECK(strstr(text, "PATH\n") != NULL && strstr(text, "TMPDIR\n") != NULL);
    CHECK(strstr(text, "HOME\n") == NULL && strstr(text, "USER\n") == NULL);
}

static void each_answer_that_differs_keeps_the_command_from_running(void)
{
    unsigned lies = 0;
    AUTO_RAN plain;
    run(&plain, "", "exit 0");
    CHECK_CODE(plain.code, SBX_OK, &plain.err);
    /* The last three items are of the process, not of its profile. */
    unsigned questions = (unsigned)plain.record.evidence_count - 3;
    for (unsigned lie = 1; lie <= questions; lie++) {
        AUTO_RAN ran;
        (void)unlink(path_in("ran"));
        fake_lie = lie;
        run(&ran, "", "touch ran");
        fake_lie = 0;
        CHECK_CODE(ran.code, SBX_E_VERIFY, &ran.err);
        CHECK(!is_there("ran"));
        CHECK(is_clean());
        lies += ran.code == SBX_E_VERIFY;
    }
    printf("# %u answers about the held process, each of them missed\n", lies);
    CHECK(lies > 20);
}

/* The workspace is in the directory of the test: what is below "/tmp" has another name on macOS. */
static void a_place_that_git_is_led_to_is_asked_about(void)
{
    static const char file[] = "gitdir: ../store\n";
    char directory[PATH_MAX];
    char here[512];
    char lines[700];
    char path[600];
    if (!CHECK(find_unaliased(directory))) {
        return;
    }
    (void)snprintf(here, sizeof here, "%.400s/sbx-macos-git-XXXXXX", directory);
    CHECK(mkdtemp(here) != NULL);
    (void)snprintf(path, sizeof path, "%s/store", here);
    CHECK_INT(mkdir(path, 0755), 0);
    (void)snprintf(path, sizeof path, "%s/tree", here);
    CHECK_INT(mkdir(path, 0755), 0);
    (void)snprintf(path, sizeof path, "%s/tree/.git", here);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    CHECK(fd >= 0 && write(fd, file, sizeof file - 1) == (ssize_t)sizeof file - 1);
    (void)close(fd);
    (void)snprintf(lines, sizeof lines, "filesystem = { \"%s\" = \"write\" }", here);
    fake_closed = "/store/hooks";
    AUTO_RAN closed;
    run(&closed, lines, "touch ran4");
    CHECK_CODE(closed.code, SBX_OK, &closed.err);
    CHECK(is_there("ran4"));
    /* A profile without it would let the hook be written: nothing runs. */
    fake_closed = NULL;
    AUTO_RAN open_one;
    run(&open_one, lines, "touch ran5");
    CHECK_CODE(open_one.code, SBX_E_VERIFY, &open_one.err);
    CHECK(!is_there("ran5"));
    CHECK(is_clean());
    sbx_selftest_remove(here);
}

static void a_profile_that_is_refused_says_why(void)
{
    AUTO_RAN ran;
    run(&ran, "fs_read_allow = [\"/" FAKE_REFUSED "\"]", "touch ran2");
    CHECK_CODE(ran.code, SBX_E_IO, &ran.err);
    CHECK(strstr(ran.err.text, "the profile of a test") != NULL);
    CHECK(!is_there("ran2"));
    CHECK(is_clean());
}

static void time_ends_a_box_and_what_ignores_it(void)
{
    AUTO_RAN ran;
    run(&ran, "timeout = \"300ms\"", "trap '' TERM; while :; do sleep 1; done");
    CHECK_CODE(ran.code, SBX_OK, &ran.err);
    CHECK_INT(ran.record.outcome.limit, SBX_LIMIT_TIMEOUT);
    CHECK(is_clean());
}

static void a_daemon_ends_with_its_box(void)
{
    AUTO_RAN ran;
    run(&ran, "",
        "setsid sh -c 'sleep 1; touch late' >/dev/null 2>&1 </dev/null & sleep 0.2; exit 0");
    CHECK_CODE(ran.code, SBX_OK, &ran.err);
    CHECK_U64(ran.record.outcome.exit_code, 0);
    pause_ms(1300);
    CHECK(!is_there("late"));
}

static void too_many_processes_end_a_box(void)
{
    AUTO_RAN ran;
    run(&ran, "max_processes = 4", "for i in 1 2 3 4 5 6 7 8; do sleep 5 & done; sleep 5");
    CHECK_CODE(ran.code, SBX_OK, &ran.err);
    CHECK_INT(ran.record.outcome.limit, SBX_LIMIT_PROCESSES);
}

static void a_memory_limit_is_set_and_watched(void)
{
    AUTO_RAN ran;
    run(&ran, "max_memory_bytes = \"24MiB\"",
        "head -c 80000000 /dev/zero | tail -c 79999999 > /dev/null & dd if=/dev/zero of=/dev/null "
        "bs=60M count=200 2>/dev/null");
    CHECK_CODE(ran.code, SBX_OK, &ran.err);
    CHECK_INT(ran.record.outcome.limit, SBX_LIMIT_MEMORY);
}

static void a_program_that_cannot_be_executed_is_told(void)
{
    AUTO_RAN ran;
    FILE *file = fopen(path_in("script"), "we");
    CHECK(file != NULL && fputs("#!/nowhere/interpreter\n", file) >= 0 && fclose(file) == 0 &&
          chmod(path_in("script"), 0700) == 0);
    const char *const words[] = {path_in("script"), NULL};
    run(&ran, "", "exit 0"); /* to have a plan */
    ran.f.plan.command = words;
    ran.code = sbx_macos_run(&ran.f.arena, &ran.f.plan, NULL, &ran.record, &ran.err);
    CHECK_CODE(ran.code, SBX_E_NOT_FOUND, &ran.err);
    CHECK(strstr(ran.err.text, "/nowhere/interpreter") != NULL);
    CHECK(is_clean());
}

static void a_directory_that_is_not_there_is_told(void)
{
    AUTO_RAN ran;
    run(&ran, "", "exit 0");
    ran.f.policy.cwd = (struct sbx_path){"/nowhere/at/all", 15, SBX_PATH_MACOS};
    ran.code = sbx_macos_run(&ran.f.arena, &ran.f.plan, NULL, &ran.record, &ran.err);
    CHECK_CODE(ran.code, SBX_E_INVALID, &ran.err);
    CHECK(strstr(ran.err.text, "/nowhere/at/all") != NULL);
}

static const struct sbx_test tests[] = {
    {"a command runs and its status is told", a_command_runs_and_its_status_is_told},
    {"a signal is told as such", a_signal_is_told_as_such},
    {"only declared variables arrive", only_declared_variables_and_three_descriptors_arrive},
    {"each answer that differs keeps the command from running",
     each_answer_that_differs_keeps_the_command_from_running},
    {"a place that git is led to is asked about, and nothing runs when it is open",
     a_place_that_git_is_led_to_is_asked_about},
    {"a profile that is refused says why", a_profile_that_is_refused_says_why},
    {"time ends a box and what ignores it", time_ends_a_box_and_what_ignores_it},
    {"a daemon ends with its box", a_daemon_ends_with_its_box},
    {"too many processes end a box", too_many_processes_end_a_box},
    {"a memory limit is set and watched", a_memory_limit_is_set_and_watched},
    {"a program that cannot be executed is told", a_program_that_cannot_be_executed_is_told},
    {"a directory that is not there is told", a_directory_that_is_not_there_is_told},
};

int main(int argc, char **argv)
{
    if (sbx_first_is_asked(argc, argv)) {
        sbx_first_main();
    }
    if (mkdtemp(root) == NULL) {
        return 1;
    }
    (void)snprintf(place, sizeof place, "%s-scratch", root);
    if (mkdir(place, 0700) != 0) {
        return 1;
    }
    int status = sbx_test_main(argc, argv, "simulated_macos_box", tests, SBX_COUNT(tests));
    sbx_selftest_remove(root);
    sbx_selftest_remove(place);
    return status;
}
