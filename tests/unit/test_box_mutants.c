/* Mutation test: a pipeline that does one thing wrong must be caught, by its own verification or by an open wall that
 * the fence questions show. Each mutant changes one call on its way to the model of NT. */
#include <stdio.h>
#include <string.h>

#include "tests/check.h"
#include "tests/unit/box_asks.h"
#include "win/sid.h"

/* The table that the pipeline sees: the model's, with the slots of the mutant replaced. */
static struct sbx_winapi table;
static const struct sbx_winapi *model;

const struct sbx_winapi *sbx_win(void)
{
    return &table;
}

/* ---- tokens ------------------------------------------------------------------------------------- */

static BOOL WINAPI restricts_no_group(HANDLE token, DWORD flags, DWORD count,
                                      PSID_AND_ATTRIBUTES disabled, DWORD deleted_count,
                                      PLUID_AND_ATTRIBUTES deleted, DWORD restricted_count,
                                      PSID_AND_ATTRIBUTES restricted, PHANDLE out)
{
    (void)count;
    (void)disabled;
    return model->CreateRestrictedToken(token, flags, 0, NULL, deleted_count, deleted,
                                        restricted_count, restricted, out);
}

static BOOL WINAPI keeps_privileges(HANDLE token, DWORD flags, DWORD count,
                                    PSID_AND_ATTRIBUTES disabled, DWORD deleted_count,
                                    PLUID_AND_ATTRIBUTES deleted, DWORD restricted_count,
                                    PSID_AND_ATTRIBUTES restricted, PHANDLE out)
{
    (void)flags;
    return model->CreateRestrictedToken(token, 0, count, disabled, deleted_count, deleted,
                                        restricted_count, restricted, out);
}

static BOOL WINAPI sets_nothing(HANDLE token, TOKEN_INFORMATION_CLASS which, LPVOID value,
                                DWORD size)
{
    (void)token;
    (void)which;
    (void)value;
    (void)size;
    return TRUE;
}

/* ---- the attributes of the process -------------------------------------------------------------- */

static DWORD_PTR dropped;

static BOOL WINAPI drops_attribute(LPPROC_THREAD_ATTRIBUTE_LIST list, DWORD flags,
                                   DWORD_PTR attribute, PVOID value, SIZE_T size, PVOID previous,
                                   PSIZE_T returned)
{
    return attribute == dropped || model->UpdateProcThreadAttribute(list, flags, attribute, value,
                                                                    size, previous, returned);
}

static SID_AND_ATTRIBUTES more[64];
static SECURITY_CAPABILITIES changed;

static BOOL WINAPI adds_capability(LPPROC_THREAD_ATTRIBUTE_LIST list, DWORD flags,
                                   DWORD_PTR attribute, PVOID value, SIZE_T size, PVOID previous,
                                   PSIZE_T returned)
{
    if (attribute == PROC_THREAD_ATTRIBUTE_SECURITY_CAPABILITIES) {
        changed = *(SECURITY_CAPABILITIES *)value;
        memcpy(more, changed.Capabilities, changed.CapabilityCount * sizeof more[0]);
        more[changed.CapabilityCount].Sid = sbx_sid_known(SBX_SID_INTERNET_CLIENT);
        more[changed.CapabilityCount++].Attributes = SE_GROUP_ENABLED;
        changed.Capabilities = more;
        value = &changed;
    }
    return model->UpdateProcThreadAttribute(list, flags, attribute, value, size, previous,
                                            returned);
}

static BOOL WINAPI takes_another_package(LPPROC_THREAD_ATTRIBUTE_LIST list, DWORD flags,
                                         DWORD_PTR attribute, PVOID value, SIZE_T size,
                                         PVOID previous, PSIZE_T returned)
{
    static struct sbx_sid other;
    if (attribute == PROC_THREAD_ATTRIBUTE_SECURITY_CAPABILITIES) {
        changed = *(SECURITY_CAPABILITIES *)value;
        (void)sbx_sid_parse("S-1-15-2-1-2-3-4-5-6-7", &other);
        changed.AppContainerSid = (PSID)other.bytes;
        value = &changed;
    }
    return model->UpdateProcThreadAttribute(list, flags, attribute, value, size, previous,
                                            returned);
}

/* ---- the process -------------------------------------------------------------------------------- */

static DWORD flags_off;

static BOOL WINAPI creates_otherwise(HANDLE token, LPCWSTR program, LPWSTR line,
                                     LPSECURITY_ATTRIBUTES process, LPSECURITY_ATTRIBUTES thread,
                                     BOOL inherit, DWORD flags, LPVOID environment,
                                     LPCWSTR directory, LPSTARTUPINFOW info,
                                     LPPROCESS_INFORMATION out)
{
    return model->CreateProcessAsUserW(token, program, line, process, thread, inherit,
                                       flags & ~flags_off, environment, directory, info, out);
}

static BOOL WINAPI creates_with_own_token(HANDLE token, LPCWSTR program, LPWSTR line,
                                          LPSECURITY_ATTRIBUTES process,
                                          LPSECURITY_ATTRIBUTES thread, BOOL inherit, DWORD flags,
                                          LPVOID environment, LPCWSTR directory,
                                          LPSTARTUPINFOW info, LPPROCESS_INFORMATION out)
{
    (void)token;
    return model->CreateProcessW(program, line, process, thread, inherit, flags, environment,
                                 directory, info, out);
}

static BOOL WINAPI creates_another_program(HANDLE token, LPCWSTR program, LPWSTR line,
                                           LPSECURITY_ATTRIBUTES process,
                                           LPSECURITY_ATTRIBUTES thread, BOOL inherit, DWORD flags,
                                           LPVOID environment, LPCWSTR directory,
                                           LPSTARTUPINFOW info, LPPROCESS_INFORMATION out)
{
    (void)program;
    return model->CreateProcessAsUserW(token, L"C:\\Windows\\System32\\where.exe", line, process,
                                       thread, inherit, flags, environment, directory, info, out);
}

/* ---- jobs --------------------------------------------------------------------------------------- */

static DWORD limits_off, limits_on, ui_off;

static BOOL WINAPI limits_otherwise(HANDLE job, JOBOBJECTINFOCLASS which, LPVOID value, DWORD size)
{
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION info;
    JOBOBJECT_BASIC_UI_RESTRICTIONS ui;
    if (which == JobObjectExtendedLimitInformation) {
        info = *(JOBOBJECT_EXTENDED_LIMIT_INFORMATION *)value;
        info.BasicLimitInformation.LimitFlags &= ~limits_off;
        info.BasicLimitInformation.LimitFlags |= limits_on;
        value = &info;
    }
    if (which == JobObjectBasicUIRestrictions) {
        ui.UIRestrictionsClass =
            ((JOBOBJECT_BASIC_UI_RESTRICTIONS *)value)->UIRestrictionsClass & ~ui_off;
        value = &ui;
    }
    return model->SetInformationJobObject(job, which, value, size);
}

/* ---- access lists ------------------------------------------------------------------------------- */

/* What happens to each entry for one of our capabilities. */
static void (*change_entry)(ACCESS_ALLOWED_ACE *ace);

static void widens_mask(ACCESS_ALLOWED_ACE *ace)
{
    ace->Mask |= FILE_GENERIC_WRITE | DELETE | FILE_DELETE_CHILD;
}

static void gives_everything(ACCESS_ALLOWED_ACE *ace)
{
    ace->Mask |= FILE_ALL_ACCESS;
}

static void drops_refusal(ACCESS_ALLOWED_ACE *ace)
{
    if (ace->Header.AceType == ACCESS_DENIED_ACE_TYPE) {
        ace->Header.AceType = ACCESS_ALLOWED_ACE_TYPE;
    }
}

static void gives_nothing(ACCESS_ALLOWED_ACE *ace)
{
    ace->Mask = SYNCHRONIZE;
}

static bool is_capability(PSID sid)
{
    const BYTE *bytes = (const BYTE *)sid;
    return bytes[1] >= 2 && bytes[7] == 15 && bytes[8] == 3;
}

static BOOL WINAPI writes_otherwise(HANDLE object, SECURITY_INFORMATION which,
                                    PSECURITY_DESCRIPTOR descriptor)
{
    static _Alignas(8) BYTE room[65536];
    BOOL has_list = FALSE;
    BOOL is_default = FALSE;
    PACL list = NULL;
    SECURITY_DESCRIPTOR other;
    SECURITY_DESCRIPTOR_CONTROL control = 0;
    DWORD revision = 0;
    if ((which & DACL_SECURITY_INFORMATION) == 0 ||
        !GetSecurityDescriptorDacl(descriptor, &has_list, &list, &is_default) || list == NULL) {
        return model->SetKernelObjectSecurity(object, which, descriptor);
    }
    memcpy(room, list, list->AclSize);
    list = (PACL)room;
    for (DWORD i = 0; i < list->AceCount; i++) {
        void *ace;
        if (GetAce(list, i, &ace) && is_capability(&((ACCESS_ALLOWED_ACE *)ace)->SidStart)) {
            change_entry(ace);
        }
    }
    (void)InitializeSecurityDescriptor(&other, SECURITY_DESCRIPTOR_REVISION);
    (void)SetSecurityDescriptorDacl(&other, TRUE, list, FALSE);
    (void)GetSecurityDescriptorControl(descriptor, &control, &revision);
    control &= SE_DACL_PROTECTED | SE_DACL_AUTO_INHERITED | SE_DACL_AUTO_INHERIT_REQ;
    (void)SetSecurityDescriptorControl(
        &other, SE_DACL_PROTECTED | SE_DACL_AUTO_INHERITED | SE_DACL_AUTO_INHERIT_REQ, control);
    return model->SetKernelObjectSecurity(object, which, &other);
}

/* The same, and the read-back tells what was meant to be written: only the walls can show it. */
static BOOL WINAPI writes_nothing(HANDLE object, SECURITY_INFORMATION which,
                                  PSECURITY_DESCRIPTOR descriptor)
{
    (void)object;
    (void)which;
    (void)descriptor;
    return TRUE;
}

/* ---- the mutants -------------------------------------------------------------------------------- */

#define SLOT(name, with) table.name = (with)

static void no_groups(void)
{
    SLOT(CreateRestrictedToken, restricts_no_group);
}
static void privileges(void)
{
    SLOT(CreateRestrictedToken, keeps_privileges);
}
static void no_label(void)
{
    SLOT(SetTokenInformation, sets_nothing);
}
static void drop(DWORD_PTR attribute)
{
    dropped = attribute;
    SLOT(UpdateProcThreadAttribute, drops_attribute);
}
static void no_container(void)
{
    drop(PROC_THREAD_ATTRIBUTE_SECURITY_CAPABILITIES);
}
static void no_job_list(void)
{
    drop(PROC_THREAD_ATTRIBUTE_JOB_LIST);
}
static void no_handle_list(void)
{
    drop(PROC_THREAD_ATTRIBUTE_HANDLE_LIST);
}
static void no_mitigations(void)
{
    drop(PROC_THREAD_ATTRIBUTE_MITIGATION_POLICY);
}
static void one_more_capability(void)
{
    SLOT(UpdateProcThreadAttribute, adds_capability);
}
static void another_package(void)
{
    SLOT(UpdateProcThreadAttribute, takes_another_package);
}
static void not_suspended(void)
{
    flags_off = CREATE_SUSPENDED;
    SLOT(CreateProcessAsUserW, creates_otherwise);
}
static void own_token(void)
{
    SLOT(CreateProcessAsUserW, creates_with_own_token);
}
static void another_program(void)
{
    SLOT(CreateProcessAsUserW, creates_another_program);
}
static void limits(DWORD off, DWORD on, DWORD ui)
{
    limits_off = off;
    limits_on = on;
    ui_off = ui;
    SLOT(SetInformationJobObject, limits_otherwise);
}
static void survives(void)
{
    limits(JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE, 0, 0);
}
static void breakaway(void)
{
    limits(0, JOB_OBJECT_LIMIT_BREAKAWAY_OK, 0);
}
static void silent_breakaway(void)
{
    limits(0, JOB_OBJECT_LIMIT_SILENT_BREAKAWAY_OK, 0);
}
static void no_process_limit(void)
{
    limits(JOB_OBJECT_LIMIT_ACTIVE_PROCESS, 0, 0);
}
static void no_memory_limit(void)
{
    limits(JOB_OBJECT_LIMIT_JOB_MEMORY | JOB_OBJECT_LIMIT_PROCESS_MEMORY, 0, 0);
}
static void clipboard_open(void)
{
    limits(0, 0, JOB_OBJECT_UILIMIT_READCLIPBOARD);
}
static void entries(void (*change)(ACCESS_ALLOWED_ACE *ace))
{
    change_entry = change;
    SLOT(SetKernelObjectSecurity, writes_otherwise);
}
static void wide_masks(void)
{
    entries(widens_mask);
}
static void full_masks(void)
{
    entries(gives_everything);
}
static void no_refusals(void)
{
    entries(drops_refusal);
}
static void empty_masks(void)
{
    entries(gives_nothing);
}
static void no_entries(void)
{
    SLOT(SetKernelObjectSecurity, writes_nothing);
}

static const struct {
    const char *name;
    void (*apply)(void);
} mutants[] = {
    {"administrator groups stay enabled", no_groups},
    {"privileges stay", privileges},
    {"the integrity level is not set", no_label},
    {"the process is in no container", no_container},
    {"the process is in no job", no_job_list},
    {"every inheritable handle is inherited", no_handle_list},
    {"there are no mitigations", no_mitigations},
    {"there is one more capability", one_more_capability},
    {"the container is another one", another_package},
    {"the process is not suspended", not_suspended},
    {"the process has the caller's own token", own_token},
    {"the program is another one", another_program},
    {"the tree survives sbx", survives},
    {"processes may leave the job", breakaway},
    {"processes leave the job silently", silent_breakaway},
    {"processes are not counted", no_process_limit},
    {"memory is not limited", no_memory_limit},
    {"the clipboard can be read", clipboard_open},
    {"entries give writing", wide_masks},
    {"entries give everything", full_masks},
    {"refusals are permissions", no_refusals},
    {"entries give nothing", empty_masks},
    {"entries are not written", no_entries},
};

/* ---- the test ----------------------------------------------------------------------------------- */

static void reset(void)
{
    model = nt_model_table();
    table = *model;
}

/* An elevated caller: only then are there groups and privileges to take away. */
static const struct nt_world world = {.is_elevated = true, .time_scale = 10};

static bool is_caught(const char **how)
{
    *how = "not at all";
    for (size_t i = 0; i < ask_class_count; i++) {
        struct ask_result result;
        boxed_try(&world, ask_classes[i].toml, ask_classes[i].asks, ask_classes[i].count, &result);
        if (!result.has_run || result.open + result.closed > 0) {
            *how = !result.has_run   ? "refused"
                   : result.open > 0 ? "an open wall"
                                     : "a closed grant";
            return true;
        }
    }
    return false;
}

static void every_mutant_is_caught(void)
{
    size_t caught = 0;
    for (size_t i = 0; i < SBX_COUNT(mutants); i++) {
        const char *how;
        reset();
        mutants[i].apply();
        bool is = is_caught(&how);
        printf("# %s: %s\n", mutants[i].name, how);
        CHECK(is);
        caught += is ? 1 : 0;
    }
    printf("# mutants: %zu of %zu caught\n", caught, SBX_COUNT(mutants));
}

static void an_unchanged_pipeline_is_not_caught(void)
{
    const char *how;
    reset();
    CHECK(!is_caught(&how));
}

static const struct sbx_test tests[] = {
    {"simulated: an unchanged pipeline is not caught", an_unchanged_pipeline_is_not_caught},
    {"simulated: every mutant of the pipeline is caught", every_mutant_is_caught},
};
SBX_TEST_MAIN("simulated_box_mutants", tests)
