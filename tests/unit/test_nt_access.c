/* The model's access check: rows with the rule they exercise, the readings that sources leave open, and random
 * lists against a second evaluation, right by right, from the definition (nt_access_definition.c). */
#include <windows.h>

#include <stdio.h>
#include <string.h>

#include "tests/check.h"
#include "tests/ntmodel/access_vectors.h"
#include "tests/unit/nt_access_definition.h"
#include "tests/unit/random.h"

#include "common/base/banned.h"

static _Alignas(8) unsigned char descriptor[NT_DESCRIPTOR_MAX];

/* The row's descriptor for this token; false is a failed check. */
static bool make_descriptor(const char *text, const struct nt_token *token)
{
    struct nt_sddl_name names[ACCESS_NAMES];
    access_names(token, names);
    bool is_made =
        nt_sddl_parse_names(text, names, ACCESS_NAMES, descriptor, sizeof descriptor) != 0;
    CHECK(is_made);
    if (!is_made) printf("# not a descriptor: %s\n", text);
    return is_made;
}

static void check_row(const char *rule, enum access_token who, const char *text, DWORD desired,
                      DWORD want, const struct nt_readings *readings)
{
    static struct nt_token token;
    DWORD granted = 1;
    CHECK(access_token_make(who, &token));
    if (!make_descriptor(text, &token)) return;
    bool is_granted =
        nt_access_check_as(readings, &token, descriptor, desired, &nt_file_mapping, &granted);
    bool holds = CHECK_U64(granted, want);
    holds = CHECK_INT(is_granted, want != 0) && holds;
    if (!holds) {
        printf("# %s: %s, %s, 0x%lx\n", rule, access_token_name(who), text, (unsigned long)desired);
    }
}

static void every_row_is_answered_as_its_rule_says(void)
{
    const struct nt_readings published = nt_readings_nth(0);
    for (size_t i = 0; i < SBX_COUNT(access_vectors); i++) {
        const struct access_vector *row = &access_vectors[i];
        check_row(row->rule, row->token, row->descriptor, row->desired, row->granted, &published);
    }
    printf("# %zu rows\n", SBX_COUNT(access_vectors));
}

static void there_are_enough_rows_of_both_kinds(void)
{
    size_t refused = 0;
    bool has_token[T_TOKEN_COUNT] = {false};
    for (size_t i = 0; i < SBX_COUNT(access_vectors); i++) {
        refused += access_vectors[i].granted == 0 ? 1U : 0U;
        has_token[access_vectors[i].token] = true;
    }
    CHECK(refused >= 60);
    CHECK(SBX_COUNT(access_vectors) - refused >= 60);
    for (size_t i = 0; i < T_TOKEN_COUNT; i++) CHECK(has_token[i]);
}

/* ---- the readings that sources leave open ------------------------------------------------------ */

struct reading_row {
    unsigned reading; /* the one bit that matters */
    enum access_token token;
    DWORD desired;
    DWORD published;
    DWORD otherwise;
    const char *descriptor;
};

#define WRITE ((DWORD)FILE_GENERIC_WRITE)
#define READ ((DWORD)FILE_GENERIC_READ)
#define ALL ((DWORD)FILE_ALL_ACCESS)

static const struct reading_row reading_rows[] = {
    {1, T_BOX, WRITE, WRITE, 0, "O:SYG:SYD:(A;;FA;;;$U)(A;;FA;;;$C)"},
    {1, T_BOX, WRITE, WRITE, 0, "O:SYG:SYD:(A;;FA;;;$U)(A;;FA;;;$C)S:(ML;;NW;;;ME)"},
    {1, T_BOX, WRITE, WRITE, WRITE, "O:SYG:SYD:(A;;FA;;;$U)(A;;FA;;;$C)S:(ML;;NW;;;LW)"},
    {1, T_BOX, READ, READ, READ, "O:SYG:SYD:(A;;FA;;;$U)(A;;FA;;;$C)"},
    {2, T_BOX, READ, 0, READ, "O:SYG:SYD:NO_ACCESS_CONTROL"},
    {2, T_BOX, READ, 0, 0, "O:SYG:SYD:"},
    {4, T_BOX, WRITE, WRITE, 0, "O:SYG:SYD:(D;;FW;;;$C)(A;;FA;;;$U)(A;;FA;;;$C)"},
    {4, T_BOX, WRITE, WRITE, 0, "O:SYG:SYD:(D;;FW;;;$P)(A;;FA;;;$U)(A;;FA;;;$C)"},
    {4, T_BOX, MAXIMUM_ALLOWED, ALL, ALL & ~WRITE,
     "O:SYG:SYD:(D;;FW;;;$C)(A;;FA;;;$U)(A;;FA;;;$C)"},
    {4, T_USER, WRITE, WRITE, WRITE, "O:SYG:SYD:(D;;FW;;;$C)(A;;FA;;;$U)"},
    {8, T_LOW, READ, 0, READ, "O:SYG:SYD:(A;;FA;;;$U)(A;;FA;;;$P)"},
    {16, T_USER, READ, READ, 0, "O:SYG:SYD:(A;;GR;;;WD)"},
    {16, T_USER, READ, 0, READ, "O:SYG:SYD:(D;;GR;;;WD)(A;;FR;;;WD)"},
    {32, T_BOX_ADMIN, WRITE_OWNER, 0, WRITE_OWNER, "O:SYG:SYD:(A;;FR;;;BA)"},
};

static void a_reading_changes_what_it_speaks_of(void)
{
    for (size_t i = 0; i < SBX_COUNT(reading_rows); i++) {
        const struct reading_row *row = &reading_rows[i];
        for (unsigned number = 0; number < NT_READINGS_COUNT; number++) {
            if ((number & ~row->reading) != 0) continue;
            const struct nt_readings readings = nt_readings_nth(number);
            check_row("reading", row->token, row->descriptor, row->desired,
                      number == 0 ? row->published : row->otherwise, &readings);
        }
    }
}

static void the_check_follows_the_reading_that_was_set(void)
{
    static struct nt_token token;
    const struct nt_readings strict = nt_readings_nth(1);
    DWORD granted;
    CHECK(access_token_make(T_BOX, &token));
    if (!make_descriptor("O:SYG:SYD:(A;;FA;;;$U)(A;;FA;;;$C)", &token)) return;
    CHECK(nt_access_check(&token, descriptor, WRITE, &nt_file_mapping, &granted));
    nt_readings_set(&strict);
    CHECK(!nt_access_check(&token, descriptor, WRITE, &nt_file_mapping, &granted));
    nt_readings_set(NULL);
    CHECK(nt_access_check(&token, descriptor, WRITE, &nt_file_mapping, &granted));
}

/* What no reading opens is what the pipeline may rest on. */
static void some_walls_of_a_box_stand_under_every_reading(void)
{
    static const struct {
        DWORD desired;
        const char *descriptor;
    } walls[] = {
        {READ, "O:$UG:$UD:AI(A;OICIID;FA;;;SY)(A;OICIID;FA;;;BA)(A;OICIID;FA;;;$U)"},
        {READ_CONTROL, "O:$UG:$UD:AI(A;OICIID;FA;;;$U)"},
        {WRITE_DAC, "O:$UG:$UD:(A;;FA;;;$U)(A;OICI;0x1301bf;;;$C)"},
        {WRITE, "O:$UG:$UD:PAI(A;;FA;;;$U)(A;;FR;;;$C)"},
        {READ, "O:$UG:$UD:(A;;FA;;;$U)(A;;FA;;;$Q)(A;;FA;;;$K)(A;;FA;;;$N)"},
        {READ, "O:$UG:$UD:(D;;FR;;;$U)(A;;FA;;;WD)(A;;FA;;;AC)(A;;FA;;;$P)(A;;FA;;;$C)"},
        {WRITE, "O:$UG:$UD:(A;;FA;;;$U)(A;;FA;;;$C)S:(ML;;NW;;;HI)"},
    };
    for (unsigned number = 0; number < NT_READINGS_COUNT; number++) {
        const struct nt_readings readings = nt_readings_nth(number);
        for (size_t i = 0; i < SBX_COUNT(walls); i++) {
            check_row("wall", T_BOX, walls[i].descriptor, walls[i].desired, 0, &readings);
        }
        /* And what a box is given in both halves at its own level it has under every reading. */
        check_row("grant", T_BOX, "O:SYG:SYD:(A;;FA;;;$U)(A;;FA;;;$C)S:(ML;;NW;;;LW)", ALL, ALL,
                  &readings);
        check_row("grant", T_BOX, "O:SYG:SYD:(A;;FR;;;$U)(A;;FR;;;$P)", READ, READ, &readings);
    }
}

/* ---- random lists ------------------------------------------------------------------------------ */

enum { RANDOM_ROUNDS = 40000 };

static void a_random_request_is_answered_as_defined(void)
{
    static struct nt_token token;
    static struct definition definition;
    size_t granted_count = 0;
    uint64_t seed = 1;
    for (size_t i = 0; i < RANDOM_ROUNDS; i++) {
        DWORD desired = definition_random(&definition, &seed);
        const struct nt_readings readings = definition.readings;
        DWORD granted = 1;
        if (!CHECK(definition_token(&definition, &token)) ||
            !CHECK(definition_descriptor(&definition, descriptor, sizeof descriptor) != 0)) {
            return;
        }
        bool is_granted =
            nt_access_check_as(&readings, &token, descriptor, desired, &nt_file_mapping, &granted);
        DWORD want = definition_answer(&definition, desired);
        granted_count += is_granted ? 1U : 0U;
        if (granted != want || is_granted != (want != 0)) {
            char text[NT_SDDL_MAX];
            (void)nt_sddl_print(descriptor, text, sizeof text);
            CHECK_U64(granted, want);
            printf("# round %zu: %s, 0x%lx\n", i, text, (unsigned long)desired);
            return;
        }
    }
    /* The generator makes both answers, or the comparison says little. */
    CHECK(granted_count > RANDOM_ROUNDS / 20);
    CHECK(granted_count < RANDOM_ROUNDS - RANDOM_ROUNDS / 20);
    printf("# %zu of %d random requests granted\n", granted_count, RANDOM_ROUNDS);
}

static void what_a_box_may_its_user_may(void)
{
    static struct nt_token box;
    static struct nt_token user;
    static struct definition definition;
    uint64_t seed = 2;
    size_t granted_count = 0;
    size_t wrong = 0;
    for (size_t i = 0; i < RANDOM_ROUNDS; i++) {
        DWORD desired = definition_random(&definition, &seed);
        DWORD by_box;
        DWORD by_user;
        definition.token.is_lowbox = true;
        definition.token.integrity = 0x1000;
        (void)definition_token(&definition, &box);
        definition.token.is_lowbox = false;
        definition.token.integrity = 0x2000;
        (void)definition_token(&definition, &user);
        (void)definition_descriptor(&definition, descriptor, sizeof descriptor);
        (void)nt_access_check(&box, descriptor, desired, &nt_file_mapping, &by_box);
        (void)nt_access_check(&user, descriptor, desired, &nt_file_mapping, &by_user);
        granted_count += by_box != 0 ? 1U : 0U;
        wrong += (by_box & ~by_user) != 0 ? 1U : 0U;
    }
    CHECK_U64(wrong, 0);
    CHECK(granted_count > RANDOM_ROUNDS / 50);
}

/* ---- bytes that are no descriptor --------------------------------------------------------------- */

static void a_malformed_descriptor_gives_nothing(void)
{
    static const struct {
        size_t offset;
        unsigned char value;
    } damages[] = {
        {0, 2},     /* revision of the descriptor */
        {3, 0},     /* no longer self-relative */
        {4, 1},     /* the owner inside the header */
        {20, 9},    /* revision of the owner */
        {21, 16},   /* too many numbers in the owner */
        {16, 3},    /* the list inside the header */
        {44, 9},    /* revision of the list */
        {46, 4},    /* a list smaller than its header */
        {48, 2},    /* more entries than there are */
        {54, 4},    /* an entry smaller than its mask */
        {54, 0xf0}, /* an entry larger than its list */
        {54, 22},   /* an entry that ends at an odd place */
        {60, 9},    /* revision of the entry's SID */
        {61, 15},   /* a SID larger than its entry */
    };
    static struct nt_token token;
    DWORD granted;
    nt_token_user(&token);
    for (size_t i = 0; i < SBX_COUNT(damages); i++) {
        if (!make_descriptor("O:SYG:SYD:(A;;FA;;;WD)", &token)) return;
        CHECK(nt_access_check(&token, descriptor, READ, &nt_file_mapping, &granted));
        CHECK_U64(nt_descriptor_size(descriptor), 72);
        descriptor[damages[i].offset] = damages[i].value;
        bool is_granted = nt_access_check(&token, descriptor, READ, &nt_file_mapping, &granted);
        if (!CHECK(!is_granted) || !CHECK_U64(granted, 0)) printf("# damage %zu\n", i);
        CHECK_U64(nt_descriptor_size(descriptor), 0);
    }
    CHECK(!nt_access_check(&token, NULL, READ, &nt_file_mapping, &granted));
}

static const struct sbx_test tests[] = {
    {"every row is answered as its rule says", every_row_is_answered_as_its_rule_says},
    {"there are enough rows of both kinds, and of every token",
     there_are_enough_rows_of_both_kinds},
    {"a reading changes what it speaks of", a_reading_changes_what_it_speaks_of},
    {"the check follows the reading that was set", the_check_follows_the_reading_that_was_set},
    {"some walls of a box stand under every reading",
     some_walls_of_a_box_stand_under_every_reading},
    {"a random request is answered as the definition answers it",
     a_random_request_is_answered_as_defined},
    {"what a box may, its user may", what_a_box_may_its_user_may},
    {"a malformed descriptor gives nothing", a_malformed_descriptor_gives_nothing},
};

SBX_TEST_MAIN("simulated_nt_access", tests)
