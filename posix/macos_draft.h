/* What the files that write regions share: one region that is being written. */
#ifndef SBX_POSIX_MACOS_DRAFT_H
#define SBX_POSIX_MACOS_DRAFT_H

#include "posix/macos_regex.h"
#include "posix/macos_region.h"

struct sbx_draft {
    struct sbx_macos_regions *regions;
    struct sbx_sbpl *sbpl;
    const struct sbx_macos_rule *rule; /* whose region it is */
    size_t index;                      /* of that rule */
};

/* The path itself, and what is below. */
void sbx_draft_under(const struct sbx_draft *draft, struct sbx_path path);

/* A pattern below the region's path. */
void sbx_draft_regex(struct sbx_draft *draft, struct sbx_str pattern, enum sbx_regex_style style,
                     enum sbx_regex_reach reach);

/* The part of `inner` below `outer`. */
struct sbx_str sbx_draft_below(struct sbx_path outer, struct sbx_path inner);

/* What other rules decide about, in the region. */
void sbx_draft_inner(struct sbx_draft *draft);
bool sbx_draft_has_inner(const struct sbx_draft *draft);

/* Globs of that access, as they match in the region. */
void sbx_draft_globs(struct sbx_draft *draft, enum sbx_access access, enum sbx_regex_style style);
bool sbx_draft_has_globs(const struct sbx_draft *draft, enum sbx_access access);

/* (require-not (require-any … and its end. */
void sbx_draft_open_but(struct sbx_sbpl *sbpl);
void sbx_draft_close_but(struct sbx_sbpl *sbpl);

#endif
