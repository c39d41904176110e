/* The seccomp programs of the Linux backends, ready in the program's read-only data: nothing here
 * allocates, so all of it may be used between fork and exec.
 *
 * Programs are stacked: a call gets the strictest answer of all that are loaded (ending the process is
 * stricter than an errno, that than asking the listener, that than allowing). Every box loads one of the
 * two deny programs; the others go on top. Each ends a process that enters the kernel as another
 * processor (32-bit entry, x32 numbers). */
#ifndef SBX_POSIX_LINUX_SECCOMP_H
#define SBX_POSIX_LINUX_SECCOMP_H

#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/attr.h"
#include "common/base/names.h"

struct sbx_bpf {
    const struct sock_filter *code;
    uint16_t count;
};

enum sbx_filter {
    SBX_FILTER_DENY,        /* known escapes; AF_UNIX sockets are refused */
    SBX_FILTER_DENY_UNIX,   /* the same, with AF_UNIX sockets */
    SBX_FILTER_STRICT,      /* only what everyday tools need; useless without a deny program */
    SBX_FILTER_NAMES,       /* asks the listener before a directory entry is made */
    SBX_FILTER_METADATA,    /* files change by writing only */
    SBX_FILTER_NO_LANDLOCK, /* Landlock seems to be switched off */
    SBX_FILTER_NO_NETWORK,  /* no internet sockets, where there is no network namespace */
    SBX_FILTER_NEIGHBOURS,  /* the user's other processes, where there are no namespaces */
    SBX_FILTER_CHANGES,     /* asks the listener before a mode or times are changed */
    /* A deny program and what most boxes load on top, as one: each program costs when a box is made. */
    SBX_FILTER_BOX,             /* deny, no-landlock */
    SBX_FILTER_BOX_UNIX,        /* deny-unix, no-landlock */
    SBX_FILTER_BOX_STRICT,      /* deny, strict, no-landlock */
    SBX_FILTER_BOX_UNIX_STRICT, /* deny-unix, strict, no-landlock */
    SBX_FILTER_COUNT
};

/* "deny", "deny-unix", … for evidence and messages. */
extern const struct sbx_name sbx_filter_names[];

struct sbx_bpf sbx_filter_program(enum sbx_filter which);

/* Puts one program in the place of those that it says the same as together. Returns how many there are then. */
size_t sbx_filter_join(enum sbx_filter *filters, size_t count);

/* Loads a program into the calling thread, for good; no-new-privs must be set. `flags` are the kernel's
 * SECCOMP_FILTER_FLAG_*. Returns what the kernel returns (0, or the listener's descriptor, close-on-exec,
 * for SECCOMP_FILTER_FLAG_NEW_LISTENER), or -errno with nothing loaded. */
int sbx_filter_load(enum sbx_filter which, unsigned flags) SBX_MUST_USE;

/* What make_filters writes: one program per value of enum sbx_filter. */
extern const struct sbx_bpf sbx_filter_programs[SBX_FILTER_COUNT];

#endif
