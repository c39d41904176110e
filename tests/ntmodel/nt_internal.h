/* What the files of the model share. Every function here and every nt_<Call> runs under the model's one lock, which
 * the table takes at the door; what blocks gives it back by nt_sleep. */
#ifndef SBX_TESTS_NTMODEL_NT_INTERNAL_H
#define SBX_TESTS_NTMODEL_NT_INTERNAL_H

#include "tests/ntmodel/nt_objects.h"

/* Not in every header. */
#ifndef ERROR_OBJECT_NAME_EXISTS
#define ERROR_OBJECT_NAME_EXISTS 698L
#endif
#ifndef ERROR_ELEVATION_REQUIRED
#define ERROR_ELEVATION_REQUIRED 740L
#endif

/* Those that the headers of the compiler do not have under a name that can be used. */
#define NT_STATUS_PENDING ((NTSTATUS)0x00000103L)
#define NT_STATUS_UNSUCCESSFUL ((NTSTATUS)0xC0000001L)
#define NT_STATUS_NOT_IMPLEMENTED ((NTSTATUS)0xC0000002L)
#define NT_STATUS_INVALID_HANDLE ((NTSTATUS)0xC0000008L)
#define NT_STATUS_INVALID_PARAMETER ((NTSTATUS)0xC000000DL)
#define NT_STATUS_NO_SUCH_FILE ((NTSTATUS)0xC000000FL)
#define NT_STATUS_INVALID_DEVICE_REQUEST ((NTSTATUS)0xC0000010L)
#define NT_STATUS_ACCESS_DENIED ((NTSTATUS)0xC0000022L)
#define NT_STATUS_OBJECT_TYPE_MISMATCH ((NTSTATUS)0xC0000024L)
#define NT_STATUS_OBJECT_NAME_INVALID ((NTSTATUS)0xC0000033L)
#define NT_STATUS_OBJECT_NAME_NOT_FOUND ((NTSTATUS)0xC0000034L)
#define NT_STATUS_OBJECT_NAME_COLLISION ((NTSTATUS)0xC0000035L)
#define NT_STATUS_OBJECT_PATH_NOT_FOUND ((NTSTATUS)0xC000003AL)
#define NT_STATUS_OBJECT_PATH_SYNTAX_BAD ((NTSTATUS)0xC000003BL)
#define NT_STATUS_SHARING_VIOLATION ((NTSTATUS)0xC0000043L)
#define NT_STATUS_DELETE_PENDING ((NTSTATUS)0xC0000056L)
#define NT_STATUS_FILE_IS_A_DIRECTORY ((NTSTATUS)0xC00000BAL)
#define NT_STATUS_BAD_NETWORK_PATH ((NTSTATUS)0xC00000BEL)
#define NT_STATUS_NOT_SAME_DEVICE ((NTSTATUS)0xC00000D4L)
#define NT_STATUS_DIRECTORY_NOT_EMPTY ((NTSTATUS)0xC0000101L)
#define NT_STATUS_NOT_A_DIRECTORY ((NTSTATUS)0xC0000103L)
#define NT_STATUS_CANCELLED ((NTSTATUS)0xC0000120L)
#define NT_STATUS_CANNOT_DELETE ((NTSTATUS)0xC0000121L)
#define NT_STATUS_NOT_A_REPARSE_POINT ((NTSTATUS)0xC0000275L)
#define NT_STATUS_IO_REPARSE_TAG_NOT_HANDLED ((NTSTATUS)0xC0000279L)
#define NT_STATUS_DLL_NOT_FOUND 0xC0000135u
#define NT_STATUS_DLL_INIT_FAILED 0xC0000142u

/* ---- model and threads (nt_model.c, nt_thread.c) --------------------------------------------------------- */

void *nt_alloc(size_t size);                                        /* zeroed */
void *nt_grow(void *rows, size_t *room, size_t count, size_t each); /* room for one more */
wchar_t *nt_wide(const wchar_t *text);                              /* a copy */
void *nt_copy(const void *bytes, size_t size);
uint64_t nt_time(struct nt_model *model); /* FILETIME, never the same twice */
FILETIME nt_filetime(uint64_t time);

void nt_lock(struct nt_model *model);
void nt_unlock(struct nt_model *model);
/* Waits for a change at most until the tick; false when it has passed. Does not return when the process of the
 * thread ended meanwhile. */
bool nt_sleep(struct nt_model *model, uint64_t until_tick);
/* The same for a thread of the test. */
bool nt_sleep_plain(struct nt_model *model, uint64_t until_tick);
/* Does time wait for the calling thread? For those of the model, and for one of the test that made calls. */
bool nt_is_counted(const struct nt_model *model);
uint64_t nt_until(struct nt_model *model, DWORD ms);
void nt_wake(struct nt_model *model);

struct nt_thread *nt_self(void);
struct nt_process *nt_process_now(void);
struct nt_model *nt_model_of_call(void);
struct nt_thread *nt_thread_new(struct nt_process *process, LPTHREAD_START_ROUTINE start,
                                void *argument, bool is_suspended);
void nt_thread_start(struct nt_thread *thread);
void nt_thread_resume(struct nt_thread *thread);
void nt_die_if_ended(struct nt_thread *self);
_Noreturn void nt_die(struct nt_thread *self);
void nt_threads_init(void);
void nt_table_forget(void);                  /* another model is current */
void nt_thread_gate(struct nt_thread *self); /* waits while it is suspended */
void nt_mutexes_abandon(struct nt_thread *thread);

BOOL nt_fail(DWORD code); /* FALSE with the last error */
BOOL nt_fail_status(NTSTATUS status);
HANDLE nt_fail_handle(DWORD code); /* NULL */
HANDLE nt_fail_file(NTSTATUS status);
bool nt_same_name(const wchar_t *a, const wchar_t *b); /* without case */
int nt_compare_names(const wchar_t *a, size_t a_len, const wchar_t *b, size_t b_len);
size_t nt_length(const wchar_t *text);
void nt_say(struct nt_model *model, const char *format, ...) SBX_PRINTF(2, 3);

/* ---- objects and handles (nt_handle.c) --------------------------------------------------------------------- */

void *nt_object_new(struct nt_model *model, enum nt_kind kind, size_t size);
void *nt_object_ref(void *object);
void nt_object_unref(void *object);
/* As a handle holds one: when the last lets go, the object is closed. */
void nt_object_hold(void *object);
void nt_object_let_go(void *object);
void nt_object_name(void *object, const wchar_t *name);
void *nt_object_find(struct nt_model *model, enum nt_kind kind, const wchar_t *name);
void nt_object_describe(void *object, const struct nt_token *creator, const void *parent,
                        const void *descriptor, bool is_container, const GENERIC_MAPPING *mapping);

/* The object gets a reference of the handle's own. */
HANDLE nt_handle_add(struct nt_process *process, void *object, DWORD access, bool inherits);
struct nt_handle *nt_handle_row(struct nt_process *process, HANDLE handle);
/* NULL with 6 for one that is not open or of another kind, with 5 when it lacks a right. */
void *nt_handle_get(HANDLE handle, enum nt_kind kind, DWORD access);
bool nt_handle_drop(struct nt_process *process, HANDLE handle);
void nt_handles_close(struct nt_process *process);
void nt_handles_inherit(struct nt_process *from, struct nt_process *to, const HANDLE *list,
                        size_t count, bool has_list);
bool nt_inherits(const SECURITY_ATTRIBUTES *security);
const void *nt_descriptor_of(const SECURITY_ATTRIBUTES *security);
void nt_bad_handle(struct nt_model *model, HANDLE handle, const char *why);
const GENERIC_MAPPING *nt_mapping(enum nt_kind kind);
/* A self-relative copy of any descriptor. */
unsigned char *nt_self_relative(const void *descriptor, size_t *size);

/* ---- processes, jobs, tokens ------------------------------------------------------------------------------- */

struct nt_process *nt_process_new(struct nt_model *model, struct nt_token_object *token);
void nt_process_end(struct nt_process *process, DWORD code);
void nt_process_free(struct nt_process *process);
void nt_consoles_leave(struct nt_process *process); /* those that it made end with it */
void nt_process_start(struct nt_process *process);
struct nt_process *nt_process_find(struct nt_model *model, DWORD id);
/* With a reference. */
struct nt_process *nt_launcher_make(struct nt_model *model);
/* It becomes the current one. */
struct nt_process *nt_launcher_new(struct nt_model *model);
void nt_launcher_kill(struct nt_process *launcher);

struct nt_birth {
    const wchar_t *program;
    const wchar_t *line;
    bool inherits;
    DWORD flags;
    const void *environment;
    const wchar_t *directory;
    const STARTUPINFOW *info;
    struct nt_token_object *token; /* base */
    nt_actor *actor;
    void *actor_state;
    const SECURITY_ATTRIBUTES *process_security;
    const SECURITY_ATTRIBUTES *thread_security;
};
/* The attribute list of it. */
struct nt_wishes {
    const HANDLE *handles;
    size_t handle_count;
    bool has_handles;
    const HANDLE *jobs;
    size_t job_count;
    const SECURITY_CAPABILITIES *capabilities;
    bool is_lpac;
    uint64_t mitigations[2];
    bool has_no_children;
    void *console;
};
DWORD nt_wishes_read(const struct nt_birth *birth, struct nt_wishes *out);
/* A Win32 code; *out has a reference. */
DWORD nt_process_create(struct nt_process *creator, const struct nt_birth *birth,
                        struct nt_process **out);

DWORD nt_job_join(struct nt_job *job, struct nt_process *process);
void nt_job_leave(struct nt_process *process);
void nt_job_close(struct nt_job *job);
void nt_job_free(struct nt_job *job);
void nt_job_terminate(struct nt_job *job, DWORD code);
bool nt_job_has(const struct nt_process *process, const struct nt_job *job);
void nt_job_message(struct nt_job *job, DWORD message, ULONG_PTR value, bool is_sure);
DWORD nt_job_allow(const struct nt_process *process, uint64_t bytes);
void nt_job_charge_time(struct nt_process *process, uint64_t ticks);
DWORD nt_ui_limits(const struct nt_process *process);
void nt_port_post(struct nt_port *port, DWORD bytes, ULONG_PTR key, LPOVERLAPPED overlapped);
void nt_port_free(struct nt_port *port);

struct nt_token_object *nt_token_object_new(struct nt_model *model, const struct nt_token *token);
bool nt_token_is_admin(const struct nt_token *token);
bool nt_has_access(const struct nt_token *token, const void *descriptor, DWORD desired,
                   const GENERIC_MAPPING *mapping, DWORD *granted);
/* A descriptor from SDDL, kept for good; $U is the user's SID. */
const void *nt_described(struct nt_model *model, const char *sddl, size_t *size);

void *nt_local_give(struct nt_model *model, size_t size, enum sbx_winapi_id by);
void nt_profiles_free(struct nt_model *model);

/* ---- files ------------------------------------------------------------------------------------------------- */

/* A path that was parsed: either a device or a name on a volume. */
struct nt_place {
    struct nt_volume *volume;
    struct nt_node *base;        /* where `rest` begins */
    struct nt_entry *base_entry; /* of a base that is a file */
    wchar_t rest[NT_PATH_MAX];   /* names with one backslash between */
    wchar_t stream[NT_NAME_MAX];
    bool has_stream;
    bool wants_directory; /* a backslash at the end */
    bool is_device;
    int device;          /* NT_DEVICE_… */
    const wchar_t *pipe; /* after \\.\pipe\ */
    bool is_volume;      /* \\.\C: */
    bool refuses_links;  /* OBJ_DONT_REPARSE */
};

struct nt_walk {
    struct nt_node *parent; /* of the last name; NULL for a root */
    struct nt_node *node;   /* NULL: it does not exist */
    struct nt_entry *entry;
    wchar_t leaf[NT_NAME_MAX];
    wchar_t stream[NT_NAME_MAX];
    bool has_stream;
    bool wants_directory;
};

struct nt_open {
    struct nt_place place;
    DWORD access;
    DWORD share;
    DWORD attributes;
    DWORD disposition; /* FILE_OPEN … */
    DWORD options;     /* FILE_DIRECTORY_FILE … */
    const void *descriptor;
    bool is_test; /* no check */
};

NTSTATUS nt_parse_path(struct nt_process *process, const wchar_t *path, struct nt_place *out);
NTSTATUS nt_walk_path(struct nt_process *process, const struct nt_place *place, bool opens_link,
                      struct nt_walk *out);
/* *out has a reference; *information is FILE_OPENED … */
/* Opens and closes again. */
NTSTATUS nt_file_try(struct nt_process *process, const wchar_t *path, DWORD access);
NTSTATUS nt_file_open(struct nt_process *process, const struct nt_open *open, void **out,
                      DWORD *granted, ULONG *information);
void nt_file_close(struct nt_file *file); /* the last handle is gone */
void nt_file_free(struct nt_file *file);
NTSTATUS nt_file_rename(struct nt_process *process, struct nt_file *file, const struct nt_place *to,
                        bool replaces, bool is_posix);
NTSTATUS nt_file_link(struct nt_process *process, struct nt_file *file, const struct nt_place *to);
NTSTATUS nt_file_dispose(struct nt_file *file, bool deletes, bool is_posix, bool ignores_read_only);
bool nt_file_access(const struct nt_token *token, const struct nt_node *node,
                    const struct nt_node *parent, DWORD desired, DWORD *granted);
/* Would it be refused by how others have opened it? Counts it when not. */
bool nt_share(struct nt_node *node, DWORD access, DWORD share, bool counts);

struct nt_node *nt_node_new(struct nt_volume *volume, DWORD attributes);
struct nt_node *nt_node_by_id(struct nt_volume *volume, uint64_t id, struct nt_entry **entry);
void nt_node_unref(struct nt_node *node);
struct nt_entry *nt_entry_find(struct nt_node *directory, const wchar_t *name, size_t len);
struct nt_entry *nt_entry_add(struct nt_node *directory, const wchar_t *name, struct nt_node *node);
void nt_entry_remove(struct nt_entry *entry);
void nt_entry_move(struct nt_entry *entry, struct nt_node *directory, const wchar_t *name);
void nt_entry_unref(struct nt_entry *entry);
bool nt_is_directory(const struct nt_node *node);
void nt_node_describe(struct nt_node *node, const struct nt_token *creator,
                      const struct nt_node *parent, const void *descriptor);
void nt_bytes_put(struct nt_bytes *bytes, uint64_t at, const void *data, size_t size);
void nt_bytes_free(struct nt_bytes *bytes);
/* "\Users\user" of a node, by the entry it was opened by. */
DWORD nt_attributes_of(const struct nt_node *node);
size_t nt_node_path(const struct nt_node *node, const struct nt_entry *entry,
                    wchar_t out[NT_PATH_MAX]);
void nt_volumes_new(struct nt_model *model);
void nt_volumes_free(struct nt_model *model);
void nt_volumes_lose_power(struct nt_model *model);
void nt_each_node(struct nt_model *model,
                  void (*visit)(void *state, struct nt_node *node, struct nt_entry *entry),
                  void *state);

/* The journal and the watches. `action` is FILE_ACTION_…, 0 for none. */
void nt_changed(struct nt_node *node, const struct nt_entry *entry, DWORD reason, DWORD action);
void nt_journal(struct nt_node *node, const struct nt_entry *entry, DWORD reason);
void nt_watch_cancel(struct nt_file *file, NTSTATUS status);
void nt_overlapped_done(struct nt_process *process, LPOVERLAPPED overlapped, NTSTATUS status,
                        DWORD bytes);

/* ---- pipes, consoles, stations ---------------------------------------------------------------------------------- */

struct nt_pipe *nt_pipe_end(struct nt_model *model, struct nt_pipe_buffer *buffer, bool is_write);
struct nt_pipe_buffer *nt_pipe_buffer_new(size_t room);
void nt_pipe_buffer_unref(struct nt_pipe_buffer *buffer);
void nt_pipe_close(struct nt_pipe *pipe);
void nt_pipe_free(struct nt_pipe *pipe);
DWORD nt_pipe_read(struct nt_pipe *pipe, void *out, DWORD size, DWORD *read);
DWORD nt_pipe_write(struct nt_pipe *pipe, const void *bytes, DWORD size, DWORD *written);

void nt_stations_new(struct nt_model *model);
void nt_stations_free(struct nt_model *model);
/* By "station\desktop" or a default; a Win32 code. */
DWORD nt_desktop_check(struct nt_process *process);
DWORD nt_station_open(struct nt_process *process, const wchar_t *name, DWORD access);
DWORD nt_desktop_open(struct nt_process *process, const wchar_t *station, const wchar_t *name,
                      DWORD access);
void nt_desktop_free(struct nt_desktop *desktop);
void nt_station_attach(struct nt_process *process, struct nt_object *station);
void nt_consoles_new(struct nt_model *model);
void nt_consoles_free(struct nt_model *model);
void nt_consoles_end(struct nt_model *model); /* those of a killed launcher */
void nt_console_child(struct nt_process *creator, struct nt_process *process, DWORD flags,
                      void *pseudo);
bool nt_console_is_pseudo(struct nt_model *model, const void *pseudo);

void nt_world_build(struct nt_model *model);
/* A node with every missing directory above it. `descriptor` NULL: inherited; `creator` owns it. */
struct nt_node *nt_world_put(struct nt_model *model, const wchar_t *path, DWORD attributes,
                             const struct nt_token *creator, const void *descriptor);
struct nt_node *nt_world_find(struct nt_model *model, const wchar_t *path, struct nt_entry **entry);
/* With everything below; what is open stays, and the answer is false. */
bool nt_world_remove(struct nt_model *model, const wchar_t *path);

/* ---- the calls ------------------------------------------------------------------------------------------------- */

/* nt_CloseHandle, …: a call by the model, under the lock. A row of the table that the model does not know is declared
 * here and never defined. */
#define NT_DECLARE(dll, need, tells, type, name, parameters, arguments)                            \
    type WINAPI nt_##name parameters;
SBX_WINAPI_CALLS(NT_DECLARE)
#undef NT_DECLARE

/* What a call returns when it fails with a code, by what the table says it tells. */
#define NT_TOLD_TRUTH(type, code) ((type)0)
#define NT_TOLD_OBJECT(type, code) ((type)0)
#define NT_TOLD_FILED(type, code) ((type)(LONG_PTR)-1)
#define NT_TOLD_COUNT(type, code) ((type)0)
#define NT_TOLD_WAITED(type, code) ((type)-1)
#define NT_TOLD_MINUS(type, code) ((type)-1)
#define NT_TOLD_CODE(type, code) ((type)(code))
#define NT_TOLD_RESULT(type, code) ((type)nt_hresult(code))
#define NT_TOLD_STATUS(type, code) ((type)nt_status(code))
#define NT_TOLD_SURE(type, code) ((type)0)
HRESULT nt_hresult(DWORD code); /* as it is when its highest bit is set */
NTSTATUS nt_status(DWORD code); /* the same */

#endif
