/* The model's other half of security: texts of SIDs and descriptors, what new objects inherit, tokens made from
 * tokens. */
#include <windows.h>

#include <stdio.h>
#include <string.h>

#include "tests/check.h"
#include "tests/ntmodel/access_tokens.h"

#include "common/base/banned.h"

/* ---- texts ------------------------------------------------------------------------------------- */

static void sids_round_trip(void)
{
    static const char *const texts[] = {
        "S-1-0-0",
        "S-1-1-0",
        "S-1-5-32-544",
        "S-1-16-4096",
        "S-1-5-21-4294967295-0-1-500",
        "S-1-15-2-1-2-3-4-5-6-7-8-9-10-11-12-13-14",
        "S-1-281474976710655-1",
    };
    for (size_t i = 0; i < SBX_COUNT(texts); i++) {
        struct nt_sid sid;
        char back[NT_SID_TEXT_MAX];
        CHECK(nt_sid_parse(texts[i], &sid));
        CHECK(nt_sid_print(sid.bytes, back, sizeof back) == strlen(texts[i]));
        CHECK_TEXT(back, texts[i]);
    }
}

static void texts_that_are_no_sids_are_refused(void)
{
    static const char *const texts[] = {
        "",
        "S-1",
        "S-1-5",
        "S-2-5-1",
        "S-1-5-",
        "S-1-5-x",
        "S-1-5-32-544 ",
        "S-1-5-4294967296",
        "S-1-281474976710656-1",
        "S-1-5-1-2-3-4-5-6-7-8-9-10-11-12-13-14-15-16",
    };
    for (size_t i = 0; i < SBX_COUNT(texts); i++) {
        struct nt_sid sid;
        CHECK(!nt_sid_parse(texts[i], &sid));
    }
}

static bool is_package(const char *text)
{
    struct nt_sid sid;
    return CHECK(nt_sid_parse(text, &sid)) && nt_sid_is_package(sid.bytes);
}

static bool is_capability(const char *text)
{
    struct nt_sid sid;
    return CHECK(nt_sid_parse(text, &sid)) && nt_sid_is_capability(sid.bytes);
}

static void packages_and_capabilities_are_told_apart(void)
{
    CHECK(is_package("S-1-15-2-1-2-3-4-5-6-7"));
    CHECK(is_package("S-1-15-2-1-2-3-4-5-6-7-8-9-10-11"));
    CHECK(!is_package("S-1-15-2-1"));
    CHECK(!is_package("S-1-15-2-2"));
    CHECK(!is_package("S-1-15-3-1-2-3-4-5-6-7"));
    CHECK(!is_package("S-1-5-2-1-2-3-4-5-6-7"));
    CHECK(is_capability("S-1-15-3-1"));
    CHECK(is_capability("S-1-15-3-1024-1-2-3-4-5-6-7-8"));
    CHECK(!is_capability("S-1-15-2-1"));
    CHECK(!is_capability("S-1-5-3-1"));
}

static _Alignas(8) unsigned char first[NT_DESCRIPTOR_MAX];
static _Alignas(8) unsigned char second[NT_DESCRIPTOR_MAX];
static _Alignas(8) unsigned char third[NT_DESCRIPTOR_MAX];

static void descriptor_texts_round_trip(void)
{
    static const char *const texts[] = {
        "O:BAG:SYD:(A;;FA;;;WD)",
        "O:S-1-5-21-1-2-3-1001G:BUD:PAI(D;OICIIO;FW;;;AU)(A;NPID;0x120088;;;AC)",
        "D:NO_ACCESS_CONTROL",
        "D:",
        "D:P",
        "O:SY",
        "",
        "O:SYG:SYD:ARS:PAI(AU;SAFA;FA;;;WD)(ML;OICI;NW;;;LW)",
        "S:(ML;;NW;;;HI)",
        "D:(OA;;FR;;;WD)(OD;;FR;;;OW)",
    };
    for (size_t i = 0; i < SBX_COUNT(texts); i++) {
        char back[512];
        size_t size = nt_sddl_parse(texts[i], first, sizeof first);
        CHECK(size >= 20);
        CHECK_U64(nt_descriptor_size(first), size);
        CHECK_U64(nt_sddl_print(first, back, sizeof back), strlen(texts[i]));
        CHECK_TEXT(back, texts[i]);
    }
}

static void texts_that_are_no_descriptors_are_refused(void)
{
    static const char *const texts[] = {
        "X:BA",
        "O:",
        "O:ZZ",
        "O:BAO:BA",
        "D:(A;;FA;;;WD",
        "D:(A;;FA;;WD)",
        "D:(Q;;FA;;;WD)",
        "D:(A;XX;FA;;;WD)",
        "D:(A;;XX;;;WD)",
        "D:(A;;0x;;;WD)",
        "D:(A;;0x123456789;;;WD)",
        "D:(A;;FA;;;)",
        "D:(A;;FA;guid;;WD)",
        "D:Q(A;;FA;;;WD)",
        "D:NO_ACCESS_CONTROL(A;;FA;;;WD)",
        "D:(A;;FA;;;$U)",
    };
    for (size_t i = 0; i < SBX_COUNT(texts); i++) {
        if (!CHECK_U64(nt_sddl_parse(texts[i], first, sizeof first), 0)) {
            printf("# %s\n", texts[i]);
        }
    }
    /* Neither does what does not fit. */
    CHECK_U64(nt_sddl_parse("O:BAG:SYD:(A;;FA;;;WD)", first, 75), 0);
    CHECK_U64(nt_sddl_parse("O:BAG:SYD:(A;;FA;;;WD)", first, 76), 76);
    CHECK_U64(nt_sddl_print(first, (char *)second, 22), 0);
    CHECK_U64(nt_sddl_print(first, (char *)second, 23), 22);
}

/* ---- new objects ------------------------------------------------------------------------------- */

struct heir_row {
    const char *rule;
    enum access_token token;
    bool is_container;
    const char *parent;  /* NULL: none */
    const char *creator; /* NULL: none */
    const char *want;    /* NULL: refused */
};

#define MINE "O:$UG:$M"
/* The token's own list, as a file gets it. */
#define DEFAULT MINE "D:(A;;FA;;;$U)(A;;FA;;;SY)(A;;0x1200a9;;;$L)"
#define PARENT "O:SYG:SYD:"

static const struct heir_row heir_rows[] = {
    {"without parent and creator the token decides", T_USER, false, NULL, NULL, DEFAULT},
    {"a parent without heirs leaves it to the token", T_USER, false, PARENT "(A;;FA;;;WD)", NULL,
     DEFAULT},
    {"a file inherits OI", T_USER, false, PARENT "(A;OICI;FA;;;BU)", NULL,
     MINE "D:AI(A;ID;FA;;;BU)"},
    {"a directory inherits CI, and passes it on", T_USER, true, PARENT "(A;OICI;FA;;;BU)", NULL,
     MINE "D:AI(A;OICIID;FA;;;BU)"},
    {"a file does not inherit CI alone", T_USER, false, PARENT "(A;CI;FA;;;BU)", NULL, DEFAULT},
    {"a directory inherits CI alone", T_USER, true, PARENT "(A;CI;FA;;;BU)", NULL,
     MINE "D:AI(A;CIID;FA;;;BU)"},
    {"a directory carries OI alone for its files only", T_USER, true, PARENT "(A;OI;FA;;;BU)", NULL,
     MINE "D:AI(A;OIIOID;FA;;;BU)"},
    {"a file inherits OI alone", T_USER, false, PARENT "(A;OI;FA;;;BU)", NULL,
     MINE "D:AI(A;ID;FA;;;BU)"},
    {"NP ends at the child", T_USER, true, PARENT "(A;OICINP;FA;;;BU)", NULL,
     MINE "D:AI(A;ID;FA;;;BU)"},
    {"NP lets a file inherit", T_USER, false, PARENT "(A;OINP;FA;;;BU)", NULL,
     MINE "D:AI(A;ID;FA;;;BU)"},
    {"NP does not carry OI through a directory", T_USER, true,
     PARENT "(A;OINP;FA;;;BU)(A;CI;FR;;;BU)", NULL, MINE "D:AI(A;CIID;FR;;;BU)"},
    {"IO at the parent is in force at a file", T_USER, false, PARENT "(A;OICIIO;FR;;;BU)", NULL,
     MINE "D:AI(A;ID;FR;;;BU)"},
    {"IO at the parent is in force at a directory", T_USER, true, PARENT "(A;OICIIO;FR;;;BU)", NULL,
     MINE "D:AI(A;OICIID;FR;;;BU)"},
    {"deny entries are inherited in their order", T_USER, false,
     PARENT "(D;OI;FW;;;BU)(A;OI;FA;;;BU)", NULL, MINE "D:AI(D;ID;FW;;;BU)(A;ID;FA;;;BU)"},
    {"CREATOR OWNER becomes the owner of a file", T_USER, false, PARENT "(A;OICIIO;GA;;;CO)", NULL,
     MINE "D:AI(A;ID;FA;;;$U)"},
    {"and at a directory also goes on as it was", T_USER, true, PARENT "(A;OICIIO;GA;;;CO)", NULL,
     MINE "D:AI(A;ID;FA;;;$U)(A;OICIIOID;GA;;;CO)"},
    {"CREATOR GROUP becomes the group", T_USER, false, PARENT "(A;OI;FR;;;CG)", NULL,
     MINE "D:AI(A;ID;FR;;;$M)"},
    {"a generic entry is mapped, and goes on as it was", T_USER, true, PARENT "(A;OICI;GXGR;;;BU)",
     NULL, MINE "D:AI(A;ID;0x1200a9;;;BU)(A;OICIIOID;0xa0000000;;;BU)"},
    {"a creator's protected list is all there is", T_USER, false, PARENT "(A;OI;FA;;;BU)",
     "D:P(A;;GA;;;SY)", MINE "D:P(A;;FA;;;SY)"},
    {"a creator's list stands before what is inherited", T_USER, false,
     PARENT "(D;OI;FW;;;BU)(A;OI;FA;;;BU)", "D:(A;;FR;;;SY)",
     MINE "D:AI(A;;FR;;;SY)(D;ID;FW;;;BU)(A;ID;FA;;;BU)"},
    {"a creator's inherited entries do not count", T_USER, false, PARENT "(A;OI;FA;;;BU)",
     "D:AI(A;ID;FA;;;WD)(A;;FR;;;SY)", MINE "D:AI(A;;FR;;;SY)(A;ID;FA;;;BU)"},
    {"a creator's protected entries become the object's own", T_USER, false, NULL,
     "D:P(A;ID;FR;;;SY)", MINE "D:P(A;;FR;;;SY)"},
    {"a creator's empty protected list is empty", T_USER, false, PARENT "(A;OI;FA;;;BU)", "D:P",
     MINE "D:P"},
    {"a creator's NULL list is a NULL list", T_USER, false, PARENT "(A;OI;FA;;;BU)",
     "D:NO_ACCESS_CONTROL", MINE "D:NO_ACCESS_CONTROL"},
    {"a file has no heirs", T_USER, false, NULL, "D:P(A;OICI;FR;;;SY)(A;OICIIO;FA;;;BU)",
     MINE "D:P(A;;FR;;;SY)"},
    {"a creator without a list inherits", T_USER, false, PARENT "(A;OI;FA;;;BU)", "O:$UG:$U",
     "O:$UG:$UD:AI(A;ID;FA;;;BU)"},
    {"a user may not make somebody else the owner", T_USER, false, NULL, "O:$XG:$X", NULL},
    {"nor a group that may not own", T_USER, false, NULL, "O:BUG:SY", NULL},
    {"an administrator may make Administrators the owner", T_ADMIN, false, NULL,
     "O:BAG:SYD:P(A;;FA;;;BA)", "O:BAG:SYD:P(A;;FA;;;BA)"},
    {"a filtered administrator may not", T_ADMIN_FILTERED, false, NULL, "O:BAG:SYD:P(A;;FA;;;BA)",
     NULL},
    {"an administrator's objects belong to Administrators", T_ADMIN, false, PARENT "(A;OI;FR;;;CO)",
     NULL, "O:BAG:$MD:AI(A;ID;FR;;;BA)"},
    {"a filtered one's belong to the user", T_ADMIN_FILTERED, false, PARENT "(A;OI;FR;;;CO)", NULL,
     MINE "D:AI(A;ID;FR;;;$U)"},
    {"what a Low token makes is Low", T_LOW, false, NULL, NULL, DEFAULT "S:(ML;;NW;;;LW)"},
    {"a label is inherited", T_USER, false, PARENT "(A;OI;FR;;;BU)S:(ML;OICI;NW;;;HI)", NULL,
     MINE "D:AI(A;ID;FR;;;BU)S:AI(ML;ID;NW;;;HI)"},
    {"an inherited label counts for a Low token", T_LOW, false,
     PARENT "(A;OI;FR;;;BU)S:(ML;OICI;NW;;;LW)", NULL,
     MINE "D:AI(A;ID;FR;;;BU)S:AI(ML;ID;NW;;;LW)"},
    {"a label that is not for heirs is not inherited", T_USER, false,
     PARENT "(A;OI;FR;;;BU)S:(ML;;NW;;;HI)", NULL, MINE "D:AI(A;ID;FR;;;BU)"},
    {"a creator may set a lower label", T_USER, false, PARENT "(A;OI;FR;;;BU)S:(ML;OI;NW;;;HI)",
     "S:(ML;;NW;;;LW)", MINE "D:AI(A;ID;FR;;;BU)S:AI(ML;;NW;;;LW)"},
    {"but no higher one", T_USER, false, NULL, "S:(ML;;NW;;;HI)", NULL},
    {"a Low creator no Medium one", T_LOW, false, NULL, "S:(ML;;NW;;;ME)", NULL},
    {"audit entries need a privilege", T_ADMIN, false, NULL, "D:P(A;;FA;;;BA)S:(AU;SA;FA;;;WD)",
     NULL},
    {"which then sets them", T_ADMIN_ARMED, false, NULL, "D:P(A;;FA;;;BA)S:(AU;SA;FA;;;WD)",
     "O:BAG:$MD:P(A;;FA;;;BA)S:(AU;SA;FA;;;WD)"},
    {"audit entries are inherited", T_USER, false, PARENT "(A;OI;FR;;;BU)S:(AU;OISAFA;FA;;;WD)",
     NULL, MINE "D:AI(A;ID;FR;;;BU)S:AI(AU;IDSAFA;FA;;;WD)"},
    {"what a box makes from nothing is its package's", T_BOX, false, NULL, NULL,
     DEFAULT "(A;;FA;;;$P)S:(ML;;NW;;;LW)"},
    {"what a box makes in a granted root belongs to the user", T_BOX, true,
     PARENT "(A;OICI;FA;;;$U)(A;OICI;0x1301bf;;;$C)", NULL,
     MINE "D:AI(A;OICIID;FA;;;$U)(A;OICIID;0x1301bf;;;$C)S:(ML;;NW;;;LW)"},
};

/* The text of a row; $M is the token's primary group. */
static size_t parse_for(const struct nt_token *token, const char *text, void *out)
{
    struct nt_sddl_name names[ACCESS_NAMES + 1];
    access_names(token, names);
    names[ACCESS_NAMES] = (struct nt_sddl_name){"$M", token->primary_group};
    size_t size = nt_sddl_parse_names(text, names, ACCESS_NAMES + 1, out, NT_DESCRIPTOR_MAX);
    if (!CHECK(size != 0)) printf("# not a descriptor: %s\n", text);
    return size;
}

static void check_heir(const struct heir_row *row)
{
    static struct nt_token token;
    static _Alignas(8) unsigned char made[NT_DESCRIPTOR_MAX];
    char got[1024] = "";
    char want[1024] = "";
    CHECK(access_token_make(row->token, &token));
    if (row->parent != NULL) (void)parse_for(&token, row->parent, first);
    if (row->creator != NULL) (void)parse_for(&token, row->creator, second);
    size_t size = nt_descriptor_new(&token, row->parent == NULL ? NULL : first,
                                    row->creator == NULL ? NULL : second, row->is_container,
                                    &nt_file_mapping, made, sizeof made);
    if (row->want == NULL) {
        if (!CHECK_U64(size, 0)) printf("# %s\n", row->rule);
        return;
    }
    if (size != 0) (void)nt_sddl_print(made, got, sizeof got);
    if (parse_for(&token, row->want, third) != 0) (void)nt_sddl_print(third, want, sizeof want);
    if (!CHECK_TEXT(got, want)) printf("# %s\n", row->rule);
    /* What does not fit is refused. */
    if (size != 0) {
        CHECK_U64(nt_descriptor_size(made), size);
        CHECK_U64(nt_descriptor_new(&token, row->parent == NULL ? NULL : first,
                                    row->creator == NULL ? NULL : second, row->is_container,
                                    &nt_file_mapping, made, size - 1),
                  0);
    }
}

static void new_objects_inherit_as_their_rule_says(void)
{
    for (size_t i = 0; i < SBX_COUNT(heir_rows); i++) check_heir(&heir_rows[i]);
}

static bool may(const struct nt_token *token, const void *object, DWORD desired)
{
    DWORD granted;
    return nt_access_check(token, object, desired, &nt_file_mapping, &granted);
}

/* A directory in a granted root, then a file in it, made by the box: both halves reach it. */
static void a_box_reaches_what_it_made_in_a_granted_root(void)
{
    static struct nt_token box;
    static struct nt_token user;
    CHECK(access_token_make(T_BOX, &box));
    CHECK(access_token_make(T_USER, &user));
    (void)parse_for(&box, "O:$UG:$UD:AI(A;OICIID;FA;;;$U)(A;OICI;0x1301bf;;;$C)", first);
    CHECK(nt_descriptor_new(&box, first, NULL, true, &nt_file_mapping, second, sizeof second) != 0);
    CHECK(nt_descriptor_new(&box, second, NULL, false, &nt_file_mapping, third, sizeof third) != 0);
    CHECK(may(&box, third, FILE_GENERIC_READ | FILE_GENERIC_WRITE | DELETE));
    CHECK(may(&user, third, FILE_ALL_ACCESS));
    CHECK(!may(&box, third, WRITE_DAC));
}

/* What mkdir(0700) of some runtimes asks for: a protected list with the user alone. */
static void a_box_that_protects_its_directory_locks_itself_out(void)
{
    static struct nt_token box;
    static struct nt_token user;
    CHECK(access_token_make(T_BOX, &box));
    CHECK(access_token_make(T_USER, &user));
    (void)parse_for(&box, "O:$UG:$UD:AI(A;OICIID;FA;;;$U)(A;OICI;0x1301bf;;;$C)", first);
    (void)parse_for(&box, "D:P(A;OICI;FA;;;$U)", second);
    CHECK(nt_descriptor_new(&box, first, second, true, &nt_file_mapping, third, sizeof third) != 0);
    CHECK(!may(&box, third, FILE_LIST_DIRECTORY));
    CHECK(may(&user, third, FILE_LIST_DIRECTORY));
}

/* ---- tokens ------------------------------------------------------------------------------------ */

static struct nt_token base;
static struct nt_token made;

static SID_AND_ATTRIBUTES sid_row(const char *text, struct nt_sid *sid, DWORD attributes)
{
    CHECK(nt_sid_parse(text, sid));
    return (SID_AND_ATTRIBUTES){sid->bytes, attributes};
}

static DWORD group_attributes(const struct nt_token *token, const char *text)
{
    struct nt_sid sid;
    CHECK(nt_sid_parse(text, &sid));
    for (size_t i = 0; i < token->group_count; i++) {
        if (nt_sid_equal(token->groups[i].sid.bytes, sid.bytes)) return token->groups[i].attributes;
    }
    return MAXDWORD;
}

static void a_disabled_group_is_for_deny_only_and_owns_nothing(void)
{
    struct nt_sid sids[2];
    nt_token_admin(&base);
    const SID_AND_ATTRIBUTES rows[] = {sid_row("S-1-5-32-544", &sids[0], 0),
                                       sid_row("S-1-5-21-9-9-9-9", &sids[1], 0)};
    CHECK(nt_sid_equal(base.owner.bytes, sids[0].bytes));
    CHECK(nt_token_restrict(&base, 0, rows, 2, NULL, 0, NULL, 0, &made));
    CHECK_U64(group_attributes(&made, "S-1-5-32-544"), SE_GROUP_USE_FOR_DENY_ONLY | SE_GROUP_OWNER);
    CHECK(nt_sid_equal(made.owner.bytes, made.user.bytes));
    CHECK_U64(made.group_count, base.group_count);
    CHECK_U64(made.privilege_count, base.privilege_count);
    CHECK_U64(group_attributes(&base, "S-1-5-32-544"), 15);
}

static void privileges_are_taken_all_but_one_or_by_list(void)
{
    const LUID_AND_ATTRIBUTES security = {{.LowPart = 8}, 0};
    const LUID_AND_ATTRIBUTES notify = {{.LowPart = 23}, 0};
    nt_token_admin(&base);
    CHECK(nt_token_restrict(&base, DISABLE_MAX_PRIVILEGE, NULL, 0, &notify, 1, NULL, 0, &made));
    CHECK_U64(made.privilege_count, 1);
    CHECK(nt_token_has_privilege(&made, 23));
    CHECK(nt_token_restrict(&base, 0, NULL, 0, &security, 1, NULL, 0, &made));
    CHECK_U64(made.privilege_count, base.privilege_count - 1);
    CHECK(nt_token_restrict(&base, 0, NULL, 0, &notify, 1, NULL, 0, &made));
    CHECK(!nt_token_has_privilege(&made, 23));
}

static void restricting_sids_intersect(void)
{
    struct nt_sid sids[3];
    nt_token_user(&base);
    const SID_AND_ATTRIBUTES wide[] = {sid_row("S-1-1-0", &sids[0], 0),
                                       sid_row("S-1-5-12", &sids[1], 0)};
    const SID_AND_ATTRIBUTES other[] = {sid_row("S-1-5-11", &sids[2], 0), wide[1]};
    CHECK(nt_token_restrict(&base, 0, NULL, 0, NULL, 0, wide, 2, &made));
    CHECK_U64(made.restricted_count, 2);
    base = made;
    CHECK(nt_token_restrict(&base, 0, NULL, 0, NULL, 0, other, 2, &made));
    CHECK_U64(made.restricted_count, 1);
    CHECK(nt_sid_equal(made.restricted[0].sid.bytes, sids[1].bytes));
    /* Nothing in common is nothing at all, not freedom. */
    CHECK(nt_token_restrict(&base, 0, NULL, 0, NULL, 0, other, 1, &made));
    CHECK_U64(made.restricted_count, 1);
    CHECK(nt_sddl_parse("O:SYG:SYD:(A;;FA;;;WD)(A;;FA;;;AU)(A;;FA;;;RC)", first, sizeof first) !=
          0);
    CHECK(!may(&made, first, FILE_GENERIC_READ));
    CHECK(may(&base, first, FILE_GENERIC_READ));
    /* A token that is restricted whole does not become write-restricted. */
    CHECK(nt_token_restrict(&base, WRITE_RESTRICTED, NULL, 0, NULL, 0, wide, 2, &made));
    CHECK(!made.write_restricted);
}

static void a_lua_token_is_a_standard_user(void)
{
    nt_token_admin(&base);
    CHECK(nt_token_restrict(&base, LUA_TOKEN, NULL, 0, NULL, 0, NULL, 0, &made));
    CHECK_U64(made.integrity, 0x2000);
    CHECK((group_attributes(&made, "S-1-5-32-544") & SE_GROUP_USE_FOR_DENY_ONLY) != 0);
    CHECK(made.privilege_count <= 5);
    CHECK(!made.is_elevated);
}

static void bad_input_makes_no_restricted_token(void)
{
    struct nt_sid sid;
    nt_token_user(&base);
    made = base;
    made.session = 77;
    const SID_AND_ATTRIBUTES enabled = sid_row("S-1-1-0", &sid, SE_GROUP_ENABLED);
    const SID_AND_ATTRIBUTES missing = {NULL, 0};
    CHECK(!nt_token_restrict(&base, 16, NULL, 0, NULL, 0, NULL, 0, &made));
    CHECK(!nt_token_restrict(&base, 0, NULL, 0, NULL, 0, &enabled, 1, &made));
    CHECK(!nt_token_restrict(&base, 0, &missing, 1, NULL, 0, NULL, 0, &made));
    CHECK(!nt_token_restrict(&base, 0, NULL, 1, NULL, 0, NULL, 0, &made));
    CHECK(!nt_token_restrict(&base, 0, NULL, 0, NULL, 1, NULL, 0, &made));
    CHECK(!nt_token_restrict(&base, 0, NULL, 0, NULL, 0, NULL, 1, &made));
    CHECK_U64(made.session, 77);
}

static void a_lowbox_is_low_and_keeps_its_user(void)
{
    struct nt_sid package;
    struct nt_sid capability;
    nt_token_user(&base);
    const SID_AND_ATTRIBUTES of_package = sid_row("S-1-15-2-1-2-3-4-5-6-7", &package, 0);
    const SID_AND_ATTRIBUTES row = sid_row("S-1-15-3-1", &capability, SE_GROUP_ENABLED);
    CHECK(nt_token_lowbox(&base, of_package.Sid, &row, 1, true, &made));
    CHECK(made.is_appcontainer && made.is_lpac);
    CHECK_U64(made.integrity, 0x1000);
    CHECK_U64(made.capability_count, 1);
    CHECK_U64(made.capabilities[0].attributes, SE_GROUP_ENABLED);
    CHECK(nt_sid_equal(made.package.bytes, package.bytes));
    CHECK(nt_sid_equal(made.user.bytes, base.user.bytes));
    CHECK(made.default_dacl_size > base.default_dacl_size);
    CHECK(!base.is_appcontainer);
    /* No box inside a box. */
    base = made;
    CHECK(!nt_token_lowbox(&base, of_package.Sid, &row, 1, false, &made));
}

static void bad_input_makes_no_lowbox(void)
{
    struct nt_sid sids[3];
    nt_token_user(&base);
    const SID_AND_ATTRIBUTES package = sid_row("S-1-15-2-1-2-3-4-5-6-7", &sids[0], 0);
    const SID_AND_ATTRIBUTES all = sid_row("S-1-15-2-1", &sids[1], SE_GROUP_ENABLED);
    const SID_AND_ATTRIBUTES group = sid_row("S-1-5-32-544", &sids[2], SE_GROUP_ENABLED);
    CHECK(!nt_token_lowbox(&base, all.Sid, NULL, 0, false, &made));
    CHECK(!nt_token_lowbox(&base, NULL, NULL, 0, false, &made));
    CHECK(!nt_token_lowbox(&base, package.Sid, &group, 1, false, &made));
    CHECK(!nt_token_lowbox(&base, package.Sid, &package, 1, false, &made));
    CHECK(!nt_token_lowbox(&base, package.Sid, NULL, 1, false, &made));
    CHECK(nt_token_lowbox(&base, package.Sid, NULL, 0, false, &made));
}

static void ready_tokens_are_what_they_are_called(void)
{
    nt_token_user(&made);
    CHECK_U64(made.integrity, 0x2000);
    CHECK_U64(group_attributes(&made, "S-1-5-32-544"), MAXDWORD);
    CHECK(!made.is_elevated && made.privilege_count == 5);
    nt_token_admin(&made);
    CHECK_U64(made.integrity, 0x3000);
    CHECK(made.is_elevated && made.privilege_count > 20);
    CHECK(!nt_token_has_privilege(&made, 8) && nt_token_has_privilege(&made, 23));
    nt_token_system(&made);
    CHECK_U64(made.integrity, 0x4000);
    CHECK(nt_token_has_privilege(&made, 7) && made.session == 0);
}

static const struct sbx_test tests[] = {
    {"SIDs round trip", sids_round_trip},
    {"texts that are no SIDs are refused", texts_that_are_no_sids_are_refused},
    {"packages and capabilities are told apart", packages_and_capabilities_are_told_apart},
    {"descriptor texts round trip", descriptor_texts_round_trip},
    {"texts that are no descriptors are refused", texts_that_are_no_descriptors_are_refused},
    {"new objects inherit as their rule says", new_objects_inherit_as_their_rule_says},
    {"a box reaches what it made in a granted root", a_box_reaches_what_it_made_in_a_granted_root},
    {"a box that protects its directory locks itself out",
     a_box_that_protects_its_directory_locks_itself_out},
    {"a disabled group is for deny only and owns nothing",
     a_disabled_group_is_for_deny_only_and_owns_nothing},
    {"privileges are taken all but one, or by list", privileges_are_taken_all_but_one_or_by_list},
    {"restricting SIDs intersect", restricting_sids_intersect},
    {"a LUA token is a standard user", a_lua_token_is_a_standard_user},
    {"bad input makes no restricted token", bad_input_makes_no_restricted_token},
    {"a lowbox is Low and keeps its user", a_lowbox_is_low_and_keeps_its_user},
    {"bad input makes no lowbox", bad_input_makes_no_lowbox},
    {"ready tokens are what they are called", ready_tokens_are_what_they_are_called},
};

SBX_TEST_MAIN("simulated_nt_security", tests)
