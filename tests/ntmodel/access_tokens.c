/* The tokens of access_vectors.h, made by the model's own functions. */
#include <string.h>

#include "tests/ntmodel/access_tokens.h"
#include "tests/ntmodel/nt_layout.h"

#include "common/base/banned.h"

#define OTHER_USER "S-1-5-21-1004336348-1177238915-682003330-1002"
#define OTHER_GROUP "S-1-5-21-1004336348-1177238915-682003330-1777"
#define RESTRICTING "S-1-5-21-77-88-99-4242"
#define PACKAGE "S-1-15-2-1001-1002-1003-1004-1005-1006-1007"
#define OTHER_PACKAGE "S-1-15-2-2001-2002-2003-2004-2005-2006-2007"
#define CAPABILITY "S-1-15-3-1024-11-12-13-14-15-16-17-18"
#define CAPABILITY_OFF "S-1-15-3-1024-21-22-23-24-25-26-27-28"
#define CAPABILITY_NOT_HELD "S-1-15-3-1024-31-32-33-34-35-36-37-38"

enum { SE_SECURITY = 8, SE_TAKE_OWNERSHIP = 9, SE_RELABEL = 32 };

static const char *const token_names[T_TOKEN_COUNT] = {
    "user",
    "administrator",
    "administrator with privileges",
    "filtered administrator",
    "user for deny only",
    "Users for deny only",
    "Users disabled",
    "SYSTEM",
    "Low user",
    "Low user who relabels",
    "Low user without policy",
    "restricted",
    "restricted to the user",
    "write-restricted",
    "box",
    "LPAC",
    "box of an administrator",
    "box with Users for deny only",
    "restricted box",
};

const char *access_token_name(enum access_token which)
{
    return token_names[which];
}

/* SIDs for one call, by their text. */
struct sid_list {
    struct nt_sid sids[4];
    SID_AND_ATTRIBUTES rows[4];
};

static const SID_AND_ATTRIBUTES *sid_rows(struct sid_list *list, const char *const *texts,
                                          size_t count)
{
    for (size_t i = 0; i < count && i < 4; i++) {
        (void)nt_sid_parse(texts[i], &list->sids[i]);
        list->rows[i] = (SID_AND_ATTRIBUTES){list->sids[i].bytes, 0};
    }
    return list->rows;
}

static bool disable(struct nt_token *token, const char *const *texts, DWORD count)
{
    struct sid_list list;
    return nt_token_restrict(token, 0, sid_rows(&list, texts, count), count, NULL, 0, NULL, 0,
                             token);
}

static bool restrict_to(struct nt_token *token, DWORD flags, const char *const *texts, DWORD count)
{
    struct sid_list list;
    return nt_token_restrict(token, flags, NULL, 0, NULL, 0, sid_rows(&list, texts, count), count,
                             token);
}

static void enable_privilege(struct nt_token *token, DWORD id)
{
    size_t i = 0;
    while (i < token->privilege_count && token->privileges[i].id.LowPart != id) i++;
    if (i == token->privilege_count) token->privilege_count++;
    token->privileges[i] = (struct nt_privilege){{.LowPart = id}, SE_PRIVILEGE_ENABLED};
}

static void arm(struct nt_token *token)
{
    enable_privilege(token, SE_SECURITY);
    enable_privilege(token, SE_TAKE_OWNERSHIP);
}

static bool put_into_box(struct nt_token *token, bool is_lpac)
{
    struct nt_sid package;
    struct sid_list list;
    const char *const capabilities[] = {CAPABILITY, CAPABILITY_OFF};
    (void)nt_sid_parse(PACKAGE, &package);
    (void)sid_rows(&list, capabilities, 2);
    list.rows[0].Attributes = SE_GROUP_ENABLED;
    return nt_token_lowbox(token, package.bytes, list.rows, 2, is_lpac, token);
}

static void lower(struct nt_token *token)
{
    token->integrity = NT_INTEGRITY_LOW;
}

static void disable_group(struct nt_token *token, const char *text)
{
    struct nt_sid sid;
    (void)nt_sid_parse(text, &sid);
    for (size_t i = 0; i < token->group_count; i++) {
        if (nt_sid_equal(token->groups[i].sid.bytes, sid.bytes)) token->groups[i].attributes = 0;
    }
}

static bool make_user_kind(enum access_token which, struct nt_token *token)
{
    static const char *const users[] = {"S-1-5-32-545", "S-1-5-11"};
    char user[NT_SID_TEXT_MAX];
    const char *const user_row[] = {user};
    nt_token_user(token);
    (void)nt_sid_print(token->user.bytes, user, sizeof user);
    if (which == T_USER_DENY_ONLY) return disable(token, user_row, 1);
    if (which == T_NO_USERS) return disable(token, users, 2);
    if (which == T_DISABLED_GROUP) disable_group(token, users[0]);
    return true;
}

static bool make_admin_kind(enum access_token which, struct nt_token *token)
{
    static const char *const administrators[] = {"S-1-5-32-544"};
    nt_token_admin(token);
    if (which == T_ADMIN_FILTERED) return disable(token, administrators, 1);
    if (which == T_ADMIN_ARMED) arm(token);
    return true;
}

static bool make_low_kind(enum access_token which, struct nt_token *token)
{
    nt_token_user(token);
    lower(token);
    if (which == T_LOW_RELABEL) enable_privilege(token, SE_RELABEL);
    if (which == T_LOW_NO_POLICY) token->mandatory_policy = TOKEN_MANDATORY_POLICY_OFF;
    return true;
}

static bool make_restricted_kind(enum access_token which, struct nt_token *token)
{
    char user[NT_SID_TEXT_MAX];
    const char *const everyone[] = {RESTRICTING, "S-1-1-0"};
    const char *const with_user[] = {RESTRICTING, user};
    nt_token_user(token);
    (void)nt_sid_print(token->user.bytes, user, sizeof user);
    if (which == T_RESTRICTED_USER) return restrict_to(token, 0, with_user, 2);
    if (which == T_WRITE_RESTRICTED) return restrict_to(token, WRITE_RESTRICTED, everyone, 1);
    return restrict_to(token, 0, everyone, 2);
}

static bool make_box_kind(enum access_token which, struct nt_token *token)
{
    bool is_made = true;
    nt_token_user(token);
    if (which == T_BOX_ADMIN) {
        nt_token_admin(token);
        arm(token);
    }
    if (which == T_BOX_NO_USERS) is_made = make_user_kind(T_NO_USERS, token);
    if (which == T_BOX_RESTRICTED) is_made = make_restricted_kind(T_RESTRICTED, token);
    return is_made && put_into_box(token, which == T_LPAC);
}

bool access_token_make(enum access_token which, struct nt_token *out)
{
    if (which >= T_BOX) return make_box_kind(which, out);
    if (which >= T_RESTRICTED) return make_restricted_kind(which, out);
    if (which >= T_LOW) return make_low_kind(which, out);
    if (which == T_SYSTEM) {
        nt_token_system(out);
        return true;
    }
    if (which >= T_ADMIN && which <= T_ADMIN_FILTERED) return make_admin_kind(which, out);
    return make_user_kind(which, out);
}

static void find_logon_sid(const struct nt_token *token, struct nt_sid *out)
{
    (void)nt_sid_parse("S-1-5-5-0-1", out);
    for (size_t i = 0; i < token->group_count; i++) {
        if ((token->groups[i].attributes & SE_GROUP_LOGON_ID) != 0) *out = token->groups[i].sid;
    }
}

void access_names(const struct nt_token *token, struct nt_sddl_name out[ACCESS_NAMES])
{
    static const char *const fixed[][2] = {
        {"$X", OTHER_USER},     {"$G", OTHER_GROUP},         {"$R", RESTRICTING},
        {"$P", PACKAGE},        {"$Q", OTHER_PACKAGE},       {"$C", CAPABILITY},
        {"$K", CAPABILITY_OFF}, {"$N", CAPABILITY_NOT_HELD},
    };
    out[0] = (struct nt_sddl_name){"$U", token->user};
    out[1].name = "$L";
    find_logon_sid(token, &out[1].sid);
    for (size_t i = 0; i < ACCESS_NAMES - 2; i++) {
        out[2 + i].name = fixed[i][0];
        (void)nt_sid_parse(fixed[i][1], &out[2 + i].sid);
    }
}
