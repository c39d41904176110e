/* Every call of the Windows pipeline, as one table of rows: SBX_WINAPI_CALLS(X) expands
 * X(DLL, NEED, TELLS, TYPE, NAME, (PARAMETERS), (ARGUMENTS)) once per call.
 *
 * NEED: ALWAYS the DLL and the export are in every Windows that sbx supports and are linked;
 *       BOX    looked up at run time; without it there is no box, and the probe says which is missing;
 *       MAYBE  looked up at run time; one feature is missing without it (the slot is NULL then).
 * TELLS: how the call says that it failed, so that tests can let each one fail:
 *       TRUTH FALSE, OBJECT NULL, FILED INVALID_HANDLE_VALUE, COUNT 0, WAITED WAIT_FAILED and MINUS (DWORD)-1,
 *       each with the last error; CODE a Win32 code, RESULT an HRESULT, STATUS an NTSTATUS; SURE never fails. */
#ifndef SBX_WIN_WINAPI_CALLS_H
#define SBX_WIN_WINAPI_CALLS_H

/* clang-format off */
#define SBX_WINAPI_HANDLES(X) \
  X(kernel32, ALWAYS, TRUTH,  BOOL,   CloseHandle, (HANDLE handle), (handle)) \
  X(kernel32, ALWAYS, TRUTH,  BOOL,   DuplicateHandle, (HANDLE from, HANDLE handle, HANDLE to, LPHANDLE out, DWORD access, BOOL inherit, DWORD options), (from, handle, to, out, access, inherit, options)) \
  X(kernel32, ALWAYS, TRUTH,  BOOL,   SetHandleInformation, (HANDLE handle, DWORD mask, DWORD flags), (handle, mask, flags)) \
  X(kernel32, ALWAYS, TRUTH,  BOOL,   GetHandleInformation, (HANDLE handle, LPDWORD flags), (handle, flags)) \
  X(kernelbase, MAYBE, TRUTH, BOOL,   CompareObjectHandles, (HANDLE a, HANDLE b), (a, b)) \
  X(kernel32, ALWAYS, SURE,   DWORD,  GetFileType, (HANDLE handle), (handle)) \
  X(kernel32, ALWAYS, FILED,  HANDLE, GetStdHandle, (DWORD which), (which)) \
  X(kernel32, ALWAYS, OBJECT, HANDLE, CreateEventW, (LPSECURITY_ATTRIBUTES security, BOOL manual, BOOL set, LPCWSTR name), (security, manual, set, name)) \
  X(kernel32, ALWAYS, TRUTH,  BOOL,   SetEvent, (HANDLE event), (event)) \
  X(kernel32, ALWAYS, TRUTH,  BOOL,   ResetEvent, (HANDLE event), (event)) \
  X(kernel32, ALWAYS, OBJECT, HANDLE, CreateMutexW, (LPSECURITY_ATTRIBUTES security, BOOL owned, LPCWSTR name), (security, owned, name)) \
  X(kernel32, ALWAYS, TRUTH,  BOOL,   ReleaseMutex, (HANDLE mutex), (mutex)) \
  X(kernel32, ALWAYS, WAITED, DWORD,  WaitForSingleObject, (HANDLE handle, DWORD ms), (handle, ms)) \
  X(kernel32, ALWAYS, WAITED, DWORD,  WaitForMultipleObjects, (DWORD count, const HANDLE *handles, BOOL all, DWORD ms), (count, handles, all, ms)) \
  X(kernel32, ALWAYS, OBJECT, HANDLE, CreateThread, (LPSECURITY_ATTRIBUTES security, SIZE_T stack, LPTHREAD_START_ROUTINE start, LPVOID argument, DWORD flags, LPDWORD id), (security, stack, start, argument, flags, id)) \
  X(kernel32, ALWAYS, SURE,   void,   Sleep, (DWORD ms), (ms)) \
  X(kernel32, ALWAYS, SURE,   void,   GetSystemTimeAsFileTime, (LPFILETIME out), (out)) \
  X(advapi32, ALWAYS, TRUTH,  BOOLEAN, SystemFunction036, (PVOID out, ULONG size), (out, size)) \
  X(kernel32, ALWAYS, SURE,   ULONGLONG, GetTickCount64, (void), ())

#define SBX_WINAPI_PROCESSES(X) \
  X(kernel32, ALWAYS, SURE,   HANDLE, GetCurrentProcess, (void), ()) \
  X(kernel32, ALWAYS, SURE,   DWORD,  GetCurrentProcessId, (void), ()) \
  X(kernel32, ALWAYS, TRUTH,  BOOL,   ProcessIdToSessionId, (DWORD id, DWORD *session), (id, session)) \
  X(kernel32, ALWAYS, OBJECT, HANDLE, OpenProcess, (DWORD access, BOOL inherit, DWORD id), (access, inherit, id)) \
  X(kernel32, ALWAYS, COUNT,  DWORD,  GetProcessId, (HANDLE process), (process)) \
  X(kernel32, ALWAYS, TRUTH,  BOOL,   GetProcessTimes, (HANDLE process, LPFILETIME created, LPFILETIME ended, LPFILETIME kernel, LPFILETIME user), (process, created, ended, kernel, user)) \
  X(kernel32, ALWAYS, TRUTH,  BOOL,   QueryFullProcessImageNameW, (HANDLE process, DWORD flags, LPWSTR name, PDWORD size), (process, flags, name, size)) \
  X(kernel32, ALWAYS, TRUTH,  BOOL,   GetExitCodeProcess, (HANDLE process, LPDWORD code), (process, code)) \
  X(kernel32, ALWAYS, TRUTH,  BOOL,   TerminateProcess, (HANDLE process, UINT code), (process, code)) \
  X(kernel32, ALWAYS, MINUS,  DWORD,  ResumeThread, (HANDLE thread), (thread)) \
  X(kernel32, ALWAYS, TRUTH,  BOOL,   K32GetProcessMemoryInfo, (HANDLE process, PPROCESS_MEMORY_COUNTERS counters, DWORD size), (process, counters, size)) \
  X(kernel32, MAYBE,  TRUTH,  BOOL,   GetProcessMitigationPolicy, (HANDLE process, PROCESS_MITIGATION_POLICY which, PVOID out, SIZE_T size), (process, which, out, size)) \
  X(kernel32, ALWAYS, TRUTH,  BOOL,   InitializeProcThreadAttributeList, (LPPROC_THREAD_ATTRIBUTE_LIST list, DWORD count, DWORD flags, PSIZE_T size), (list, count, flags, size)) \
  X(kernel32, ALWAYS, TRUTH,  BOOL,   UpdateProcThreadAttribute, (LPPROC_THREAD_ATTRIBUTE_LIST list, DWORD flags, DWORD_PTR attribute, PVOID value, SIZE_T size, PVOID previous, PSIZE_T returned), (list, flags, attribute, value, size, previous, returned)) \
  X(kernel32, ALWAYS, SURE,   void,   DeleteProcThreadAttributeList, (LPPROC_THREAD_ATTRIBUTE_LIST list), (list)) \
  X(kernel32, ALWAYS, TRUTH,  BOOL,   CreateProcessW, (LPCWSTR program, LPWSTR line, LPSECURITY_ATTRIBUTES process, LPSECURITY_ATTRIBUTES thread, BOOL inherit, DWORD flags, LPVOID environment, LPCWSTR directory, LPSTARTUPINFOW info, LPPROCESS_INFORMATION out), (program, line, process, thread, inherit, flags, environment, directory, info, out)) \
  X(advapi32, ALWAYS, TRUTH,  BOOL,   CreateProcessAsUserW, (HANDLE token, LPCWSTR program, LPWSTR line, LPSECURITY_ATTRIBUTES process, LPSECURITY_ATTRIBUTES thread, BOOL inherit, DWORD flags, LPVOID environment, LPCWSTR directory, LPSTARTUPINFOW info, LPPROCESS_INFORMATION out), (token, program, line, process, thread, inherit, flags, environment, directory, info, out))

#define SBX_WINAPI_JOBS(X) \
  X(kernel32, ALWAYS, OBJECT, HANDLE, CreateJobObjectW, (LPSECURITY_ATTRIBUTES security, LPCWSTR name), (security, name)) \
  X(kernel32, ALWAYS, TRUTH,  BOOL,   SetInformationJobObject, (HANDLE job, JOBOBJECTINFOCLASS which, LPVOID value, DWORD size), (job, which, value, size)) \
  X(kernel32, ALWAYS, TRUTH,  BOOL,   QueryInformationJobObject, (HANDLE job, JOBOBJECTINFOCLASS which, LPVOID out, DWORD size, LPDWORD returned), (job, which, out, size, returned)) \
  X(kernel32, ALWAYS, TRUTH,  BOOL,   AssignProcessToJobObject, (HANDLE job, HANDLE process), (job, process)) \
  X(kernel32, ALWAYS, TRUTH,  BOOL,   IsProcessInJob, (HANDLE process, HANDLE job, PBOOL result), (process, job, result)) \
  X(kernel32, ALWAYS, TRUTH,  BOOL,   TerminateJobObject, (HANDLE job, UINT code), (job, code)) \
  X(kernel32, ALWAYS, OBJECT, HANDLE, CreateIoCompletionPort, (HANDLE file, HANDLE port, ULONG_PTR key, DWORD threads), (file, port, key, threads)) \
  X(kernel32, ALWAYS, TRUTH,  BOOL,   GetQueuedCompletionStatus, (HANDLE port, LPDWORD bytes, PULONG_PTR key, LPOVERLAPPED *overlapped, DWORD ms), (port, bytes, key, overlapped, ms)) \
  X(kernel32, ALWAYS, TRUTH,  BOOL,   PostQueuedCompletionStatus, (HANDLE port, DWORD bytes, ULONG_PTR key, LPOVERLAPPED overlapped), (port, bytes, key, overlapped))

#define SBX_WINAPI_TOKENS(X) \
  X(advapi32, ALWAYS, TRUTH,  BOOL,   OpenProcessToken, (HANDLE process, DWORD access, PHANDLE out), (process, access, out)) \
  X(advapi32, ALWAYS, TRUTH,  BOOL,   DuplicateTokenEx, (HANDLE token, DWORD access, LPSECURITY_ATTRIBUTES security, SECURITY_IMPERSONATION_LEVEL level, TOKEN_TYPE type, PHANDLE out), (token, access, security, level, type, out)) \
  X(advapi32, ALWAYS, TRUTH,  BOOL,   CreateRestrictedToken, (HANDLE token, DWORD flags, DWORD disabled_count, PSID_AND_ATTRIBUTES disabled, DWORD deleted_count, PLUID_AND_ATTRIBUTES deleted, DWORD restricted_count, PSID_AND_ATTRIBUTES restricted_sids, PHANDLE out), (token, flags, disabled_count, disabled, deleted_count, deleted, restricted_count, restricted_sids, out)) \
  X(advapi32, ALWAYS, TRUTH,  BOOL,   GetTokenInformation, (HANDLE token, TOKEN_INFORMATION_CLASS which, LPVOID out, DWORD size, PDWORD returned), (token, which, out, size, returned)) \
  X(advapi32, ALWAYS, TRUTH,  BOOL,   SetTokenInformation, (HANDLE token, TOKEN_INFORMATION_CLASS which, LPVOID value, DWORD size), (token, which, value, size)) \
  X(advapi32, ALWAYS, TRUTH,  BOOL,   LookupPrivilegeNameW, (LPCWSTR system, PLUID id, LPWSTR name, LPDWORD size), (system, id, name, size)) \
  X(advapi32, ALWAYS, TRUTH,  BOOL,   AccessCheck, (PSECURITY_DESCRIPTOR descriptor, HANDLE token, DWORD access, PGENERIC_MAPPING mapping, PPRIVILEGE_SET privileges, LPDWORD privileges_size, LPDWORD granted, LPBOOL status), (descriptor, token, access, mapping, privileges, privileges_size, granted, status)) \
  X(userenv,  BOX,    RESULT, HRESULT, CreateAppContainerProfile, (PCWSTR name, PCWSTR display, PCWSTR description, PSID_AND_ATTRIBUTES capabilities, DWORD count, PSID *out), (name, display, description, capabilities, count, out)) \
  X(userenv,  BOX,    RESULT, HRESULT, DeleteAppContainerProfile, (PCWSTR name), (name)) \
  X(userenv,  BOX,    RESULT, HRESULT, DeriveAppContainerSidFromAppContainerName, (PCWSTR name, PSID *out), (name, out)) \
  X(userenv,  BOX,    RESULT, HRESULT, GetAppContainerFolderPath, (PCWSTR sid, PWSTR *path), (sid, path)) \
  X(kernelbase, BOX,  TRUTH,  BOOL,   DeriveCapabilitySidsFromName, (LPCWSTR name, PSID **groups, DWORD *group_count, PSID **capabilities, DWORD *capability_count), (name, groups, group_count, capabilities, capability_count)) \
  X(advapi32, ALWAYS, SURE,   PVOID,  FreeSid, (PSID sid), (sid)) \
  X(kernel32, ALWAYS, SURE,   HLOCAL, LocalFree, (HLOCAL memory), (memory)) \
  X(ole32,    ALWAYS, SURE,   void,   CoTaskMemFree, (LPVOID memory), (memory))

#define SBX_WINAPI_FILES(X) \
  X(kernel32, ALWAYS, FILED,  HANDLE, CreateFileW, (LPCWSTR path, DWORD access, DWORD share, LPSECURITY_ATTRIBUTES security, DWORD disposition, DWORD flags, HANDLE like), (path, access, share, security, disposition, flags, like)) \
  X(ntdll,    ALWAYS, STATUS, NTSTATUS, NtCreateFile, (PHANDLE out, ACCESS_MASK access, POBJECT_ATTRIBUTES object, PIO_STATUS_BLOCK io, PLARGE_INTEGER size, ULONG attributes, ULONG share, ULONG disposition, ULONG options, PVOID extended, ULONG extended_size), (out, access, object, io, size, attributes, share, disposition, options, extended, extended_size)) \
  X(ntdll,    ALWAYS, SURE,   ULONG,  RtlNtStatusToDosError, (NTSTATUS status), (status)) \
  X(ntdll,    ALWAYS, STATUS, NTSTATUS, RtlGetVersion, (PRTL_OSVERSIONINFOW out), (out)) \
  X(kernel32, ALWAYS, TRUTH,  BOOL,   ReadFile, (HANDLE file, LPVOID out, DWORD size, LPDWORD read, LPOVERLAPPED overlapped), (file, out, size, read, overlapped)) \
  X(kernel32, ALWAYS, TRUTH,  BOOL,   WriteFile, (HANDLE file, LPCVOID bytes, DWORD size, LPDWORD written, LPOVERLAPPED overlapped), (file, bytes, size, written, overlapped)) \
  X(kernel32, ALWAYS, TRUTH,  BOOL,   FlushFileBuffers, (HANDLE file), (file)) \
  X(kernel32, ALWAYS, TRUTH,  BOOL,   GetFileSizeEx, (HANDLE file, PLARGE_INTEGER size), (file, size)) \
  X(kernel32, ALWAYS, COUNT,  DWORD,  GetFinalPathNameByHandleW, (HANDLE file, LPWSTR out, DWORD size, DWORD flags), (file, out, size, flags)) \
  X(kernel32, ALWAYS, TRUTH,  BOOL,   GetFileInformationByHandle, (HANDLE file, LPBY_HANDLE_FILE_INFORMATION out), (file, out)) \
  X(kernel32, ALWAYS, TRUTH,  BOOL,   GetFileInformationByHandleEx, (HANDLE file, FILE_INFO_BY_HANDLE_CLASS which, LPVOID out, DWORD size), (file, which, out, size)) \
  X(kernel32, ALWAYS, TRUTH,  BOOL,   SetFileInformationByHandle, (HANDLE file, FILE_INFO_BY_HANDLE_CLASS which, LPVOID value, DWORD size), (file, which, value, size)) \
  X(kernel32, ALWAYS, TRUTH,  BOOL,   GetVolumeInformationByHandleW, (HANDLE file, LPWSTR name, DWORD name_size, LPDWORD serial, LPDWORD component, LPDWORD flags, LPWSTR system, DWORD system_size), (file, name, name_size, serial, component, flags, system, system_size)) \
  X(kernel32, ALWAYS, SURE,   UINT,   GetDriveTypeW, (LPCWSTR root), (root)) \
  X(kernel32, ALWAYS, TRUTH,  BOOL,   DeviceIoControl, (HANDLE file, DWORD code, LPVOID in, DWORD in_size, LPVOID out, DWORD out_size, LPDWORD returned, LPOVERLAPPED overlapped), (file, code, in, in_size, out, out_size, returned, overlapped)) \
  X(kernel32, ALWAYS, TRUTH,  BOOL,   MoveFileExW, (LPCWSTR from, LPCWSTR to, DWORD flags), (from, to, flags)) \
  X(kernel32, ALWAYS, TRUTH,  BOOL,   DeleteFileW, (LPCWSTR path), (path)) \
  X(kernel32, ALWAYS, TRUTH,  BOOL,   CreateDirectoryW, (LPCWSTR path, LPSECURITY_ATTRIBUTES security), (path, security)) \
  X(kernel32, ALWAYS, TRUTH,  BOOL,   RemoveDirectoryW, (LPCWSTR path), (path)) \
  X(kernel32, ALWAYS, FILED,  HANDLE, FindFirstFileW, (LPCWSTR pattern, LPWIN32_FIND_DATAW out), (pattern, out)) \
  X(kernel32, ALWAYS, TRUTH,  BOOL,   FindNextFileW, (HANDLE find, LPWIN32_FIND_DATAW out), (find, out)) \
  X(kernel32, ALWAYS, TRUTH,  BOOL,   FindClose, (HANDLE find), (find)) \
  X(kernel32, ALWAYS, FILED,  HANDLE, OpenFileById, (HANDLE volume, LPFILE_ID_DESCRIPTOR id, DWORD access, DWORD share, LPSECURITY_ATTRIBUTES security, DWORD flags), (volume, id, access, share, security, flags)) \
  X(kernel32, ALWAYS, TRUTH,  BOOL,   ReadDirectoryChangesW, (HANDLE directory, LPVOID out, DWORD size, BOOL subtree, DWORD filter, LPDWORD returned, LPOVERLAPPED overlapped, LPOVERLAPPED_COMPLETION_ROUTINE routine), (directory, out, size, subtree, filter, returned, overlapped, routine)) \
  X(kernel32, ALWAYS, TRUTH,  BOOL,   GetOverlappedResult, (HANDLE file, LPOVERLAPPED overlapped, LPDWORD bytes, BOOL wait), (file, overlapped, bytes, wait)) \
  X(kernel32, ALWAYS, TRUTH,  BOOL,   CancelIoEx, (HANDLE file, LPOVERLAPPED overlapped), (file, overlapped)) \
  X(kernel32, ALWAYS, TRUTH,  BOOL,   CancelSynchronousIo, (HANDLE thread), (thread)) \
  X(kernel32, ALWAYS, TRUTH,  BOOL,   CreatePipe, (PHANDLE read, PHANDLE write, LPSECURITY_ATTRIBUTES security, DWORD size), (read, write, security, size)) \
  X(advapi32, ALWAYS, TRUTH,  BOOL,   GetKernelObjectSecurity, (HANDLE object, SECURITY_INFORMATION which, PSECURITY_DESCRIPTOR out, DWORD size, LPDWORD needed), (object, which, out, size, needed)) \
  X(advapi32, ALWAYS, TRUTH,  BOOL,   SetKernelObjectSecurity, (HANDLE object, SECURITY_INFORMATION which, PSECURITY_DESCRIPTOR value), (object, which, value)) \
  X(advapi32, ALWAYS, TRUTH,  BOOL,   ConvertStringSecurityDescriptorToSecurityDescriptorW, (LPCWSTR text, DWORD revision, PSECURITY_DESCRIPTOR *out, PULONG size), (text, revision, out, size)) \
  X(kernel32, ALWAYS, COUNT,  UINT,   GetSystemWindowsDirectoryW, (LPWSTR out, UINT size), (out, size))

#define SBX_WINAPI_CONSOLES(X) \
  X(kernel32, MAYBE,  RESULT, HRESULT, CreatePseudoConsole, (COORD size, HANDLE input, HANDLE output, DWORD flags, HPCON *out), (size, input, output, flags, out)) \
  X(kernel32, MAYBE,  RESULT, HRESULT, ResizePseudoConsole, (HPCON console, COORD size), (console, size)) \
  X(kernel32, MAYBE,  SURE,   void,   ClosePseudoConsole, (HPCON console), (console)) \
  X(kernel32, ALWAYS, TRUTH,  BOOL,   GetConsoleMode, (HANDLE console, LPDWORD mode), (console, mode)) \
  X(kernel32, ALWAYS, TRUTH,  BOOL,   SetConsoleMode, (HANDLE console, DWORD mode), (console, mode)) \
  X(kernel32, ALWAYS, TRUTH,  BOOL,   GetConsoleScreenBufferInfo, (HANDLE console, PCONSOLE_SCREEN_BUFFER_INFO out), (console, out)) \
  X(kernel32, ALWAYS, TRUTH,  BOOL,   SetConsoleCtrlHandler, (PHANDLER_ROUTINE handler, BOOL add), (handler, add)) \
  X(kernel32, ALWAYS, TRUTH,  BOOL,   AllocConsole, (void), ()) \
  X(kernel32, ALWAYS, SURE,   HWND,   GetConsoleWindow, (void), ()) \
  X(user32,   BOX,    OBJECT, HWINSTA, GetProcessWindowStation, (void), ()) \
  X(user32,   BOX,    OBJECT, HWINSTA, CreateWindowStationW, (LPCWSTR name, DWORD flags, ACCESS_MASK access, LPSECURITY_ATTRIBUTES security), (name, flags, access, security)) \
  X(user32,   BOX,    TRUTH,  BOOL,   SetProcessWindowStation, (HWINSTA station), (station)) \
  X(user32,   BOX,    TRUTH,  BOOL,   CloseWindowStation, (HWINSTA station), (station)) \
  X(user32,   BOX,    OBJECT, HDESK,  CreateDesktopExW, (LPCWSTR name, LPCWSTR device, DEVMODEW *mode, DWORD flags, ACCESS_MASK access, LPSECURITY_ATTRIBUTES security, ULONG heap_kb, PVOID reserved), (name, device, mode, flags, access, security, heap_kb, reserved)) \
  X(user32,   BOX,    TRUTH,  BOOL,   CloseDesktop, (HDESK desktop), (desktop)) \
  X(user32,   BOX,    OBJECT, HDESK,  GetThreadDesktop, (DWORD thread), (thread)) \
  X(user32,   BOX,    TRUTH,  BOOL,   GetUserObjectInformationW, (HANDLE object, int which, PVOID out, DWORD size, LPDWORD needed), (object, which, out, size, needed)) \
  X(user32,   BOX,    TRUTH,  BOOL,   GetUserObjectSecurity, (HANDLE object, PSECURITY_INFORMATION which, PSECURITY_DESCRIPTOR out, DWORD size, LPDWORD needed), (object, which, out, size, needed)) \
  X(kernel32, ALWAYS, SURE,   DWORD,  GetCurrentThreadId, (void), ())

#define SBX_WINAPI_SERVICES(X) \
  X(advapi32, ALWAYS, OBJECT, SC_HANDLE, OpenSCManagerW, (LPCWSTR machine, LPCWSTR database, DWORD access), (machine, database, access)) \
  X(advapi32, ALWAYS, OBJECT, SC_HANDLE, CreateServiceW, (SC_HANDLE manager, LPCWSTR name, LPCWSTR display, DWORD access, DWORD type, DWORD start, DWORD severity, LPCWSTR image, LPCWSTR group, LPDWORD tag, LPCWSTR dependencies, LPCWSTR account, LPCWSTR password), (manager, name, display, access, type, start, severity, image, group, tag, dependencies, account, password)) \
  X(advapi32, ALWAYS, OBJECT, SC_HANDLE, OpenServiceW, (SC_HANDLE manager, LPCWSTR name, DWORD access), (manager, name, access)) \
  X(advapi32, ALWAYS, TRUTH,  BOOL,   CloseServiceHandle, (SC_HANDLE handle), (handle)) \
  X(advapi32, ALWAYS, TRUTH,  BOOL,   ChangeServiceConfig2W, (SC_HANDLE service, DWORD which, LPVOID value), (service, which, value)) \
  X(advapi32, ALWAYS, TRUTH,  BOOL,   QueryServiceConfigW, (SC_HANDLE service, LPQUERY_SERVICE_CONFIGW out, DWORD size, LPDWORD needed), (service, out, size, needed)) \
  X(advapi32, ALWAYS, TRUTH,  BOOL,   QueryServiceConfig2W, (SC_HANDLE service, DWORD which, LPBYTE out, DWORD size, LPDWORD needed), (service, which, out, size, needed)) \
  X(advapi32, ALWAYS, TRUTH,  BOOL,   QueryServiceStatusEx, (SC_HANDLE service, SC_STATUS_TYPE which, LPBYTE out, DWORD size, LPDWORD needed), (service, which, out, size, needed)) \
  X(advapi32, ALWAYS, TRUTH,  BOOL,   SetServiceObjectSecurity, (SC_HANDLE service, SECURITY_INFORMATION which, PSECURITY_DESCRIPTOR value), (service, which, value)) \
  X(advapi32, ALWAYS, TRUTH,  BOOL,   StartServiceW, (SC_HANDLE service, DWORD count, LPCWSTR *arguments), (service, count, arguments)) \
  X(advapi32, ALWAYS, TRUTH,  BOOL,   ControlService, (SC_HANDLE service, DWORD control, LPSERVICE_STATUS out), (service, control, out)) \
  X(advapi32, ALWAYS, TRUTH,  BOOL,   DeleteService, (SC_HANDLE service), (service)) \
  X(advapi32, ALWAYS, TRUTH,  BOOL,   StartServiceCtrlDispatcherW, (const SERVICE_TABLE_ENTRYW *table), (table)) \
  X(advapi32, ALWAYS, OBJECT, SERVICE_STATUS_HANDLE, RegisterServiceCtrlHandlerExW, (LPCWSTR name, LPHANDLER_FUNCTION_EX handler, LPVOID context), (name, handler, context)) \
  X(advapi32, ALWAYS, TRUTH,  BOOL,   SetServiceStatus, (SERVICE_STATUS_HANDLE handle, LPSERVICE_STATUS status), (handle, status)) \
  X(advapi32, ALWAYS, OBJECT, HANDLE, RegisterEventSourceW, (LPCWSTR machine, LPCWSTR name), (machine, name)) \
  X(advapi32, ALWAYS, TRUTH,  BOOL,   DeregisterEventSource, (HANDLE log), (log)) \
  X(advapi32, ALWAYS, TRUTH,  BOOL,   ReportEventW, (HANDLE log, WORD type, WORD category, DWORD id, PSID user, WORD count, DWORD data_size, LPCWSTR *texts, LPVOID data), (log, type, category, id, user, count, data_size, texts, data)) \
  X(advapi32, ALWAYS, CODE,   LSTATUS, RegCreateKeyExW, (HKEY parent, LPCWSTR name, DWORD reserved, LPWSTR type, DWORD options, REGSAM access, LPSECURITY_ATTRIBUTES security, PHKEY out, LPDWORD disposition), (parent, name, reserved, type, options, access, security, out, disposition)) \
  X(advapi32, ALWAYS, CODE,   LSTATUS, RegOpenKeyExW, (HKEY parent, LPCWSTR name, DWORD options, REGSAM access, PHKEY out), (parent, name, options, access, out)) \
  X(advapi32, ALWAYS, CODE,   LSTATUS, RegSetValueExW, (HKEY key, LPCWSTR name, DWORD reserved, DWORD type, const BYTE *value, DWORD size), (key, name, reserved, type, value, size)) \
  X(advapi32, ALWAYS, CODE,   LSTATUS, RegDeleteKeyExW, (HKEY parent, LPCWSTR name, REGSAM view, DWORD reserved), (parent, name, view, reserved)) \
  X(advapi32, ALWAYS, CODE,   LSTATUS, RegCloseKey, (HKEY key), (key)) \
  X(kernel32, ALWAYS, COUNT,  DWORD,  GetModuleFileNameW, (HMODULE module, LPWSTR out, DWORD size), (module, out, size))

#define SBX_WINAPI_PEERS(X) \
  X(kernel32, ALWAYS, FILED,  HANDLE, CreateNamedPipeW, (LPCWSTR name, DWORD mode, DWORD type, DWORD instances, DWORD out_size, DWORD in_size, DWORD wait_ms, LPSECURITY_ATTRIBUTES security), (name, mode, type, instances, out_size, in_size, wait_ms, security)) \
  X(kernel32, ALWAYS, TRUTH,  BOOL,   ConnectNamedPipe, (HANDLE pipe, LPOVERLAPPED overlapped), (pipe, overlapped)) \
  X(kernel32, ALWAYS, TRUTH,  BOOL,   DisconnectNamedPipe, (HANDLE pipe), (pipe)) \
  X(kernel32, ALWAYS, TRUTH,  BOOL,   GetNamedPipeClientProcessId, (HANDLE pipe, PULONG id), (pipe, id)) \
  X(advapi32, ALWAYS, TRUTH,  BOOL,   ImpersonateNamedPipeClient, (HANDLE pipe), (pipe)) \
  X(advapi32, ALWAYS, TRUTH,  BOOL,   RevertToSelf, (void), ()) \
  X(advapi32, ALWAYS, TRUTH,  BOOL,   OpenThreadToken, (HANDLE thread, DWORD access, BOOL self, PHANDLE out), (thread, access, self, out)) \
  X(advapi32, ALWAYS, TRUTH,  BOOL,   IsTokenRestricted, (HANDLE token), (token)) \
  X(kernel32, ALWAYS, SURE,   HANDLE, GetCurrentThread, (void), ()) \
  X(userenv,  ALWAYS, TRUTH,  BOOL,   CreateEnvironmentBlock, (LPVOID *out, HANDLE token, BOOL inherit), (out, token, inherit)) \
  X(userenv,  ALWAYS, TRUTH,  BOOL,   DestroyEnvironmentBlock, (LPVOID block), (block)) \
  X(userenv,  ALWAYS, TRUTH,  BOOL,   GetUserProfileDirectoryW, (HANDLE token, LPWSTR out, LPDWORD size), (token, out, size))

#define SBX_WINAPI_CALLS(X) \
  SBX_WINAPI_HANDLES(X) SBX_WINAPI_PROCESSES(X) SBX_WINAPI_JOBS(X) SBX_WINAPI_TOKENS(X) \
  SBX_WINAPI_FILES(X) SBX_WINAPI_CONSOLES(X) SBX_WINAPI_SERVICES(X) SBX_WINAPI_PEERS(X)
/* clang-format on */

#endif
