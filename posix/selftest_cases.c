/* The cases of the self-test on POSIX: a small set that every box must hold. The long one is tests/fence. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "posix/selftest.h"

#include "common/base/banned.h"

static const struct sbx_selftest_case box_cases[] = {
    {.id = "box.start",
     .promise = "a box starts, and all that was read back of it is as planned",
     .attempt = "nothing",
     .run = sbx_selftest_case_start},
};

static const struct sbx_selftest_case file_cases[] = {
    {.id = "files.write-inside",
     .promise = "a box writes where its manifest lets it",
     .manifest = SBX_SELFTEST_WRITES,
     .attempt = "write {inside}/written",
     .wants = SBX_ANSWER_DONE},
    {.id = "files.write-outside",
     .promise = "a box does not write where its manifest does not let it",
     .attempt = "write {outside}/written",
     .wants = SBX_ANSWER_CLOSED,
     .control = SBX_ANSWER_DONE},
    {.id = "files.write-read-only",
     .promise = "a box does not write what it may only read",
     .manifest = "fs_read_allow = [\"{bin}\", \"{outside}\"]\n",
     .attempt = "write {outside}/written",
     .wants = SBX_ANSWER_DENIED,
     .control = SBX_ANSWER_DONE},
    {.id = "files.read-outside",
     .promise = "a box does not read what its manifest does not name",
     .attempt = "read {outside}/secret",
     .wants = SBX_ANSWER_CLOSED,
     .control = SBX_ANSWER_DONE},
    {.id = "files.read-granted",
     .promise = "a box reads what its manifest names",
     .manifest = "fs_read_allow = [\"{bin}\", \"{outside}\"]\n",
     .attempt = "read {outside}/secret",
     .wants = SBX_ANSWER_DONE,
     .control = SBX_ANSWER_DONE},
};

static const struct sbx_selftest_case network_cases[] = {
    {.id = "network.loopback",
     .promise = "a box without network does not reach a listener of the host on loopback",
     .attempt = "connect {port}",
     .wants = SBX_ANSWER_CLOSED,
     .control = SBX_ANSWER_DONE},
    {.id = "network.inherit",
     .promise = "a box with the host's network reaches it",
     .manifest = "network = \"inherit\"\n",
     .attempt = "connect {port}",
     .wants = SBX_ANSWER_DONE,
     .control = SBX_ANSWER_DONE},
};

static const struct sbx_selftest_case environment_cases[] = {
    {.id = "environment.dropped",
     .promise = "a variable of the caller does not reach a box",
     .attempt = "variable SBX_SELFTEST_VARIABLE",
     .wants = SBX_ANSWER_ABSENT,
     .control = SBX_ANSWER_DONE},
    {.id = "environment.passed",
     .promise = "a variable that the manifest passes does",
     .manifest = "env_pass = [\"SBX_SELFTEST_VARIABLE\"]\n",
     .attempt = "variable SBX_SELFTEST_VARIABLE",
     .wants = SBX_ANSWER_DONE,
     .control = SBX_ANSWER_DONE},
    {.id = "environment.exact",
     .promise = "a box has no variable that nobody declared",
     .manifest = "env = [[\"DECLARED\", \"1\"]]\n",
     .attempt = "environment DECLARED PWD TMPDIR",
     .wants = SBX_ANSWER_ABSENT,
     .control = SBX_ANSWER_DONE},
};

static const struct sbx_selftest_case handle_cases[] = {
    {.id = "handles.inherited",
     .promise = "a descriptor that the caller left open does not reach a box",
     .attempt = "descriptor {handle}",
     .wants = SBX_ANSWER_CLOSED,
     .control = SBX_ANSWER_DONE},
};

static const struct sbx_selftest_case limit_cases[] = {
    {.id = "limits.timeout",
     .promise = "the wall clock ends a box, and the outcome says so",
     .manifest = "timeout = \"500ms\"\n",
     .attempt = "sleep 1500",
     .limit = "timeout",
     .control = SBX_ANSWER_DONE},
    {.id = "limits.output",
     .promise = "too much output ends a box, and the outcome says so",
     .manifest = "max_output_bytes = \"64KiB\"\n",
     .attempt = "output 1000000",
     .limit = "output",
     .control = SBX_ANSWER_DONE},
    {.id = "limits.memory",
     .promise = "too much memory ends a box, and the outcome says so",
     .manifest = "max_memory_bytes = \"64MiB\"\nrequire = [\"memory\"]\n",
     .attempt = "memory 256",
     .limit = "memory",
     .control = SBX_ANSWER_DONE},
    {.id = "limits.processes",
     .promise = "a box has no more processes than it may",
     .manifest = "max_processes = 16\nrequire = [\"processes\"]\n",
     .attempt = "processes 40",
     .wants = SBX_ANSWER_DENIED,
     .control = SBX_ANSWER_DONE},
};

static const struct sbx_selftest_case end_cases[] = {
    {.id = "ending.tree",
     .promise = "a process that the command leaves behind ends with its box",
     .manifest = SBX_SELFTEST_WRITES,
     .attempt = "leave {left} 1200",
     .run = sbx_selftest_case_tree},
    {.id = "ending.crash",
     .promise = "when sbx is killed hard its box ends, and the next one runs",
     .manifest = SBX_SELFTEST_WRITES,
     .attempt = "mark {begun} {after} 1200",
     .run = sbx_selftest_case_crash},
};

static const struct sbx_selftest_case timing_cases[] = {
    {.id = "timing.start",
     .promise = "how long a box takes is measured",
     .attempt = "nothing",
     .run = sbx_selftest_case_timing},
};

/* ---- nothing is left ---- */

static bool runs(const char *pid, const char *program)
{
    char link[64];
    char name[4096];
    (void)snprintf(link, sizeof link, "/proc/%.20s/exe", pid);
    ssize_t got = readlink(link, name, sizeof name - 1);
    if (got < 0) {
        return false;
    }
    name[got] = '\0'; /* the kernel puts " (deleted)" after it, if it is */
    return strncmp(name, program, strlen(program)) == 0;
}

/* Processes that run the copy of sbx; the self-test itself runs another file. */
static void find_leftovers(struct sbx_selftest *t, const struct sbx_selftest_case *row,
                           struct sbx_selftest_result *result)
{
    (void)row;
    size_t seen = 0;
    size_t left = 0;
    if (!sbx_selftest_has_box(t, result)) {
        return;
    }
    DIR *processes = opendir("/proc");
    if (processes == NULL) {
        sbx_selftest_say(t, result, SBX_SELFTEST_CANNOT, "this system has no /proc to look at");
        return;
    }
    for (const struct dirent *entry; (entry = readdir(processes)) != NULL;) {
        if (sbx_is_digit(entry->d_name[0])) {
            seen++;
            left += runs(entry->d_name, sbx_selftest_place(t, "copy"));
        }
    }
    (void)closedir(processes);
    sbx_selftest_say(t, result, left == 0 && seen > 0 ? SBX_SELFTEST_PASS : SBX_SELFTEST_FAIL,
                     "%zu processes were looked at, %zu of them a box's", seen, left);
}

static const struct sbx_selftest_case leftover_cases[] = {
    {.id = "leftovers.processes", .promise = "no process of a box is left", .run = find_leftovers},
};

const struct sbx_selftest_group *const *sbx_selftest_groups(void)
{
    static const struct sbx_selftest_group groups[] = {
        {"box", box_cases, SBX_COUNT(box_cases)},
        {"files", file_cases, SBX_COUNT(file_cases)},
        {"network", network_cases, SBX_COUNT(network_cases)},
        {"environment", environment_cases, SBX_COUNT(environment_cases)},
        {"handles", handle_cases, SBX_COUNT(handle_cases)},
        {"limits", limit_cases, SBX_COUNT(limit_cases)},
        {"ending", end_cases, SBX_COUNT(end_cases)},
        {"timing", timing_cases, SBX_COUNT(timing_cases)},
        {"leftovers", leftover_cases, SBX_COUNT(leftover_cases)},
    };
    static const struct sbx_selftest_group *list[SBX_COUNT(groups) + 1];
    for (size_t i = 0; i < SBX_COUNT(groups); i++) {
        list[i] = &groups[i];
    }
    return list;
}
