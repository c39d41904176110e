/* The entries of one capability on one object. */
#include <stdlib.h>
#include <string.h>

#include "win/fault.h"
#include "win/grant_internal.h"
#include "win/sid.h"

#include "common/base/banned.h"

/* ---- the tool ------------------------------------------------------------------------------ */

enum { OLD, NEW, AGAIN, LISTS };

enum sbx_code sbx_grant_tool_open(PSID sid, const struct sbx_progress *progress,
                                  struct sbx_guard *guard, struct sbx_grant_tool *out,
                                  struct sbx_err *err)
{
    struct sbx_dacl *lists = calloc(LISTS, sizeof *lists);
    if (lists == NULL) {
        return sbx_err_nomem(err);
    }
    *out =
        (struct sbx_grant_tool){.sid = sid, .progress = progress, .guard = guard, .lists = lists};
    return SBX_OK;
}

void sbx_grant_tool_close(struct sbx_grant_tool *tool)
{
    if (tool != NULL) {
        free(tool->lists);
        tool->lists = NULL;
    }
}

enum sbx_code sbx_grant_tool_tell(struct sbx_grant_tool *tool, const char *path,
                                  struct sbx_err *err)
{
    const struct sbx_progress *progress = tool->progress;
    if (tool->guard != NULL && tool->counts.objects % 8 == 0) {
        sbx_guard_alive(tool->guard, "working on access entries");
    }
    if (progress == NULL) {
        return SBX_OK;
    }
    if (progress->tell != NULL) {
        progress->tell(progress->state, tool->counts.objects, path);
    }
    if (progress->is_cancelled != NULL && progress->is_cancelled(progress->state)) {
        return sbx_err_set(err, SBX_E_UNAVAILABLE, "cancelled while working on \"%s\"", path);
    }
    return SBX_OK;
}

/* ---- marks --------------------------------------------------------------------------------- */

#define REFUSES_ALL FILE_ALL_ACCESS

/* S-1-15-3-1024-…: the capabilities that are made from names. */
static bool is_named_capability(PSID any)
{
    static const BYTE authority[6] = {0, 0, 0, 0, 0, 15};
    const BYTE *sid = (const BYTE *)any;
    DWORD part[2];
    if (sid[1] < 2 || memcmp(sid + 2, authority, sizeof authority) != 0) {
        return false;
    }
    memcpy(part, sid + offsetof(SID, SubAuthority), sizeof part);
    return part[0] == 3 && part[1] == 1024;
}

/* The refusal that says: sbx set SE_DACL_PROTECTED here. */
static bool is_mark(const struct sbx_ace *ace)
{
    return ace->type == ACCESS_DENIED_ACE_TYPE && ace->flags == 0 &&
           (ace->mask == SBX_GRANT_CHANGE || ace->mask == REFUSES_ALL) &&
           is_named_capability(ace->sid);
}

/* Whether there is one of this capability, and of another. */
static void find_marks(const struct sbx_dacl *list, PSID sid, bool *own, bool *others)
{
    struct sbx_ace here;
    *own = false;
    *others = false;
    for (size_t i = 0; i < sbx_dacl_count(list); i++) {
        if (sbx_dacl_at(list, i, &here) && is_mark(&here)) {
            bool is_own = sbx_sid_eq(here.sid, sid);
            *own |= is_own;
            *others |= !is_own;
        }
    }
}

/* ---- what has to be there ------------------------------------------------------------------ */

static ACCESS_MASK mask_of(enum sbx_access access)
{
    static const ACCESS_MASK masks[] = {
        [SBX_ACCESS_NONE] = 0,
        [SBX_ACCESS_READ] = SBX_GRANT_READ,
        [SBX_ACCESS_WRITE] = SBX_GRANT_WRITE,
    };
    return masks[access];
}

struct wanted {
    struct sbx_ace entries[2];
    size_t count;
    bool is_protected;
    bool is_left; /* the list is not touched */
};

static void want(struct wanted *wanted, PSID sid, BYTE type, BYTE flags, ACCESS_MASK mask)
{
    if (mask != 0) {
        wanted->entries[wanted->count++] = (struct sbx_ace){type, flags, mask, sid};
    }
}

static struct wanted wanted_at(const struct sbx_dacl *old, PSID sid, enum sbx_grant_place place,
                               enum sbx_access access, bool is_directory)
{
    const BYTE below = is_directory ? OBJECT_INHERIT_ACE | CONTAINER_INHERIT_ACE : 0;
    bool own_mark;
    bool other_mark;
    find_marks(old, sid, &own_mark, &other_mark);
    bool is_foreign = old->is_protected && !own_mark && !other_mark;
    struct wanted wanted = {.is_protected = old->is_protected && (is_foreign || other_mark)};
    switch (place) {
    case SBX_PLACE_ROOT:
        want(&wanted, sid, ACCESS_ALLOWED_ACE_TYPE, below, mask_of(access));
        break;
    case SBX_PLACE_FOLLOWS:
        /* Nothing flows into a protected list: there the permission is the list's own. Somebody else's is left
         * alone, unless it took something of ours with it when it was protected. */
        wanted.is_left = is_foreign && sbx_dacl_count_of(old, sid) == 0;
        want(&wanted, sid, ACCESS_ALLOWED_ACE_TYPE,
             (BYTE)(wanted.is_protected ? below : below | INHERITED_ACE), mask_of(access));
        break;
    case SBX_PLACE_STARTS:
        if (!is_foreign) {
            wanted.is_protected = true;
            want(&wanted, sid, ACCESS_DENIED_ACE_TYPE, 0,
                 access == SBX_ACCESS_NONE ? REFUSES_ALL : SBX_GRANT_CHANGE);
        }
        want(&wanted, sid, ACCESS_ALLOWED_ACE_TYPE, below, mask_of(access));
        break;
    case SBX_PLACE_ABOVE:
        wanted.is_left = (sbx_dacl_packages(old, false) & SBX_GRANT_LOOK) == SBX_GRANT_LOOK;
        want(&wanted, sid, ACCESS_ALLOWED_ACE_TYPE, 0, SBX_GRANT_LOOK);
        break;
    case SBX_PLACE_NOTHING:
        break;
    }
    return wanted;
}

/* ---- what must not be there ---------------------------------------------------------------- */

/* Is more given than may be, by entries that are not the capability's? Nothing of ours could take it away. */
static enum sbx_code check_packages(const struct sbx_dacl *list, const char *path,
                                    enum sbx_access access, struct sbx_err *err)
{
    static const ACCESS_MASK forbidden[] = {
        [SBX_ACCESS_NONE] = FILE_READ_DATA | FILE_READ_EA | SBX_GRANT_CHANGE,
        [SBX_ACCESS_READ] = SBX_GRANT_CHANGE,
        [SBX_ACCESS_WRITE] = 0,
    };
    if ((sbx_dacl_packages(list, false) & forbidden[access]) == 0) {
        return SBX_OK;
    }
    (void)sbx_err_set(
        err, SBX_E_UNSUPPORTED,
        "\"%s\" is open to every application package by its own access list, so no box "
        "can be kept from %s it",
        path, access == SBX_ACCESS_NONE ? "reading" : "changing");
    return sbx_err_hint(err,
                        "remove the entry for ALL APPLICATION PACKAGES there, or do not close it");
}

/* Does the capability have more here than that? */
static bool has_more(const struct sbx_dacl *list, PSID sid, enum sbx_access access)
{
    struct sbx_ace here;
    for (size_t i = 0; i < sbx_dacl_count(list); i++) {
        if (sbx_dacl_at(list, i, &here) && here.type == ACCESS_ALLOWED_ACE_TYPE &&
            sbx_sid_eq(here.sid, sid) && (here.mask & ~mask_of(access)) != 0) {
            return true;
        }
    }
    return false;
}

static enum sbx_code cannot_close(const char *path, enum sbx_access access, struct sbx_err *err)
{
    (void)sbx_err_set(
        err, SBX_E_DENIED,
        "the box may do more at \"%s\" than %s, and its access list cannot be changed", path,
        access == SBX_ACCESS_NONE ? "nothing" : "read");
    return sbx_err_hint(err, "become its owner, or let an administrator remove the entries of sbx");
}

/* ---- making it so -------------------------------------------------------------------------- */

/* SAME: `old` is what is wanted. DONE: `fresh` is. */
static enum sbx_code plan(struct sbx_grant_tool *tool, const struct sbx_grant_object *object,
                          enum sbx_grant_place place, enum sbx_access access,
                          enum sbx_grant_result *result, struct sbx_err *err)
{
    struct sbx_dacl *old = &tool->lists[OLD];
    struct sbx_dacl *fresh = &tool->lists[NEW];
    enum sbx_code code = sbx_dacl_read(object->handle, object->path, old, err);
    if (code != SBX_OK) {
        return code;
    }
    bool is_given = place <= SBX_PLACE_STARTS;
    code = is_given ? check_packages(old, object->path, access, err) : SBX_OK;
    if (code != SBX_OK) {
        return code;
    }
    if (!old->has_list) {
        /* Everybody may do everything, but for packages, which need a permission: it is closed. */
        *result = SBX_RESULT_OWN_LIST;
        return SBX_OK;
    }
    struct wanted wanted = wanted_at(old, tool->sid, place, access, object->is_directory);
    if (wanted.is_left) {
        *result = place == SBX_PLACE_ABOVE ? SBX_RESULT_SAME : SBX_RESULT_OWN_LIST;
        return SBX_OK;
    }
    sbx_dacl_copy(fresh, old);
    fresh->is_protected = wanted.is_protected;
    if (!sbx_dacl_conform(fresh, tool->sid, wanted.entries, wanted.count)) {
        (void)sbx_err_set(err, SBX_E_LIMIT, "the access list of \"%s\" is full", object->path);
        return sbx_err_hint(err,
                            "remove entries of programs that are gone; see sbx workspace list");
    }
    *result = sbx_dacl_eq(old, fresh) ? SBX_RESULT_SAME : SBX_RESULT_DONE;
    return SBX_OK;
}

/* It was planned without the lock, perhaps; the first change is planned again with it. */
static enum sbx_code begin_change(struct sbx_grant_tool *tool,
                                  const struct sbx_grant_object *object, enum sbx_grant_place place,
                                  enum sbx_access access, enum sbx_grant_result *result,
                                  struct sbx_err *err)
{
    bool is_first = !tool->has_changed && tool->first != NULL;
    if (!is_first) {
        tool->has_changed = true;
        return SBX_OK;
    }
    enum sbx_code code = tool->first(tool->first_state, err);
    if (code == SBX_OK) {
        tool->has_changed = true;
        code = plan(tool, object, place, access, result, err);
    }
    return code;
}

enum sbx_code sbx_grant_apply(struct sbx_grant_tool *tool, const struct sbx_grant_object *object,
                              enum sbx_grant_place place, enum sbx_access access,
                              enum sbx_grant_result *result, struct sbx_err *err)
{
    bool is_given = place <= SBX_PLACE_STARTS;
    enum sbx_code code = plan(tool, object, place, access, result, err);
    if (code != SBX_OK || *result != SBX_RESULT_DONE) {
        return code;
    }
    if (object->is_read_only) {
        *result = SBX_RESULT_REFUSED;
        return is_given && has_more(&tool->lists[OLD], tool->sid, access)
                   ? cannot_close(object->path, access, err)
                   : SBX_OK;
    }
    code = begin_change(tool, object, place, access, result, err);
    if (code != SBX_OK || *result != SBX_RESULT_DONE) {
        return code;
    }
    code =
        sbx_dacl_write(object->handle, object->path, &tool->lists[NEW], &tool->lists[AGAIN], err);
    bool is_open = code != SBX_OK && is_given && has_more(&tool->lists[OLD], tool->sid, access);
    return is_open ? cannot_close(object->path, access, err) : code;
}
