/* The access check from its definition: what nt_access_definition.h declares. */
#include <stdio.h>
#include <string.h>

#include "common/base/attr.h"
#include "tests/unit/nt_access_definition.h"
#include "tests/unit/random.h"

#include "common/base/banned.h"

static const char *const sids[D_SID_COUNT] = {
    [D_USER] = "S-1-5-21-1-2-3-1001",
    [D_OTHER] = "S-1-5-21-1-2-3-1002",
    [D_GROUP_A] = "S-1-5-32-545",
    [D_GROUP_B] = "S-1-5-32-544",
    [D_EVERYONE] = "S-1-1-0",
    [D_OWNER_RIGHTS] = "S-1-3-4",
    [D_RESTRICTING] = "S-1-5-21-1-2-3-7777",
    [D_PACKAGE] = "S-1-15-2-1-2-3-4-5-6-7",
    [D_OTHER_PACKAGE] = "S-1-15-2-7-6-5-4-3-2-1",
    [D_ALL_PACKAGES] = "S-1-15-2-1",
    [D_ALL_RESTRICTED] = "S-1-15-2-2",
    [D_CAPABILITY] = "S-1-15-3-1024-1-2-3-4-5-6-7-8",
    [D_CAPABILITY_OFF] = "S-1-15-3-1024-8-7-6-5-4-3-2-1",
};

enum { SE_SECURITY = 8, SE_TAKE_OWNERSHIP = 9, SE_RELABEL = 32 };

/* ---- at random --------------------------------------------------------------------------------- */

static bool one_in(uint64_t *seed, size_t chances)
{
    return random_below(seed, chances) == 0;
}

static DWORD random_mask(uint64_t *seed)
{
    static const DWORD masks[] = {
        FILE_READ_DATA,
        FILE_WRITE_DATA,
        FILE_EXECUTE,
        READ_CONTROL,
        DELETE,
        WRITE_DAC,
        WRITE_OWNER,
        SYNCHRONIZE,
        FILE_GENERIC_READ,
        FILE_GENERIC_WRITE,
        FILE_ALL_ACCESS,
        GENERIC_READ,
        GENERIC_WRITE,
        GENERIC_EXECUTE,
        GENERIC_ALL,
        FILE_READ_DATA | FILE_WRITE_DATA,
    };
    DWORD mask = masks[random_below(seed, SBX_COUNT(masks))];
    return one_in(seed, 2) ? mask : mask | masks[random_below(seed, SBX_COUNT(masks))];
}

static void random_token(struct definition *out, uint64_t *seed)
{
    static const DWORD levels[] = {0x1000, 0x2000, 0x3000};
    for (size_t i = D_GROUP_A; i < D_OWNER_RIGHTS; i++) {
        out->token.groups[i] = (enum definition_state)random_below(seed, 4);
    }
    if (one_in(seed, 2)) out->token.groups[D_EVERYONE] = D_ON;
    out->token.groups[D_USER] = one_in(seed, 8) ? D_FOR_DENY : D_ON;
    out->token.groups[D_OTHER] = D_ABSENT;
    out->token.is_restricted = one_in(seed, 4);
    out->token.is_write_restricted = out->token.is_restricted && one_in(seed, 2);
    out->token.is_restricting[D_RESTRICTING] = true;
    out->token.is_restricting[D_EVERYONE] = one_in(seed, 2);
    out->token.is_restricting[D_USER] = one_in(seed, 2);
    out->token.is_lowbox = one_in(seed, 2);
    out->token.is_lpac = out->token.is_lowbox && one_in(seed, 3);
    out->token.has_security = one_in(seed, 4);
    out->token.has_take_ownership = one_in(seed, 4);
    out->token.has_relabel = one_in(seed, 6);
    out->token.has_policy = !one_in(seed, 8);
    out->token.integrity = out->token.is_lowbox ? 0x1000 : levels[random_below(seed, 3)];
}

DWORD definition_random(struct definition *out, uint64_t *seed)
{
    static const DWORD levels[] = {0x1000, 0x2000, 0x3000, 0x4000};
    memset(out, 0, sizeof *out);
    random_token(out, seed);
    out->entry_count = random_below(seed, DEFINITION_ENTRIES + 1);
    for (size_t i = 0; i < out->entry_count; i++) {
        out->entries[i].is_deny = one_in(seed, 4);
        out->entries[i].is_for_heirs = one_in(seed, 8);
        out->entries[i].sid = (enum definition_sid)random_below(seed, D_SID_COUNT);
        out->entries[i].mask = random_mask(seed);
    }
    out->is_null = one_in(seed, 12);
    out->owner = (enum definition_sid)random_below(seed, D_OWNER_RIGHTS);
    out->has_label = one_in(seed, 3);
    out->label = levels[random_below(seed, 4)];
    out->label_policy = (DWORD)random_below(seed, 8);
    if (one_in(seed, 4))
        out->readings = nt_readings_nth((unsigned)random_below(seed, NT_READINGS_COUNT));
    DWORD desired = random_mask(seed);
    if (one_in(seed, 10)) desired |= ACCESS_SYSTEM_SECURITY;
    if (one_in(seed, 4)) desired = MAXIMUM_ALLOWED | (one_in(seed, 2) ? desired : 0);
    return desired;
}

/* ---- as the model takes it ---------------------------------------------------------------------- */

static DWORD attributes_of(enum definition_state state)
{
    if (state == D_FOR_DENY) return SE_GROUP_USE_FOR_DENY_ONLY;
    return state == D_ON ? SE_GROUP_ENABLED : 0;
}

static bool add_group(struct nt_group *groups, size_t *count, enum definition_sid sid,
                      DWORD attributes)
{
    struct nt_group *group = &groups[(*count)++];
    group->attributes = attributes;
    return nt_sid_parse(sids[sid], &group->sid);
}

static void add_privilege(struct nt_token *token, bool is_held, DWORD id)
{
    if (!is_held) return;
    token->privileges[token->privilege_count++] =
        (struct nt_privilege){{.LowPart = id}, SE_PRIVILEGE_ENABLED};
}

bool definition_token(const struct definition *definition, struct nt_token *out)
{
    bool is_made = true;
    *out = (struct nt_token){.integrity = definition->token.integrity};
    is_made = nt_sid_parse(sids[D_USER], &out->user) && is_made;
    out->user_deny_only = definition->token.groups[D_USER] == D_FOR_DENY;
    out->owner = out->user;
    out->primary_group = out->user;
    if (definition->token.has_policy) out->mandatory_policy = TOKEN_MANDATORY_POLICY_NO_WRITE_UP;
    for (int sid = D_GROUP_A; sid < D_OWNER_RIGHTS; sid++) {
        enum definition_state state = definition->token.groups[sid];
        if (state == D_ABSENT) continue;
        is_made = add_group(out->groups, &out->group_count, (enum definition_sid)sid,
                            attributes_of(state)) &&
                  is_made;
    }
    for (int sid = 0; definition->token.is_restricted && sid <= D_RESTRICTING; sid++) {
        if (!definition->token.is_restricting[sid]) continue;
        is_made = add_group(out->restricted, &out->restricted_count, (enum definition_sid)sid,
                            SE_GROUP_ENABLED) &&
                  is_made;
    }
    out->write_restricted = definition->token.is_write_restricted;
    add_privilege(out, definition->token.has_security, SE_SECURITY);
    add_privilege(out, definition->token.has_take_ownership, SE_TAKE_OWNERSHIP);
    add_privilege(out, definition->token.has_relabel, SE_RELABEL);
    if (!definition->token.is_lowbox) return is_made;
    out->is_appcontainer = true;
    out->is_lpac = definition->token.is_lpac;
    is_made = nt_sid_parse(sids[D_PACKAGE], &out->package) && is_made;
    is_made =
        add_group(out->capabilities, &out->capability_count, D_CAPABILITY, SE_GROUP_ENABLED) &&
        is_made;
    return add_group(out->capabilities, &out->capability_count, D_CAPABILITY_OFF, 0) && is_made;
}

size_t definition_descriptor(const struct definition *definition, void *out, size_t max)
{
    char text[2048];
    int length = snprintf(text, sizeof text, "O:%sG:SYD:%s", sids[definition->owner],
                          definition->is_null ? "NO_ACCESS_CONTROL" : "");
    for (size_t i = 0; i < definition->entry_count && !definition->is_null; i++) {
        length +=
            snprintf(text + length, sizeof text - (size_t)length, "(%s;%s;0x%lx;;;%s)",
                     definition->entries[i].is_deny ? "D" : "A",
                     definition->entries[i].is_for_heirs ? "OICIIO" : "",
                     (unsigned long)definition->entries[i].mask, sids[definition->entries[i].sid]);
    }
    if (definition->has_label) {
        (void)snprintf(text + length, sizeof text - (size_t)length, "S:(ML;;0x%lx;;;S-1-16-%lu)",
                       (unsigned long)definition->label_policy, (unsigned long)definition->label);
    }
    return nt_sddl_parse(text, out, max);
}

/* ---- the definition ----------------------------------------------------------------------------- */

enum who { THE_USER, THE_RESTRICTING, THE_PACKAGE };

static bool names_user(const struct definition *d, enum definition_sid sid, bool is_deny)
{
    if (sid >= D_OWNER_RIGHTS) return false;
    enum definition_state state = d->token.groups[sid];
    return state == D_ON || (is_deny && state == D_FOR_DENY);
}

static bool names_package(const struct definition *d, enum definition_sid sid)
{
    if (sid == D_ALL_PACKAGES) return !d->token.is_lpac;
    return sid == D_PACKAGE || sid == D_ALL_RESTRICTED || sid == D_CAPABILITY;
}

static bool names(const struct definition *d, enum who who, size_t entry)
{
    bool is_deny = d->entries[entry].is_deny;
    enum definition_sid sid = d->entries[entry].sid;
    if (sid == D_OWNER_RIGHTS) sid = d->owner;
    if (who == THE_PACKAGE) {
        return names_package(d, sid) && (!is_deny || d->readings.package_deny_counts);
    }
    if (who == THE_RESTRICTING) return sid <= D_RESTRICTING && d->token.is_restricting[sid];
    return names_user(d, sid, is_deny);
}

static DWORD rights_of_entry(const struct definition *d, size_t entry)
{
    DWORD mask = d->entries[entry].mask;
    DWORD rights = mask & 0x0fffffff;
    if (d->readings.generic_left_unmapped) return rights;
    if ((mask & GENERIC_READ) != 0) rights |= FILE_GENERIC_READ;
    if ((mask & GENERIC_WRITE) != 0) rights |= FILE_GENERIC_WRITE;
    if ((mask & GENERIC_EXECUTE) != 0) rights |= FILE_GENERIC_EXECUTE;
    if ((mask & GENERIC_ALL) != 0) rights |= FILE_ALL_ACCESS;
    return rights;
}

/* The first entry that speaks of both decides. */
static bool list_allows(const struct definition *d, enum who who, DWORD right)
{
    if (d->is_null) return who != THE_PACKAGE || d->readings.null_dacl_serves_lowbox;
    for (size_t i = 0; i < d->entry_count; i++) {
        if (d->entries[i].is_for_heirs || (rights_of_entry(d, i) & right) == 0) continue;
        if (names(d, who, i)) return !d->entries[i].is_deny;
    }
    return false;
}

static bool label_allows(const struct definition *d, DWORD right)
{
    DWORD level = d->has_label ? d->label : 0x2000;
    DWORD policy = d->has_label ? d->label_policy : SYSTEM_MANDATORY_LABEL_NO_WRITE_UP;
    if (!d->token.has_policy || d->token.integrity >= level) return true;
    if (d->token.is_lowbox && level <= 0x2000 && !d->readings.lowbox_obeys_medium_label) {
        return true;
    }
    if (right == WRITE_OWNER && d->token.has_relabel) return true;
    bool reads = (right & FILE_GENERIC_READ) != 0;
    bool executes = (right & FILE_GENERIC_EXECUTE) != 0;
    bool writes = (right & FILE_GENERIC_WRITE) != 0 || (!reads && !executes);
    return (reads && (policy & SYSTEM_MANDATORY_LABEL_NO_READ_UP) == 0) ||
           (executes && (policy & SYSTEM_MANDATORY_LABEL_NO_EXECUTE_UP) == 0) ||
           (writes && (policy & SYSTEM_MANDATORY_LABEL_NO_WRITE_UP) == 0);
}

static bool is_closed_to_low(const struct definition *d)
{
    if (d->token.is_lowbox || d->token.integrity >= 0x2000 || d->is_null) return false;
    if (d->readings.low_token_passes_package) return false;
    for (size_t i = 0; i < d->entry_count; i++) {
        if (d->entries[i].sid == D_PACKAGE || d->entries[i].sid == D_OTHER_PACKAGE) return true;
    }
    return false;
}

static bool owner_has(const struct definition *d, DWORD right)
{
    if ((right != READ_CONTROL && right != WRITE_DAC) || !names_user(d, d->owner, false)) {
        return false;
    }
    if (d->token.is_restricted && !d->token.is_restricting[d->owner]) return false;
    for (size_t i = 0; i < d->entry_count && !d->is_null; i++) {
        if (d->entries[i].sid == D_OWNER_RIGHTS && !d->entries[i].is_for_heirs) return false;
    }
    return true;
}

/* Privileges serve only what was asked for by name. */
static bool privilege_has(const struct definition *d, DWORD right, DWORD asked)
{
    if ((asked & right) == 0) return false;
    if (right == ACCESS_SYSTEM_SECURITY) return d->token.has_security;
    return right == WRITE_OWNER && (d->token.has_take_ownership || d->token.has_relabel);
}

static bool is_writing(DWORD right)
{
    DWORD writing = FILE_GENERIC_WRITE | DELETE | WRITE_DAC | WRITE_OWNER;
    return (right & writing & ~(DWORD)(FILE_GENERIC_READ | FILE_GENERIC_EXECUTE)) != 0;
}

static bool allows(const struct definition *d, DWORD right, DWORD asked, bool is_bound)
{
    bool is_privileged = privilege_has(d, right, asked);
    bool has_by_itself = is_privileged || owner_has(d, right);
    if (!label_allows(d, right)) return false;
    if (right == ACCESS_SYSTEM_SECURITY && !is_privileged) return false;
    if (!has_by_itself && !list_allows(d, THE_USER, right)) return false;
    if (is_bound && !has_by_itself && !list_allows(d, THE_RESTRICTING, right)) return false;
    if (!d->token.is_lowbox) return true;
    return (is_privileged && d->readings.privilege_serves_lowbox) ||
           list_allows(d, THE_PACKAGE, right);
}

/* A write-restricted token is bound by its restricting SIDs when the list is asked for anything that writes. */
static bool is_bound_by_restricting(const struct definition *d, DWORD rights, DWORD asked)
{
    if (!d->token.is_restricted) return false;
    if (!d->token.is_write_restricted) return true;
    for (unsigned bit = 0; bit < 28; bit++) {
        DWORD right = (DWORD)1 << bit & rights;
        if (right != 0 && is_writing(right) && !privilege_has(d, right, asked) &&
            !owner_has(d, right)) {
            return true;
        }
    }
    return false;
}

static DWORD mapped(DWORD desired)
{
    DWORD asked = desired & 0x01ffffff;
    if ((desired & GENERIC_READ) != 0) asked |= FILE_GENERIC_READ;
    if ((desired & GENERIC_WRITE) != 0) asked |= FILE_GENERIC_WRITE;
    if ((desired & GENERIC_EXECUTE) != 0) asked |= FILE_GENERIC_EXECUTE;
    if ((desired & GENERIC_ALL) != 0) asked |= FILE_ALL_ACCESS;
    return asked;
}

DWORD definition_answer(const struct definition *d, DWORD desired)
{
    DWORD asked = mapped(desired);
    DWORD rights = 0;
    bool is_maximum = (desired & MAXIMUM_ALLOWED) != 0;
    if (desired == 0 || is_closed_to_low(d)) return 0;
    for (unsigned bit = 0; bit < 25; bit++) {
        DWORD right = (DWORD)1 << bit;
        bool is_bound = is_bound_by_restricting(d, is_maximum ? right : asked, asked);
        if (allows(d, right, asked, is_bound)) rights |= right;
    }
    if ((asked & ~rights) != 0) return 0;
    if (!is_maximum) return asked;
    /* A NULL list names no rights: the object's kind does. */
    return d->is_null ? rights & (FILE_ALL_ACCESS | asked) : rights;
}
