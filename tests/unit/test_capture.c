/* Tests of posix/capture: small programs of the system, and what they say. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/os.h"
#include "posix/capture.h"
#include "tests/check.h"

#include "common/base/banned.h"

struct answer {
    bool ok;
    int status, raw;
    char text[256];
};

static struct answer shell_within(const char *script, unsigned timeout_ms)
{
    struct answer answer = {.status = -1};
    const char *const argv[] = {"/bin/sh", "-c", script, NULL};
    answer.ok = sbx_capture(argv, timeout_ms, answer.text, sizeof answer.text, &answer.status);
    answer.raw = errno;
    return answer;
}

static struct answer shell(const char *script)
{
    return shell_within(script, 5000);
}

static void both_outputs_come_together_with_the_status(void)
{
    struct answer answer = shell("echo out; echo err >&2; exit 7");
    CHECK(answer.ok);
    CHECK_INT(answer.status, 7);
    CHECK_TEXT(answer.text, "out\nerr\n");
    CHECK_INT(shell("kill -TERM $$").status, 128 + SIGTERM);
}

static void it_has_no_environment_and_no_input(void)
{
    CHECK_INT(setenv("SBX_TEST_PLANTED", "planted", 1), 0);
    struct answer answer = shell("echo \"[$SBX_TEST_PLANTED]\"; cat; echo end");
    CHECK_TEXT(answer.text, "[]\nend\n");
    (void)unsetenv("SBX_TEST_PLANTED");
}

static void it_has_no_descriptor_of_ours(void)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    struct answer answer = shell("ls /proc/self/fd | wc -l");
    CHECK_TEXT(answer.text, "4\n"); /* 0, 1, 2 and the directory that is listed */
    (void)close(fd);
}

static void a_long_answer_is_cut(void)
{
    struct answer answer =
        shell("i=0; while [ $i -lt 3000 ]; do echo 0123456789; i=$((i+1)); done");
    CHECK(answer.ok);
    CHECK_INT(answer.status, 0);
    CHECK_U64(strlen(answer.text), sizeof answer.text - 1);
    CHECK(strncmp(answer.text, "0123456789\n0123456789\n", 22) == 0);
}

static void what_hangs_is_ended_in_time(void)
{
    uint64_t before = sbx_os_monotonic_ns();
    struct answer answer = shell_within("echo begun; exec sleep 60", 200);
    uint64_t took_ms = (sbx_os_monotonic_ns() - before) / 1000000;
    CHECK(!answer.ok);
    CHECK_INT(answer.raw, ETIMEDOUT);
    CHECK(took_ms >= 150 && took_ms < 5000);
}

static void a_grandchild_that_keeps_the_pipe_does_not_hold_it(void)
{
    uint64_t before = sbx_os_monotonic_ns();
    struct answer answer = shell_within("sleep 1 & echo done", 200);
    uint64_t took_ms = (sbx_os_monotonic_ns() - before) / 1000000;
    CHECK(answer.ok); /* the program has ended; what it left behind is ended with it */
    CHECK(took_ms < 900);
}

static void what_closes_its_output_and_stays_is_ended_in_time(void)
{
    uint64_t before = sbx_os_monotonic_ns();
    struct answer answer = shell_within("exec >&- 2>&-; exec sleep 60", 200);
    uint64_t took_ms = (sbx_os_monotonic_ns() - before) / 1000000;
    CHECK(!answer.ok);
    CHECK_INT(answer.raw, ETIMEDOUT);
    CHECK(took_ms < 5000);
}

static void what_cannot_be_started_is_said(void)
{
    char text[16] = "";
    int status = 0;
    const char *const argv[] = {"/nonexistent/program", NULL};
    CHECK(!sbx_capture(argv, 1000, text, sizeof text, &status));
    CHECK_INT(errno, ENOENT);
}

static const struct sbx_test tests[] = {
    {"both outputs come together, with the status", both_outputs_come_together_with_the_status},
    {"it has no environment and no input", it_has_no_environment_and_no_input},
    {"it has no descriptor of ours", it_has_no_descriptor_of_ours},
    {"a long answer is cut", a_long_answer_is_cut},
    {"what hangs is ended in time", what_hangs_is_ended_in_time},
    {"a grandchild that keeps the pipe does not hold it",
     a_grandchild_that_keeps_the_pipe_does_not_hold_it},
    {"what closes its output and stays is ended in time",
     what_closes_its_output_and_stays_is_ended_in_time},
    {"what cannot be started is said", what_cannot_be_started_is_said},
};

SBX_TEST_MAIN("capture", tests)
