/* Process mitigations: what a boxed process cannot switch back on. */
#include "win/mitigation.h"

#include "common/base/banned.h"

#define SET(name) ((DWORD64)PROCESS_CREATION_MITIGATION_POLICY_##name##_ALWAYS_ON)

/* The first bits of a policy are what GetProcessMitigationPolicy tells as flags. */
struct row {
    const char *what;
    DWORD64 creation;
    PROCESS_MITIGATION_POLICY policy;
    DWORD flags; /* that must be on */
    bool is_strict;
};

/* Not here, with the reason: PREFER_SYSTEM32 and NO_LOW_LABEL images (MinGW and MSYS programs bring DLLs of
 * their own, and what a box writes is Low), WIN32K_SYSTEM_CALL_DISABLE (every program that links user32
 * dies with 0xC0000142), PROHIBIT_DYNAMIC_CODE and MS-signed images only (node, java, .NET and every
 * compiler output). */
static const struct row rows[] = {
    /* No DLL by AppInit, IME or window hook. */
    {"mitigation.extension-points", SET(EXTENSION_POINT_DISABLE),
     ProcessExtensionPointDisablePolicy, 1, false},
    /* Fonts are parsed in the kernel on older builds. */
    {"mitigation.fonts", SET(FONT_DISABLE), ProcessFontDisablePolicy, 1, false},
    /* No code from a share. */
    {"mitigation.images", SET(IMAGE_LOAD_NO_REMOTE), ProcessImageLoadPolicy, 1, false},
    /* A wrong handle is an exception, not a guess. */
    {"mitigation.handles", SET(STRICT_HANDLE_CHECKS), ProcessStrictHandleCheckPolicy, 1, true},
    {"mitigation.addresses", SET(BOTTOM_UP_ASLR) | SET(HIGH_ENTROPY_ASLR), ProcessASLRPolicy, 1 | 4,
     true},
};

DWORD64 sbx_mitigation_policy(bool is_strict)
{
    DWORD64 policy = 0;
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        policy |= rows[i].is_strict && !is_strict ? 0 : rows[i].creation;
    }
    return policy;
}

void sbx_mitigation_prove(struct sbx_evidence_list *list, HANDLE process, bool is_strict)
{
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        DWORD flags = 0;
        if (rows[i].is_strict && !is_strict) {
            continue;
        }
        bool is_read =
            sbx_win()->GetProcessMitigationPolicy != NULL &&
            sbx_win()->GetProcessMitigationPolicy(process, rows[i].policy, &flags, sizeof flags);
        bool is_on = is_read && (flags & rows[i].flags) == rows[i].flags;
        sbx_evidence_add(list, rows[i].what, "on",
                         is_on     ? "on"
                         : is_read ? "off"
                                   : "unreadable",
                         is_on);
    }
}
