/* Evidence: what the system says about a held box, next to what was planned. */
#ifndef SBX_RUN_EVIDENCE_H
#define SBX_RUN_EVIDENCE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/arena.h"
#include "common/base/err.h"
#include "common/run/record.h"

struct sbx_evidence_list {
    struct sbx_arena *arena;
    struct sbx_evidence *items;
    size_t count, capacity;
    bool failed; /* without memory: then nothing is proven */
};

void sbx_evidence_init(struct sbx_evidence_list *list, struct sbx_arena *arena);

/* One item. `ok` is wanted == got for the second form. */
void sbx_evidence_add(struct sbx_evidence_list *list, const char *what, const char *wanted,
                      const char *got, bool ok);
void sbx_evidence_same(struct sbx_evidence_list *list, const char *what, const char *wanted,
                       const char *got);

/* SBX_E_VERIFY with the first item that differs. */
enum sbx_code sbx_evidence_verdict(const struct sbx_evidence_list *list,
                                   struct sbx_err *err) SBX_MUST_USE;

#endif
