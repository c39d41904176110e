/* The model's access check against the one of the system that runs the test: the same rows and random lists,
 * real tokens read into the model's structure, AccessCheck on one side and nt_access_check on the other. Under
 * Wine that compares two independent implementations; on Windows it would judge the model. */
#include <windows.h>

#include <sddl.h>
#include <stdio.h>
#include <string.h>

#include "tests/check.h"
#include "tests/ntmodel/access_vectors.h"
#include "tests/unit/nt_real_token.h"
#include "tests/unit/random.h"

#include "common/base/banned.h"

static _Alignas(8) unsigned char descriptor[NT_DESCRIPTOR_MAX];

struct real_token {
    HANDLE handle; /* NULL: not expressible, for `why` */
    const char *why;
    struct nt_token content;
};

static struct real_token tokens[T_TOKEN_COUNT];

static bool is_wine(void)
{
    HMODULE ntdll = GetModuleHandleW(L"ntdll.dll");
    return ntdll != NULL && GetProcAddress(ntdll, "wine_get_version") != NULL;
}

static void open_tokens(void)
{
    for (size_t i = 0; i < T_TOKEN_COUNT; i++) {
        struct real_token *token = &tokens[i];
        token->handle = nt_real_token_open((enum access_token)i, &token->why);
        if (token->handle != NULL) CHECK(nt_real_token_read(token->handle, &token->content));
    }
}

static void close_tokens(void)
{
    for (size_t i = 0; i < T_TOKEN_COUNT; i++) {
        if (tokens[i].handle != NULL) (void)CloseHandle(tokens[i].handle);
        tokens[i].handle = NULL;
    }
}

/* What the system grants; 0 for a refusal. */
static DWORD system_answer(HANDLE token, DWORD desired)
{
    GENERIC_MAPPING mapping = nt_file_mapping;
    struct {
        PRIVILEGE_SET set;
        LUID_AND_ATTRIBUTES more[8];
    } privileges;
    DWORD size = sizeof privileges;
    DWORD granted = 0;
    BOOL is_granted = FALSE;
    BOOL is_done = AccessCheck(descriptor, token, nt_map_generic(desired, &nt_file_mapping),
                               &mapping, &privileges.set, &size, &granted, &is_granted);
    DWORD code = GetLastError();
    if (!CHECK(is_done)) printf("# AccessCheck: %lu\n", (unsigned long)code);
    return is_done && is_granted ? granted : 0;
}

static const char *why_not_comparable(const struct access_vector *row)
{
    if (tokens[row->token].handle == NULL) return tokens[row->token].why;
    if (is_wine() && strstr(row->descriptor, "S:(ML") != NULL) return "Wine heeds no labels";
    if (is_wine() && row->wine == WINE_OBJECT) return "Wine's call fails on object entries";
    /* Wine keeps the user's own SID in force, and says so: its attributes stay 0. */
    if (row->token == T_USER_DENY_ONLY && !tokens[row->token].content.user_deny_only) {
        return "the user's own SID cannot be made for deny only";
    }
    return NULL;
}

struct tally {
    const char *reason;
    size_t count;
};

static void count_reason(struct tally *tallies, size_t max, const char *reason)
{
    size_t i = 0;
    while (i < max - 1 && tallies[i].reason != NULL && strcmp(tallies[i].reason, reason) != 0) i++;
    tallies[i].reason = reason;
    tallies[i].count++;
}

static void compare_row(const struct access_vector *row)
{
    const struct real_token *token = &tokens[row->token];
    struct nt_sddl_name names[ACCESS_NAMES];
    DWORD by_model;
    access_names(&token->content, names);
    if (!CHECK(nt_sddl_parse_names(row->descriptor, names, ACCESS_NAMES, descriptor,
                                   sizeof descriptor) != 0)) {
        return;
    }
    (void)nt_access_check(&token->content, descriptor, row->desired, &nt_file_mapping, &by_model);
    DWORD by_system = system_answer(token->handle, row->desired);
    bool holds;
    if (is_wine() && row->wine != WINE_SAME) {
        holds = CHECK(by_system != by_model);
    } else {
        holds = CHECK_U64(by_system, by_model);
    }
    if (!holds) {
        printf("# %s: %s, %s, 0x%lx\n", row->rule, access_token_name(row->token), row->descriptor,
               (unsigned long)row->desired);
    }
}

static void the_rows_agree_where_both_can_answer(void)
{
    static const char *const rules[WINE_RULES] = {
        [WINE_ORDER] = "a later deny entry takes back what an earlier entry gave",
        [WINE_OWNER] = "the owner has all standard rights, and OWNER RIGHTS is nobody",
        [WINE_PRIVILEGE] = "SeTakeOwnership gives nothing, and a NULL list ACCESS_SYSTEM_SECURITY",
        [WINE_DENY_ONLY] = "a group for deny only denies nothing",
        [WINE_MAXIMUM] = "a maximum is granted though a right asked for besides is missing",
    };
    struct tally tallies[16] = {{NULL, 0}};
    size_t differing[WINE_RULES] = {0};
    size_t compared = 0;
    open_tokens();
    for (size_t i = 0; i < SBX_COUNT(access_vectors); i++) {
        const struct access_vector *row = &access_vectors[i];
        const char *why = why_not_comparable(row);
        if (why != NULL) {
            count_reason(tallies, SBX_COUNT(tallies), why);
            continue;
        }
        compared++;
        differing[is_wine() ? row->wine : WINE_SAME]++;
        compare_row(row);
    }
    close_tokens();
    printf("# %zu of %zu rows compared, %zu agree\n", compared, SBX_COUNT(access_vectors),
           differing[WINE_SAME]);
    for (size_t i = WINE_SAME + 1; i < WINE_RULES; i++) {
        if (differing[i] == 0) continue;
        printf("# %zu rows differ by a known rule of Wine: %s\n", differing[i], rules[i]);
    }
    for (size_t i = 0; i < SBX_COUNT(tallies) && tallies[i].reason != NULL; i++) {
        printf("# not comparable: %zu rows, %s\n", tallies[i].count, tallies[i].reason);
    }
    CHECK(compared >= 90);
    CHECK(differing[WINE_SAME] >= 80);
}

/* A row says for its token what is granted; the real token is not quite that one, but where it is, the system
 * agrees with the row itself. Controls that the comparison is not of two refusals all along. */
static void both_answers_occur_on_the_system(void)
{
    size_t granted = 0;
    size_t refused = 0;
    open_tokens();
    for (size_t i = 0; i < SBX_COUNT(access_vectors); i++) {
        const struct access_vector *row = &access_vectors[i];
        struct nt_sddl_name names[ACCESS_NAMES];
        if (why_not_comparable(row) != NULL || row->wine != WINE_SAME) continue;
        access_names(&tokens[row->token].content, names);
        (void)nt_sddl_parse_names(row->descriptor, names, ACCESS_NAMES, descriptor,
                                  sizeof descriptor);
        DWORD answer = system_answer(tokens[row->token].handle, row->desired);
        granted += answer != 0 ? 1U : 0U;
        refused += answer == 0 ? 1U : 0U;
        if (!CHECK_U64(answer, row->granted)) printf("# %s\n", row->rule);
    }
    close_tokens();
    CHECK(granted >= 30);
    CHECK(refused >= 30);
}

/* ---- random lists ------------------------------------------------------------------------------ */

enum { ENTRIES_MAX = 6, RANDOM_ROUNDS = 4000 };

/* Only what Wine has the same rules for: deny entries first, as every tool writes them, none for groups that are
 * for deny only, and an owner who is not in the token. */
static void random_text(uint64_t *seed, char *text, size_t max)
{
    static const char *const sids[] = {"$U", "$X", "$G", "$L", "WD", "IU", "BU", "BA", "AU", "SY"};
    enum { DENIABLE = 6 };
    static const DWORD masks[] = {
        FILE_READ_DATA,  FILE_WRITE_DATA, FILE_EXECUTE,      READ_CONTROL,
        DELETE,          WRITE_DAC,       FILE_GENERIC_READ, FILE_GENERIC_WRITE,
        FILE_ALL_ACCESS, GENERIC_READ,    GENERIC_ALL,       WRITE_OWNER};
    size_t entries = random_below(seed, ENTRIES_MAX + 1);
    size_t denying = random_below(seed, entries / 2 + 1);
    int length = snprintf(text, max, "O:$XG:SYD:");
    for (size_t i = 0; i < entries; i++) {
        size_t sid = random_below(seed, i < denying ? DENIABLE : SBX_COUNT(sids));
        length += snprintf(text + length, max - (size_t)length, "(%s;%s;0x%lx;;;%s)",
                           i < denying ? "D" : "A", random_below(seed, 6) == 0 ? "OICIIO" : "",
                           (unsigned long)masks[random_below(seed, SBX_COUNT(masks))], sids[sid]);
    }
}

static void random_lists_agree(void)
{
    static const enum access_token kinds[] = {T_USER, T_ADMIN, T_NO_USERS};
    static const DWORD requests[] = {FILE_READ_DATA,
                                     FILE_WRITE_DATA,
                                     FILE_GENERIC_READ,
                                     FILE_GENERIC_WRITE,
                                     READ_CONTROL,
                                     WRITE_DAC,
                                     DELETE,
                                     FILE_ALL_ACCESS,
                                     MAXIMUM_ALLOWED,
                                     WRITE_OWNER,
                                     FILE_EXECUTE,
                                     ACCESS_SYSTEM_SECURITY};
    uint64_t seed = 3;
    size_t granted = 0;
    open_tokens();
    for (size_t i = 0; i < RANDOM_ROUNDS; i++) {
        const struct real_token *token = &tokens[kinds[random_below(&seed, SBX_COUNT(kinds))]];
        struct nt_sddl_name names[ACCESS_NAMES];
        char text[1024];
        DWORD by_model;
        DWORD desired = requests[random_below(&seed, SBX_COUNT(requests))];
        random_text(&seed, text, sizeof text);
        access_names(&token->content, names);
        if (!CHECK(token->handle != NULL) ||
            !CHECK(nt_sddl_parse_names(text, names, ACCESS_NAMES, descriptor, sizeof descriptor) !=
                   0)) {
            break;
        }
        (void)nt_access_check(&token->content, descriptor, desired, &nt_file_mapping, &by_model);
        DWORD by_system = system_answer(token->handle, desired);
        granted += by_system != 0 ? 1U : 0U;
        if (!CHECK_U64(by_system, by_model)) {
            printf("# round %zu: %s, 0x%lx\n", i, text, (unsigned long)desired);
            break;
        }
    }
    close_tokens();
    CHECK(granted > RANDOM_ROUNDS / 10);
    CHECK(granted < RANDOM_ROUNDS - RANDOM_ROUNDS / 10);
    printf("# %zu of %d random requests granted by both\n", granted, RANDOM_ROUNDS);
}

/* ---- texts --------------------------------------------------------------------------------------- */

static void texts_mean_the_same_to_the_system(void)
{
    static struct nt_token token;
    size_t compared = 0;
    nt_token_user(&token);
    for (size_t i = 0; i < SBX_COUNT(access_vectors); i++) {
        struct nt_sddl_name names[ACCESS_NAMES];
        static char text[NT_SDDL_MAX];
        static char back[NT_SDDL_MAX];
        PSECURITY_DESCRIPTOR theirs = NULL;
        access_names(&token, names);
        (void)nt_sddl_parse_names(access_vectors[i].descriptor, names, ACCESS_NAMES, descriptor,
                                  sizeof descriptor);
        /* Object entries without GUIDs, and the word for a NULL list, are not known to every version. */
        if (strstr(access_vectors[i].descriptor, "(O") != NULL) continue;
        if (strstr(access_vectors[i].descriptor, "NO_ACCESS") != NULL) continue;
        CHECK(nt_sddl_print(descriptor, text, sizeof text) != 0);
        BOOL is_read = ConvertStringSecurityDescriptorToSecurityDescriptorA(text, SDDL_REVISION_1,
                                                                            &theirs, NULL);
        if (!CHECK(is_read)) {
            printf("# not read by the system: %s\n", text);
            continue;
        }
        CHECK(nt_sddl_print(theirs, back, sizeof back) != 0);
        CHECK_TEXT(back, text);
        (void)LocalFree(theirs);
        compared++;
    }
    CHECK(compared >= 120);
}

static const struct sbx_test tests[] = {
    {"the rows agree where both can answer", the_rows_agree_where_both_can_answer},
    {"both answers occur on the system, and are the rows' own", both_answers_occur_on_the_system},
    {"random lists agree", random_lists_agree},
    {"descriptor texts mean the same to the system", texts_mean_the_same_to_the_system},
};

SBX_TEST_MAIN("nt_access_on_wine", tests)
