/* The access check a second time, from its definition and right by right, on plain structures instead of bytes:
 * "a right is given by a list to somebody when the first entry that speaks of both allows it". The tests compare
 * the model with it on random input. */
#ifndef SBX_TESTS_UNIT_NT_ACCESS_DEFINITION_H
#define SBX_TESTS_UNIT_NT_ACCESS_DEFINITION_H

#include <stdint.h>

#include "tests/ntmodel/nt_security.h"

enum definition_sid {
    D_USER,
    D_OTHER,
    D_GROUP_A,
    D_GROUP_B,
    D_EVERYONE,
    D_OWNER_RIGHTS,
    D_RESTRICTING,
    D_PACKAGE,
    D_OTHER_PACKAGE,
    D_ALL_PACKAGES,
    D_ALL_RESTRICTED,
    D_CAPABILITY,
    D_CAPABILITY_OFF,
    D_SID_COUNT
};

enum definition_state { D_ABSENT, D_ON, D_FOR_DENY, D_OFF };

enum { DEFINITION_ENTRIES = 6 };

struct definition {
    struct {
        enum definition_state
            groups[D_OWNER_RIGHTS]; /* of the first SIDs; the user is never absent */
        bool is_restricting[D_RESTRICTING + 1];
        bool is_restricted;
        bool is_write_restricted;
        bool is_lowbox;
        bool is_lpac;
        bool has_security;
        bool has_take_ownership;
        bool has_relabel;
        bool has_policy;
        DWORD integrity;
    } token;
    struct {
        bool is_deny;
        bool is_for_heirs;
        enum definition_sid sid;
        DWORD mask;
    } entries[DEFINITION_ENTRIES];
    size_t entry_count;
    bool is_null;
    enum definition_sid owner;
    bool has_label;
    DWORD label;
    DWORD label_policy;
    struct nt_readings readings;
};

/* Fills it at random and returns a request. */
DWORD definition_random(struct definition *out, uint64_t *seed);
bool definition_token(const struct definition *definition, struct nt_token *out);
size_t definition_descriptor(const struct definition *definition, void *out, size_t max);
/* What is granted; 0 for a refusal. */
DWORD definition_answer(const struct definition *definition, DWORD desired);

#endif
