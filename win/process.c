/* One suspended process, born into a job, with the streams it is given and no other handle. */
#include "win/process.h"

#include "win/fault.h"
#include "win/handle.h"

#include "common/base/banned.h"

enum { ATTRIBUTES_MAX = 5 };

/* What C runtimes pass on in a field that Windows leaves to them: how many, a byte of flags for each, the handles. The
 * first three stay the standard ones. */
#pragma pack(push, 1)
struct descriptors {
    DWORD count;
    BYTE flags[4];
    HANDLE handles[4];
};
#pragma pack(pop)
enum { DESCRIPTOR_IS_OPEN = 0x01, DESCRIPTOR_IS_PIPE = 0x08 };

/* Everything that the list of attributes points to: it must live as long as the list. */
struct birth {
    const struct sbx_process_plan *plan;
    HANDLE stream[4]; /* inheritable copies; NULL where there is none */
    HANDLE listed[4]; /* the same without gaps */
    DWORD count;
    HANDLE job[1];
    bool is_job_late;
    SECURITY_CAPABILITIES security;
    DWORD64 mitigations;
    const char *failed; /* the call that did */
    struct descriptors descriptors;
    LPPROC_THREAD_ATTRIBUTE_LIST list;
    _Alignas(16) unsigned char room[1024];
};

/* Copies, so that ours stay non-inheritable and equal ones (2>&1) become different: the list must
 * not name a handle twice. */
static bool copy_streams(struct birth *birth)
{
    HANDLE self = sbx_win()->GetCurrentProcess();
    for (size_t i = 0; i < SBX_COUNT(birth->stream); i++) {
        HANDLE given = i < 3 ? birth->plan->stream[i] : birth->plan->extra;
        if (!sbx_handle_is_open(given)) {
            continue;
        }
        if (!sbx_win()->DuplicateHandle(self, given, self, &birth->stream[i], 0, TRUE,
                                        DUPLICATE_SAME_ACCESS)) {
            birth->failed = "DuplicateHandle";
            return false;
        }
        birth->listed[birth->count++] = birth->stream[i];
    }
    return true;
}

static bool put(struct birth *birth, DWORD_PTR attribute, void *value, size_t size)
{
    birth->failed = "UpdateProcThreadAttribute";
    return sbx_win()->UpdateProcThreadAttribute(birth->list, 0, attribute, value, size, NULL, NULL);
}

/* A Windows without job lists gets the process into the job while it is suspended. */
static bool put_job(struct birth *birth)
{
    birth->job[0] = birth->plan->job;
    if (put(birth, PROC_THREAD_ATTRIBUTE_JOB_LIST, birth->job, sizeof birth->job)) {
        return true;
    }
    birth->is_job_late = GetLastError() == ERROR_NOT_SUPPORTED;
    return birth->is_job_late;
}

/* One of these refused and left out would mean a process without walls: any failure ends it here. */
static bool put_container(struct birth *birth, const struct sbx_container *container)
{
    birth->security = (SECURITY_CAPABILITIES){
        .AppContainerSid = container->package,
        .Capabilities = container->capabilities,
        .CapabilityCount = container->capability_count,
    };
    birth->mitigations = container->mitigations;
    return put(birth, PROC_THREAD_ATTRIBUTE_SECURITY_CAPABILITIES, &birth->security,
               sizeof birth->security) &&
           put(birth, PROC_THREAD_ATTRIBUTE_MITIGATION_POLICY, &birth->mitigations,
               sizeof birth->mitigations) &&
           (container->console == NULL || put(birth, PROC_THREAD_ATTRIBUTE_PSEUDOCONSOLE,
                                              container->console, sizeof container->console));
}

static bool make_list(struct birth *birth)
{
    const struct sbx_container *container = birth->plan->container;
    SIZE_T size = sizeof birth->room;
    LPPROC_THREAD_ATTRIBUTE_LIST list = (void *)birth->room;
    birth->failed = "InitializeProcThreadAttributeList";
    if (!sbx_win()->InitializeProcThreadAttributeList(list, ATTRIBUTES_MAX, 0, &size)) {
        return false;
    }
    birth->list = list;
    return put_job(birth) &&
           (birth->count == 0 || put(birth, PROC_THREAD_ATTRIBUTE_HANDLE_LIST, birth->listed,
                                     birth->count * sizeof birth->listed[0])) &&
           (container == NULL || put_container(birth, container));
}

static void release(struct birth *birth)
{
    DWORD saved = GetLastError();
    if (birth->list != NULL) {
        sbx_win()->DeleteProcThreadAttributeList(birth->list);
    }
    for (size_t i = 0; i < SBX_COUNT(birth->stream); i++) {
        sbx_handle_close(&birth->stream[i]);
    }
    SetLastError(saved);
}

static bool create(struct birth *birth, PROCESS_INFORMATION *out)
{
    const struct sbx_process_plan *plan = birth->plan;
    const struct sbx_container *container = plan->container;
    STARTUPINFOEXW info = {
        .StartupInfo.cb = sizeof info,
        .StartupInfo.dwFlags = STARTF_USESTDHANDLES,
        .StartupInfo.hStdInput = birth->stream[0],
        .StartupInfo.hStdOutput = birth->stream[1],
        .StartupInfo.hStdError = birth->stream[2],
        .lpAttributeList = birth->list,
    };
    DWORD flags = CREATE_SUSPENDED | CREATE_UNICODE_ENVIRONMENT | EXTENDED_STARTUPINFO_PRESENT;
    /* Without a list, inheritance would mean everything: then nothing is inherited. */
    BOOL inherits = birth->count > 0;
    if (birth->stream[3] != NULL) {
        birth->descriptors =
            (struct descriptors){.count = 4,
                                 .flags = {0, 0, 0, DESCRIPTOR_IS_OPEN | DESCRIPTOR_IS_PIPE},
                                 .handles = {INVALID_HANDLE_VALUE, INVALID_HANDLE_VALUE,
                                             INVALID_HANDLE_VALUE, birth->stream[3]}};
        info.StartupInfo.cbReserved2 = sizeof birth->descriptors;
        info.StartupInfo.lpReserved2 = (BYTE *)&birth->descriptors;
    }
    flags |= plan->is_hidden ? CREATE_NO_WINDOW : 0;
    if (container == NULL && plan->token != NULL) {
        info.StartupInfo.lpDesktop = (LPWSTR)(ULONG_PTR)plan->desktop; /* only read */
        birth->failed = "CreateProcessAsUserW";
        return sbx_win()->CreateProcessAsUserW(
            plan->token, plan->program, plan->command_line, NULL, NULL, inherits,
            flags | CREATE_NO_WINDOW, plan->environment, plan->directory, &info.StartupInfo, out);
    }
    if (container == NULL) {
        birth->failed = "CreateProcessW";
        return sbx_win()->CreateProcessW(plan->program, plan->command_line, NULL, NULL, inherits,
                                         flags, plan->environment, plan->directory,
                                         &info.StartupInfo, out);
    }
    info.StartupInfo.lpDesktop = (LPWSTR)(ULONG_PTR)container->desktop; /* only read */
    flags |= container->console == NULL ? CREATE_NO_WINDOW : 0;
    birth->failed = "CreateProcessAsUserW";
    return sbx_win()->CreateProcessAsUserW(container->token, plan->program, plan->command_line,
                                           NULL, NULL, inherits, flags, plan->environment,
                                           plan->directory, &info.StartupInfo, out);
}

/* Still suspended, so it cannot have made children. Ended by its own handle: it is in no job. */
static bool join_job(struct birth *birth, const PROCESS_INFORMATION *born)
{
    birth->failed = "AssignProcessToJobObject";
    if (!birth->is_job_late ||
        sbx_win()->AssignProcessToJobObject(birth->plan->job, born->hProcess)) {
        return true;
    }
    DWORD saved = GetLastError();
    HANDLE process = born->hProcess;
    HANDLE thread = born->hThread;
    (void)sbx_win()->TerminateProcess(process, 1);
    (void)sbx_win()->WaitForSingleObject(process, 5000);
    sbx_handle_close(&thread);
    sbx_handle_close(&process);
    SetLastError(saved);
    return false;
}

enum sbx_code sbx_process_create(const struct sbx_process_plan *plan, struct sbx_process *out,
                                 struct sbx_err *err)
{
    struct birth birth = {.plan = plan};
    PROCESS_INFORMATION born = {0};
    bool is_born = copy_streams(&birth) && make_list(&birth) && create(&birth, &born) &&
                   join_job(&birth, &born);
    DWORD raw = GetLastError();
    release(&birth);
    if (!is_born) {
        return sbx_err_win32(err, raw, birth.failed, "cannot start the program");
    }
    *out = (struct sbx_process){born.hProcess, born.hThread, birth.is_job_late};
    return SBX_OK;
}
