/* Evidence: what the system says about a held box, next to what was planned. */
#include "common/run/evidence.h"

#include <string.h>

#include "common/base/banned.h"

void sbx_evidence_init(struct sbx_evidence_list *list, struct sbx_arena *arena)
{
    *list = (struct sbx_evidence_list){.arena = arena};
}

static const char *keep(struct sbx_evidence_list *list, const char *text)
{
    const char *copy = sbx_arena_copy(list->arena, text, strlen(text));
    list->failed |= copy == NULL;
    return copy == NULL ? "" : copy;
}

void sbx_evidence_add(struct sbx_evidence_list *list, const char *what, const char *wanted,
                      const char *got, bool ok)
{
    struct sbx_evidence *item = (struct sbx_evidence *)sbx_arena_push(
        list->arena, &list->items, &list->count, &list->capacity, sizeof *item);
    if (item == NULL) {
        list->failed = true;
        return;
    }
    item->what = keep(list, what);
    item->wanted = keep(list, wanted);
    item->got = strcmp(wanted, got) == 0 ? item->wanted : keep(list, got);
    item->ok = ok;
}

void sbx_evidence_same(struct sbx_evidence_list *list, const char *what, const char *wanted,
                       const char *got)
{
    sbx_evidence_add(list, what, wanted, got, strcmp(wanted, got) == 0);
}

enum sbx_code sbx_evidence_verdict(const struct sbx_evidence_list *list, struct sbx_err *err)
{
    for (size_t i = 0; i < list->count; i++) {
        if (!list->items[i].ok) {
            (void)sbx_err_set(err, SBX_E_VERIFY,
                              "verification-failed: %s should be %s but is %s; nothing was run",
                              list->items[i].what, list->items[i].wanted, list->items[i].got);
            return sbx_err_hint(err, "--evidence shows every item that was read back");
        }
    }
    if (list->failed || list->count == 0) {
        return sbx_err_set(err, SBX_E_VERIFY, "the box could not be verified; nothing was run");
    }
    return SBX_OK;
}
