/* A model of the security half of the NT kernel: SIDs, descriptors, tokens and the access check.
 *
 * It works on bytes as Windows lays them out and calls no function of Windows, so that it can be held against
 * Wine's own implementation, and can answer where Wine has none: AppContainer tokens, integrity levels and
 * restricting SIDs. Each rule in the .c files names where it is documented. */
#ifndef SBX_TESTS_NTMODEL_NT_SECURITY_H
#define SBX_TESTS_NTMODEL_NT_SECURITY_H

#include <stdbool.h>
#include <stddef.h>

#include <windows.h>

#define NT_SID_MAX 68

enum { NT_GROUPS_MAX = 64, NT_PRIVILEGES_MAX = 40, NT_DACL_MAX = 1024 };

/* What a descriptor of the model can hold at most; tests size their buffers by it. */
enum { NT_DESCRIPTOR_MAX = 16384, NT_SDDL_MAX = 16384, NT_SID_TEXT_MAX = 192 };

/* A SID as Windows lays one out. */
struct nt_sid {
    _Alignas(4) unsigned char bytes[NT_SID_MAX];
};

struct nt_group {
    struct nt_sid sid;
    DWORD attributes; /* SE_GROUP_* */
};

struct nt_privilege {
    LUID id;
    DWORD attributes; /* SE_PRIVILEGE_* */
};

/* A token: plain data, copied by assignment. */
struct nt_token {
    struct nt_sid user;
    bool user_deny_only;
    struct nt_sid owner;
    struct nt_sid primary_group;
    struct nt_group groups[NT_GROUPS_MAX];
    size_t group_count;
    struct nt_group restricted[NT_GROUPS_MAX];
    size_t restricted_count;
    bool write_restricted;
    struct nt_privilege privileges[NT_PRIVILEGES_MAX];
    size_t privilege_count;
    DWORD integrity;        /* the RID: 0x1000 low, 0x2000 medium, 0x3000 high */
    DWORD mandatory_policy; /* TOKEN_MANDATORY_POLICY_NO_WRITE_UP ... */
    bool is_appcontainer;
    bool is_lpac;
    struct nt_sid package;
    struct nt_group capabilities[NT_GROUPS_MAX];
    size_t capability_count;
    _Alignas(8) unsigned char default_dacl[NT_DACL_MAX];
    size_t default_dacl_size;
    DWORD session;
    bool is_elevated;
    bool is_primary;
    DWORD impersonation_level;
};

/* ---- the access check ------------------------------------------------------------------------ */

/* Does the self-relative descriptor give `desired` to the token? `granted` gets the granted mask, which is all
 * that could be given when `desired` has MAXIMUM_ALLOWED; 0 when the answer is no. A malformed descriptor gives
 * nothing. */
bool nt_access_check(const struct nt_token *token, const void *descriptor, DWORD desired,
                     const GENERIC_MAPPING *mapping, DWORD *granted);

/* Where published sources disagree or are silent, a test can run under each plausible reading. All false is
 * the reading of the best published source (nt_access.c names it); it is what nt_access_check starts with. */
struct nt_readings {
    bool
        lowbox_obeys_medium_label; /* no-write-up binds a lowbox token to labels up to Medium too */
    bool null_dacl_serves_lowbox;  /* a NULL DACL satisfies the package half */
    bool package_deny_counts; /* deny entries for package and capability SIDs take rights away */
    bool
        low_token_passes_package; /* a Low token without a box may use objects with a package entry */
    bool generic_left_unmapped;   /* generic bits inside entries give and take nothing */
    bool privilege_serves_lowbox; /* what a privilege gives needs no package entry */
};
enum { NT_READINGS_COUNT = 1 << 6 };

/* The reading of that number, 0 (the published one) to NT_READINGS_COUNT - 1: one bit per member. */
struct nt_readings nt_readings_nth(unsigned number);

/* From now on nt_access_check follows this reading; NULL for the published one. */
void nt_readings_set(const struct nt_readings *readings);

bool nt_access_check_as(const struct nt_readings *readings, const struct nt_token *token,
                        const void *descriptor, DWORD desired, const GENERIC_MAPPING *mapping,
                        DWORD *granted);

/* Is the SID of the user or of a group in force in the token? With `for_deny`, groups that count only for
 * deny entries are in force too. */
bool nt_token_has_sid(const struct nt_token *token, const void *sid, bool for_deny);
/* Is the privilege (its number, SE_SECURITY_PRIVILEGE is 8) held and enabled? */
bool nt_token_has_privilege(const struct nt_token *token, DWORD privilege);

/* GENERIC_* bits replaced by what the mapping makes of them. */
DWORD nt_map_generic(DWORD mask, const GENERIC_MAPPING *mapping);
extern const GENERIC_MAPPING nt_file_mapping;

/* ---- descriptors ----------------------------------------------------------------------------- */

/* The descriptor of a new object (MS-DTYP 2.5.3.4). `parent` and `creator` may be NULL. The result is
 * self-relative in `out`; the answer is its size, or 0 when it does not fit, is malformed, or asks for an owner
 * or a label that the token may not set. */
size_t nt_descriptor_new(const struct nt_token *token, const void *parent, const void *creator,
                         bool is_container, const GENERIC_MAPPING *mapping, void *out, size_t max);

/* The size in bytes of a self-relative descriptor; 0 when it is malformed. */
size_t nt_descriptor_size(const void *descriptor);

/* A descriptor from a short text in Microsoft's SDDL, and back. Known: O: G: D: S:; flags P AI AR and
 * NO_ACCESS_CONTROL; entries A D AU ML, OA and OD without GUIDs; the usual rights and SID aliases, S-1-...
 * texts and 0x masks. `names` gives texts of the caller ("$U") SIDs. Both return the size (of the text
 * without its NUL), or 0. */
struct nt_sddl_name {
    const char *name;
    struct nt_sid sid;
};
size_t nt_sddl_parse(const char *text, void *out, size_t max);
size_t nt_sddl_parse_names(const char *text, const struct nt_sddl_name *names, size_t name_count,
                           void *out, size_t max);
size_t nt_sddl_print(const void *descriptor, char *out, size_t max);

/* ---- tokens ---------------------------------------------------------------------------------- */

/* A new token as CreateRestrictedToken makes it. False for what it refuses with code 87. */
bool nt_token_restrict(const struct nt_token *from, DWORD flags, const SID_AND_ATTRIBUTES *disable,
                       DWORD disable_count, const LUID_AND_ATTRIBUTES *del, DWORD del_count,
                       const SID_AND_ATTRIBUTES *restricting, DWORD restricting_count,
                       struct nt_token *out);

/* The token that a process created with SECURITY_CAPABILITIES gets. Its integrity is Low. */
bool nt_token_lowbox(const struct nt_token *from, PSID package,
                     const SID_AND_ATTRIBUTES *capabilities, DWORD count, bool is_lpac,
                     struct nt_token *out);

/* An ordinary user (medium), an elevated administrator (high) and SYSTEM. */
void nt_token_user(struct nt_token *out);
void nt_token_admin(struct nt_token *out);
void nt_token_system(struct nt_token *out);

/* ---- SIDs ------------------------------------------------------------------------------------ */

/* The size in bytes, 8 to NT_SID_MAX; 0 when it is no SID. */
size_t nt_sid_size(const void *sid);
bool nt_sid_equal(const void *a, const void *b);
/* False, and `out` untouched, when it is no SID. */
bool nt_sid_copy(const void *sid, struct nt_sid *out);
/* "S-1-5-32-544", both ways; print returns the length, or 0. */
bool nt_sid_parse(const char *text, struct nt_sid *out);
size_t nt_sid_print(const void *sid, char *out, size_t max);
/* The SID of one package, S-1-15-2-... with seven further numbers (eleven for a child); not the two that
 * stand for all packages. */
bool nt_sid_is_package(const void *sid);
bool nt_sid_is_capability(const void *sid); /* S-1-15-3-... */

#endif
