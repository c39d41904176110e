/* The program bwrap: found, checked, tried. */
#ifndef SBX_POSIX_BWRAP_H
#define SBX_POSIX_BWRAP_H

#include <stdbool.h>

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/policy/facts.h"

struct sbx_bwrap {
    const char *path; /* absolute and real */
    unsigned major, minor, patch;
    bool binds_descriptors; /* has --bind-fd: sources are pinned */
};

/* What every box is built with, whatever its policy; the probe tries the same. Ends with NULL. */
extern const char *const sbx_bwrap_always[];

/* Looks through the caller's PATH (absolute directories only), checks owner and mode, and asks for version and
 * options. The answers are remembered in sbx's own directory as long as the file, the kernel's boot and
 * the caller are the same. SBX_E_NOT_FOUND, SBX_E_UNTRUSTED or SBX_E_UNSUPPORTED with a remedy otherwise. */
enum sbx_code sbx_bwrap_find(struct sbx_arena *arena, struct sbx_bwrap *out,
                             struct sbx_err *err) SBX_MUST_USE;

/* Forgets what was remembered: it turned out to be wrong. */
void sbx_bwrap_forget(struct sbx_arena *arena);

void sbx_bwrap_probe(struct sbx_arena *arena, struct sbx_probe *out);

#endif
