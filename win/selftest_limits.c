/* Cases: each limit is violated for real, and nothing outlives its box. */
#include "win/selftest.h"

#include "common/base/banned.h"

#define LIMIT(ID, PROMISE, LINES, ATTEMPT, NAME)                                                   \
    {                                                                                              \
        .id = "limits." ID, .promise = PROMISE ", and the outcome says so", .manifest = (LINES),   \
        .attempt = (ATTEMPT), .limit = (NAME), .control = SBX_ANSWER_DONE                          \
    }

static const struct sbx_selftest_case limit_cases[] = {
    LIMIT("timeout", "the wall clock ends a box", "timeout = \"500ms\"\n", "sleep 1500", "timeout"),
    LIMIT("output", "too much output ends a box", "max_output_bytes = \"64KiB\"\n",
          "output 1000000", "output"),
    LIMIT("process-memory", "a process of a box gets no more memory than it may",
          "max_memory_bytes = \"256MiB\"\n", "memory 512", "memory"),
    LIMIT("job-memory", "all processes of a box together get no more memory than they may",
          "max_memory_bytes = \"256MiB\"\n", "memory-of-all 4", "memory"),
    LIMIT("processes", "a box has no more processes than it may", "max_processes = 8\n",
          "processes 12", "processes"),
    LIMIT("cpu", "processor time ends a box", "max_cpu_secs = 1\n", "cpu 3", "cpu"),
    {.id = "limits.below",
     .promise = "below its limits a box is left alone",
     .manifest = "max_memory_bytes = \"256MiB\"\nmax_processes = 8\nmax_cpu_secs = 30\n"
                 "max_output_bytes = \"64KiB\"\n",
     .attempt = "processes 3",
     .wants = SBX_ANSWER_DONE,
     .control = SBX_ANSWER_DONE},
};
const struct sbx_selftest_group sbx_selftest_limits_group = {"limits", limit_cases,
                                                             SBX_COUNT(limit_cases)};

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
const struct sbx_selftest_group sbx_selftest_ending_group = {"ending", end_cases,
                                                             SBX_COUNT(end_cases)};
