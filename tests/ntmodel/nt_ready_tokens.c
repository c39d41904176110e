/* Tokens as Windows 11 shows them (`whoami /all`): a user, an elevated administrator, SYSTEM. */
#include <string.h>

#include "tests/ntmodel/nt_layout.h"

#include "common/base/banned.h"

#define USER_SID "S-1-5-21-1004336348-1177238915-682003330-1001"
#define LOGON_SID "S-1-5-5-0-295211"

enum {
    GROUP_ON = SE_GROUP_MANDATORY | SE_GROUP_ENABLED_BY_DEFAULT | SE_GROUP_ENABLED,
    ON_AT_START = SE_PRIVILEGE_ENABLED | SE_PRIVILEGE_ENABLED_BY_DEFAULT,
    HIGH = 0x3000,
    SYSTEM = 0x4000,
};

struct group_row {
    const char *sid;
    DWORD attributes;
};

struct privilege_row {
    DWORD id;
    DWORD attributes;
};

static const struct group_row user_groups[] = {
    {"S-1-5-21-1004336348-1177238915-682003330-513", GROUP_ON}, /* None */
    {"S-1-1-0", GROUP_ON},                                      /* Everyone */
    {"S-1-5-32-545", GROUP_ON},                                 /* Users */
    {"S-1-5-4", GROUP_ON},                                      /* INTERACTIVE */
    {"S-1-2-1", GROUP_ON},                                      /* CONSOLE LOGON */
    {"S-1-5-11", GROUP_ON},                                     /* Authenticated Users */
    {"S-1-5-15", GROUP_ON},                                     /* This Organization */
    {"S-1-5-113", GROUP_ON},                                    /* Local account */
    {LOGON_SID, GROUP_ON | SE_GROUP_LOGON_ID},                  /* the logon session */
    {"S-1-2-0", GROUP_ON},                                      /* LOCAL */
    {"S-1-5-64-10", GROUP_ON},                                  /* NTLM Authentication */
};

static const struct group_row admin_groups[] = {
    {"S-1-5-114", GROUP_ON},                     /* Local account and member of Administrators */
    {"S-1-5-32-544", GROUP_ON | SE_GROUP_OWNER}, /* Administrators */
};

static const struct group_row system_groups[] = {
    {"S-1-5-32-544", SE_GROUP_ENABLED_BY_DEFAULT | SE_GROUP_ENABLED | SE_GROUP_OWNER},
    {"S-1-1-0", GROUP_ON},
    {"S-1-5-11", GROUP_ON},
};

/* Shutdown, change notify, undock, working set, time zone. */
static const struct privilege_row user_privileges[] = {
    {19, 0}, {23, ON_AT_START}, {25, 0}, {33, 0}, {34, 0},
};

static const struct privilege_row admin_privileges[] = {
    {5, 0},  {8, 0},  {9, 0},  {10, 0}, {11, 0},           {12, 0}, {13, 0},           {14, 0},
    {15, 0}, {17, 0}, {18, 0}, {19, 0}, {20, 0},           {22, 0}, {23, ON_AT_START}, {24, 0},
    {25, 0}, {28, 0}, {33, 0}, {34, 0}, {29, ON_AT_START}, {35, 0}, {30, ON_AT_START},
};

static const struct privilege_row system_privileges[] = {
    {2, ON_AT_START},
    {3, 0},
    {4, ON_AT_START},
    {5, 0},
    {7, ON_AT_START},
    {8, 0},
    {9, 0},
    {10, 0},
    {11, ON_AT_START},
    {13, ON_AT_START},
    {14, ON_AT_START},
    {15, ON_AT_START},
    {16, ON_AT_START},
    {17, 0},
    {18, 0},
    {19, 0},
    {20, ON_AT_START},
    {21, ON_AT_START},
    {22, 0},
    {23, ON_AT_START},
    {28, 0},
    {29, ON_AT_START},
    {30, ON_AT_START},
};

static void add_groups(struct nt_token *token, const struct group_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct nt_group *group = &token->groups[token->group_count++];
        (void)nt_sid_parse(rows[i].sid, &group->sid);
        group->attributes = rows[i].attributes;
    }
}

static void add_privileges(struct nt_token *token, const struct privilege_row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct nt_privilege *privilege = &token->privileges[token->privilege_count++];
        privilege->id = (LUID){.LowPart = rows[i].id};
        privilege->attributes = rows[i].attributes;
    }
}

/* The label is a group of the token too, for show: it is not enabled and matches no entry. */
static void set_integrity(struct nt_token *token, DWORD level)
{
    struct nt_group *label = &token->groups[token->group_count++];
    (void)nt_sid_parse("S-1-16-0", &label->sid);
    nt_write32(label->sid.bytes + 8, level);
    label->attributes = SE_GROUP_INTEGRITY | SE_GROUP_INTEGRITY_ENABLED;
    token->integrity = level;
    token->mandatory_policy =
        TOKEN_MANDATORY_POLICY_NO_WRITE_UP | TOKEN_MANDATORY_POLICY_NEW_PROCESS_MIN;
}

struct default_row {
    const char *sid;
    DWORD mask;
};

static void set_default_dacl(struct nt_token *token, const struct default_row *rows, size_t count)
{
    struct nt_acl_writer list;
    nt_acl_begin(&list);
    for (size_t i = 0; i < count; i++) {
        struct nt_sid sid;
        (void)nt_sid_parse(rows[i].sid, &sid);
        nt_acl_put(&list, ACCESS_ALLOWED_ACE_TYPE, 0, rows[i].mask, sid.bytes);
    }
    memcpy(token->default_dacl, list.bytes, list.size);
    token->default_dacl_size = list.size;
}

static const struct default_row user_default[] = {
    {USER_SID, GENERIC_ALL},
    {"S-1-5-18", GENERIC_ALL},
    {LOGON_SID, GENERIC_READ | GENERIC_EXECUTE},
};

static const struct default_row admin_default[] = {
    {"S-1-5-32-544", GENERIC_ALL},
    {"S-1-5-18", GENERIC_ALL},
    {LOGON_SID, GENERIC_READ | GENERIC_EXECUTE},
};

static const struct default_row system_default[] = {
    {"S-1-5-18", GENERIC_ALL},
    {"S-1-5-32-544", READ_CONTROL | GENERIC_READ | GENERIC_EXECUTE},
};

#define COUNT(rows) (sizeof(rows) / sizeof(rows)[0])

static void make_person(struct nt_token *out)
{
    *out = (struct nt_token){.session = 1, .is_primary = true};
    (void)nt_sid_parse(USER_SID, &out->user);
    out->owner = out->user;
    (void)nt_sid_parse(user_groups[0].sid, &out->primary_group);
    add_groups(out, user_groups, COUNT(user_groups));
}

void nt_token_user(struct nt_token *out)
{
    make_person(out);
    add_privileges(out, user_privileges, COUNT(user_privileges));
    set_integrity(out, NT_INTEGRITY_MEDIUM);
    set_default_dacl(out, user_default, COUNT(user_default));
}

void nt_token_admin(struct nt_token *out)
{
    make_person(out);
    add_groups(out, admin_groups, COUNT(admin_groups));
    add_privileges(out, admin_privileges, COUNT(admin_privileges));
    (void)nt_sid_parse("S-1-5-32-544", &out->owner);
    set_integrity(out, HIGH);
    set_default_dacl(out, admin_default, COUNT(admin_default));
    out->is_elevated = true;
}

void nt_token_system(struct nt_token *out)
{
    *out = (struct nt_token){.is_primary = true, .is_elevated = true};
    (void)nt_sid_parse("S-1-5-18", &out->user);
    (void)nt_sid_parse("S-1-5-32-544", &out->owner);
    out->primary_group = out->user;
    add_groups(out, system_groups, COUNT(system_groups));
    add_privileges(out, system_privileges, COUNT(system_privileges));
    set_integrity(out, SYSTEM);
    set_default_dacl(out, system_default, COUNT(system_default));
}
