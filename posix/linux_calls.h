/* System calls as data: what no box may call, what a strict box may, and what single layers answer. One
 * row per call and condition, each with its reason. make_filters.c compiles the tables into programs at
 * build time, docs/SYSCALLS.md is printed from them, and tests try each row against the running kernel. */
#ifndef SBX_POSIX_LINUX_CALLS_H
#define SBX_POSIX_LINUX_CALLS_H

#include <stdint.h>

/* One condition on an argument. A mask says which bits the kernel reads: what stands in the others must
 * not hide a value. SBX_IS_NOT looks at all 64 bits, so that it refuses too much rather than too little. */
struct sbx_call_test {
    unsigned argument; /* 0–5 */
    enum { SBX_IS, SBX_IS_NOT } compare;
    uint64_t mask, value;
};

#define SBX_ANSWER_NOTIFY (-1) /* the listener decides */

/* A call that gets an answer when all its tests hold; one without tests always gets it. */
struct sbx_call_rule {
    const char *name;
    int answer; /* an errno, or SBX_ANSWER_NOTIFY */
    unsigned test_count;
    struct sbx_call_test tests[2];
    const char *when; /* the tests in words; NULL without any */
    const char *why;
};

/* Each ends with name NULL. */
extern const struct sbx_call_rule sbx_call_refusals[]; /* in every box */
extern const struct sbx_call_rule sbx_call_no_unix[];  /* besides, where AF_UNIX is not allowed */
extern const struct sbx_call_rule sbx_call_creating[]; /* what makes a directory entry */
extern const struct sbx_call_rule
    sbx_call_metadata[]; /* what changes a file without writing to it */
extern const struct sbx_call_rule
    sbx_call_changing[]; /* modes and times, which have an owner to ask */
extern const struct sbx_call_rule sbx_call_landlock[]; /* the calls of Landlock */
extern const struct sbx_call_rule sbx_call_networks[]; /* sockets of the internet families */
extern const struct sbx_call_rule
    sbx_call_neighbours[]; /* what reaches the user's other processes */

/* Socket families that a box may ask for; socket() answers EAFNOSUPPORT for all others. */
struct sbx_call_family {
    const char *name;
    unsigned family;
    enum { SBX_FAMILY_ALWAYS, SBX_FAMILY_UNIX, SBX_FAMILY_ROUTE_ONLY } rule;
    const char *why;
};
extern const struct sbx_call_family sbx_call_families[]; /* ascending; ends with name NULL */

/* What syscall_policy = "strict" allows, besides nothing. The refusals hold there too. */
struct sbx_call_group {
    const char *title;
    const char *why;
    const char *const *names; /* ends with NULL */
};
extern const struct sbx_call_group sbx_call_strict[]; /* ends with title NULL */

/* Calls that may be newer than the library which knows their numbers. From 424 on every processor has
 * the same ones. */
struct sbx_call_number {
    const char *name; /* NULL ends the table */
    int number;
};
extern const struct sbx_call_number sbx_call_numbers[];

/* "EPERM"; "listener" for SBX_ANSWER_NOTIFY; "unknown" for what no row answers. */
const char *sbx_call_answer_text(int answer);

#endif
