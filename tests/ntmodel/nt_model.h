/* A model of the NT kernel behind the table of calls: processes, handles, jobs, tokens, files and what a box asks of
 * them, in memory, with the documented behaviour of Windows 10 and 11. The code of win/ runs on it unchanged.
 *
 *     const struct sbx_winapi *sbx_win(void) { return nt_model_table(); }
 *     struct nt_model *model = nt_model_new(&(struct nt_world){.actor = box});
 *     … the pipeline …
 *     CHECK_TEXT(nt_model_leftovers(model), "");
 *     nt_model_free(model);
 *
 * It answers what Windows is documented to answer; it proves how our code reacts, not that Windows answers so.
 * Time jumps to the next deadline whenever all threads wait, so a limit of a minute is met at once (nt_clock.c).
 * One model is current at a time. Its test code stops the program when memory runs out. */
#ifndef SBX_TESTS_NTMODEL_NT_MODEL_H
#define SBX_TESTS_NTMODEL_NT_MODEL_H

#include <stdint.h>

#include "tests/ntmodel/nt_security.h"
#include "win/winapi.h"

struct nt_model;
struct nt_process;

/* What runs in a process when it is resumed, on a thread of its own; its answer is the exit code. When the process
 * is ended from outside, the next nt_box_ or table call of the thread does not return. */
typedef DWORD nt_actor(struct nt_process *self, void *state);

struct nt_world {
    bool is_elevated;    /* the launcher's token */
    bool is_service;     /* session 0; a window station without entries for packages; no console */
    bool is_boxed;       /* the launcher runs in an AppContainer itself */
    bool has_no_console; /* started by a program with windows; a boxed console child needs one */
    bool is_on_console;  /* the three streams are the console instead of pipes */
    bool is_in_job;      /* a job of somebody else around the launcher */
    DWORD outer_limit_flags; /* JOB_OBJECT_LIMIT_… of that job */
    DWORD outer_ui_limits;
    bool null_is_open; /* \Device\Null admits packages, which it does not after a boot */
    bool root_is_open; /* C:\ tells packages its attributes, which it does not by itself */
    bool has_no_journal;
    bool loses_messages; /* job messages that are not guaranteed never arrive */
    DWORD build;         /* 0: 22631 */
    unsigned time_scale; /* of no effect: time jumps by itself, see nt_clock.c */
    nt_actor *actor;     /* of every process; NULL: exits with 0 */
    void *actor_state;
};

/* The world: C:\ with Windows, Program Files and C:\Users\user\project, FAT on D:, a share on N: and S: substituted
 * for C:\Users\user\project. It becomes the current model. */
struct nt_model *nt_model_new(const struct nt_world *world);
/* Ends what runs in it. NULL is allowed. */
void nt_model_free(struct nt_model *model);

/* The table; its calls act on the current model. */
const struct sbx_winapi *nt_model_table(void);
struct nt_model *nt_model_current(void);

/* ---- the launcher ------------------------------------------------------------------------------ */

/* Calls from a thread that the model does not know are those of the current launcher, which nt_model_new makes.
 * Here `work` runs as a launcher of its own, a new process on a new thread, that becomes the current one. False
 * when it was killed on the way; `work` must not rely on anything after the call that killed it, and what it
 * holds in memory is lost. All its threads are gone on return. */
bool nt_launcher_run(struct nt_model *model, void (*work)(void *state), void *state);

/* Another launcher beside the current one, like two of them at the same time. End it before the model. */
struct nt_launcher;
struct nt_launcher *nt_launcher_begin(struct nt_model *model, void (*work)(void *state),
                                      void *state);
/* Waits until it is done; false when it was killed. */
bool nt_launcher_end(struct nt_launcher *launcher);

/* The launcher dies right after its n-th call from now (1 is the next), like one that is killed. */
void nt_model_crash_after(struct nt_model *model, unsigned n);
/* The power fails instead: what was not flushed is lost. */
void nt_model_power_fails_after(struct nt_model *model, unsigned n);
/* Kills it now, from the test. A launcher of nt_launcher_run only. */
void nt_model_crash(struct nt_model *model);

DWORD nt_model_launcher_id(const struct nt_model *model);
/* The next process gets this id, as when one is used again. */
void nt_model_next_id(struct nt_model *model, DWORD id);
/* What came out of the launcher's streams 1 and 2; lives as long as the model. */
const char *nt_model_output(struct nt_model *model, int stream);
/* What stream 0 holds, and its end. */
void nt_model_input(struct nt_model *model, const char *text);
/* Calls the handler that SetConsoleCtrlHandler was given, as the system does: on another thread. */
bool nt_model_ctrl(struct nt_model *model, DWORD event);

/* ---- what the test may do to calls ---------------------------------------------------------------- */

/* Before each call of the launcher, without a lock; n counts from 1. False: the call fails in the way the table
 * says, with the last error that the hook left. */
typedef bool nt_before(void *state, enum sbx_winapi_id id, unsigned n);
void nt_model_before(struct nt_model *model, nt_before *before, void *state);

/* Calls of the launcher so far, of one kind and in all. */
unsigned nt_model_calls(const struct nt_model *model, enum sbx_winapi_id id);
unsigned nt_model_calls_total(const struct nt_model *model);
/* A slot that is NULL, as on a Windows without the export; for the current model only. */
void nt_model_lacks(struct nt_model *model, enum sbx_winapi_id id);
/* From now on the call does not come back until the launcher dies or nt_model_unstall. */
void nt_model_stall(struct nt_model *model, enum sbx_winapi_id id);
void nt_model_unstall(struct nt_model *model);
/* The processes that are created from now on run this. */
void nt_model_actor(struct nt_model *model, nt_actor *actor, void *state);

/* ---- what the test may ask ------------------------------------------------------------------------ */

/* Uses of a handle that is not open, and calls that nobody modelled: both are faults of the code under test. */
unsigned nt_model_bad_handles(const struct nt_model *model);
unsigned nt_model_not_modelled(const struct nt_model *model);

/* One line for each thing that a run left: a process, an open handle of the launcher, a profile, an entry for a
 * package or an application capability on a file, a file, a held mutex, memory of LocalAlloc, a station that is not
 * the first. "" when there is nothing. Lives until the next call of it. */
const char *nt_model_leftovers(struct nt_model *model);
/* What is there now is what the next nt_model_leftovers compares with. */
void nt_model_settle(struct nt_model *model);

/* Every descriptor of every file; compare says which differ, "" when none. Free it with free(). */
struct nt_snapshot;
struct nt_snapshot *nt_model_acl_snapshot(struct nt_model *model);
const char *nt_model_acl_compare(struct nt_model *model, const struct nt_snapshot *snapshot);

unsigned nt_model_processes(struct nt_model *model); /* alive, without launchers */
unsigned nt_model_handles(struct nt_model *model);   /* of the current launcher */
bool nt_model_has_profile(struct nt_model *model, const wchar_t *name);

/* ---- files, as the test puts and sees them: no access check ------------------------------------------ */

enum nt_image {
    NT_IMAGE_NONE = 0,
    NT_IMAGE_CONSOLE = 1, /* a 64-bit program for a console */
    NT_IMAGE_WINDOWS = 2, /* a 64-bit program with windows: it needs its desktop */
    NT_IMAGE_USER32 = 4,  /* a console program that loads user32 */
    NT_IMAGE_ELEVATE = 8, /* its manifest demands an administrator */
    NT_IMAGE_16 = 16,     /* of 16 bits */
    NT_IMAGE_FOREIGN = 32 /* for another processor */
};

/* Paths are C:\…; missing directories are made. `sddl` is the whole descriptor, NULL: what it inherits. */
void nt_put_directory(struct nt_model *model, const wchar_t *path, const char *sddl);
void nt_put_file(struct nt_model *model, const wchar_t *path, const char *text, const char *sddl);
void nt_put_image(struct nt_model *model, const wchar_t *path, unsigned image);
/* A reparse point: IO_REPARSE_TAG_SYMLINK or _MOUNT_POINT to a target, another tag with NULL. */
void nt_put_link(struct nt_model *model, const wchar_t *path, DWORD tag, const wchar_t *target,
                 bool is_directory);
void nt_put_hard_link(struct nt_model *model, const wchar_t *path, const wchar_t *existing);
void nt_put_attributes(struct nt_model *model, const wchar_t *path, DWORD attributes);
void nt_put_descriptor(struct nt_model *model, const wchar_t *path, const char *sddl);
void nt_put_stream(struct nt_model *model, const wchar_t *path, const wchar_t *stream,
                   const char *text);
void nt_put_pipe(struct nt_model *model, const wchar_t *name, const char *sddl);
void nt_remove(struct nt_model *model, const wchar_t *path); /* with everything below */

bool nt_exists(struct nt_model *model, const wchar_t *path);
/* NULL when it does not exist; valid until the model changes it. */
const char *nt_text(struct nt_model *model, const wchar_t *path, size_t *size);
/* The self-relative descriptor, NULL for none. */
const void *nt_descriptor(struct nt_model *model, const wchar_t *path, size_t *size);

/* ---- what a process asks of the kernel -------------------------------------------------------------- */

/* All answer a Win32 code, 0 for done. `disposition` is that of CreateFileW. */
DWORD nt_box_open(struct nt_process *self, const wchar_t *path, DWORD access, DWORD disposition,
                  HANDLE *out);
DWORD nt_box_close(struct nt_process *self, HANDLE handle);
DWORD nt_box_read(struct nt_process *self, const wchar_t *path, char *out, size_t max);
DWORD nt_box_write(struct nt_process *self, const wchar_t *path, const char *text);
DWORD nt_box_append(struct nt_process *self, const wchar_t *path, const char *text);
DWORD nt_box_rename(struct nt_process *self, const wchar_t *from, const wchar_t *to);
DWORD nt_box_delete(struct nt_process *self, const wchar_t *path);
DWORD nt_box_list(struct nt_process *self, const wchar_t *path, unsigned *count);
DWORD nt_box_make_directory(struct nt_process *self, const wchar_t *path);
DWORD nt_box_remove_directory(struct nt_process *self, const wchar_t *path);
DWORD nt_box_hard_link(struct nt_process *self, const wchar_t *name, const wchar_t *existing);
/* What stat() asks: attributes only. */
DWORD nt_box_look(struct nt_process *self, const wchar_t *path);
/* Sets the DACL, or the owner, of a file. */
DWORD nt_box_set_dacl(struct nt_process *self, const wchar_t *path, const char *sddl);

enum nt_peer { NT_PEER_HOST, NT_PEER_INTERNET, NT_PEER_PRIVATE };
DWORD nt_box_connect(struct nt_process *self, enum nt_peer peer);
DWORD nt_box_open_process(struct nt_process *self, DWORD id, DWORD access);
DWORD nt_box_open_pipe(struct nt_process *self, const wchar_t *name, DWORD access);
DWORD nt_box_open_station(struct nt_process *self, const wchar_t *name, DWORD access);
DWORD nt_box_open_desktop(struct nt_process *self, const wchar_t *station, const wchar_t *name,
                          DWORD access);
/* With the limits of its jobs on user objects. */
DWORD nt_box_clipboard(struct nt_process *self, bool writes);
DWORD nt_box_exit_windows(struct nt_process *self);
DWORD nt_box_switch_desktop(struct nt_process *self);
DWORD nt_box_system_parameters(struct nt_process *self);
/* Another process of the same box, with the same token; NULL actor: exits with 0. It runs at once. */
DWORD nt_box_spawn(struct nt_process *self, const wchar_t *image, DWORD flags, nt_actor *actor,
                   void *state, DWORD *id);
DWORD nt_box_allocate(struct nt_process *self, uint64_t bytes);
/* User time. Does not return when a limit ends the process. */
void nt_box_burn(struct nt_process *self, uint64_t ms);
/* To standard output (1) or error (2); from standard input. ERROR_INVALID_HANDLE without one. */
DWORD nt_box_print(struct nt_process *self, int stream, const char *text);
DWORD nt_box_input(struct nt_process *self, char *out, size_t max, size_t *len);
/* Sleeps in the time of the model. */
void nt_box_sleep(struct nt_process *self, DWORD ms);
/* Ends with this code as if by an exception, like 0xC0000005. Does not return. */
void nt_box_crash(struct nt_process *self, DWORD code);

const struct nt_token *nt_box_token(const struct nt_process *self);
DWORD nt_box_id(const struct nt_process *self);
DWORD nt_box_parent_id(const struct nt_process *self);
const wchar_t *nt_box_command_line(const struct nt_process *self);
const wchar_t *nt_box_directory(const struct nt_process *self);
const wchar_t *nt_box_image(const struct nt_process *self);
/* The value of a variable, NULL without. */
const wchar_t *nt_box_variable(const struct nt_process *self, const wchar_t *name);
const wchar_t *nt_box_environment(const struct nt_process *self);
/* Handles that it has, and whether this one of the launcher's numbers is one of them. */
unsigned nt_box_handles(const struct nt_process *self);
bool nt_box_has_handle(const struct nt_process *self, HANDLE handle);
/* "station\desktop". */
const wchar_t *nt_box_desktop(const struct nt_process *self);
/* "" without a console, "pseudo", "launcher" or "own". */
const char *nt_box_console(const struct nt_process *self);
/* The mitigation bits that it was created with. */
uint64_t nt_box_mitigations(const struct nt_process *self);

#endif
