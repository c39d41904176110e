/* What the files of the self-test on Windows share. They are not the pipeline: they call Windows directly, also to do
 * outside what a box must not. Libraries that sbx does not need otherwise are looked up when a case asks. */
#ifndef SBX_WIN_SELFTEST_H
#define SBX_WIN_SELFTEST_H

#include "common/run/selftest.h"
#include "win/winapi.h"

#define SBX_SELFTEST_ALONE                                                                         \
    {                                                                                              \
        NULL, NULL, NULL, 0, NULL                                                                  \
    }

/* A function of a system library that is not linked; NULL when this Windows has none. */
#define SBX_LATE(dll, name) ((__typeof__(&(name)))(void (*)(void))sbx_late((dll), #name))
FARPROC sbx_late(const wchar_t *dll, const char *name);

/* ---- attempts (selftest_attempt.c) ---- */

/* Tables of attempts; each ends with SBX_SELFTEST_ALONE. */
extern const struct sbx_attempt sbx_attempts_file[];
extern const struct sbx_attempt sbx_attempts_link[];
extern const struct sbx_attempt sbx_attempts_process[];
extern const struct sbx_attempt sbx_attempts_resource[];
extern const struct sbx_attempt sbx_attempts_token[];
extern const struct sbx_attempt sbx_attempts_desktop[];
extern const struct sbx_attempt sbx_attempts_console[];
extern const struct sbx_attempt sbx_attempts_system[];
extern const struct sbx_attempt sbx_attempts_network[];

/* What a raw code says: refused, not there, or (BROKEN) something that nobody thought of, which must not pass for a
 * refusal. */
void sbx_reply_win32(struct sbx_reply *reply, DWORD raw, const char *call, const char *subject);
void sbx_reply_hresult(struct sbx_reply *reply, HRESULT raw, const char *call, const char *subject);

/* An argument for Windows, as it stands; lives as long as the process. "" when it is no text. */
wchar_t *sbx_attempt_wide(const char *text);
/* "0x1000" and "4096"; 0 for anything else. */
uint64_t sbx_attempt_number(const char *text);
const char *sbx_attempt_text(const wchar_t *wide);

/* Starts this program again as an attempt, suspended when `flags` say so; false with the last error. */
bool sbx_attempt_start(const wchar_t *words, DWORD flags, PROCESS_INFORMATION *out);

/* ---- groups of cases ---- */

extern const struct sbx_selftest_group sbx_selftest_box_group;         /* selftest_box.c */
extern const struct sbx_selftest_group sbx_selftest_identity_group;    /* selftest_box.c */
extern const struct sbx_selftest_group sbx_selftest_environment_group; /* selftest_box.c */
extern const struct sbx_selftest_group sbx_selftest_files_group;       /* selftest_files.c */
extern const struct sbx_selftest_group sbx_selftest_paths_group;       /* selftest_files.c */
extern const struct sbx_selftest_group sbx_selftest_limits_group;      /* selftest_limits.c */
extern const struct sbx_selftest_group sbx_selftest_ending_group;      /* selftest_limits.c */
extern const struct sbx_selftest_group sbx_selftest_attack_group;      /* selftest_attack.c */
extern const struct sbx_selftest_group sbx_selftest_ui_group;          /* selftest_attack.c */
extern const struct sbx_selftest_group sbx_selftest_network_group;     /* selftest_network.c */
extern const struct sbx_selftest_group sbx_selftest_terminal_group;    /* selftest_terminal.c */
extern const struct sbx_selftest_group sbx_selftest_nesting_group;     /* selftest_nesting.c */
extern const struct sbx_selftest_group sbx_selftest_matrix_group;      /* selftest_matrix.c */
extern const struct sbx_selftest_group sbx_selftest_tools_group;       /* selftest_tools.c */
extern const struct sbx_selftest_group sbx_selftest_growth_group;      /* selftest_growth.c */
extern const struct sbx_selftest_group sbx_selftest_leftovers_group;   /* selftest_leftovers.c */

/* ---- starting things (selftest_spawn.c) ---- */

struct sbx_selftest_around {
    HANDLE job;         /* the process is started in it; NULL: in none of ours */
    HPCON terminal;     /* that it gets instead of pipes; NULL: pipes */
    HANDLE terminal_in; /* what is read of the terminal */
    DWORD flags;        /* further ones of CreateProcessW */
    /* Called when a process that was started has ended, while its streams are still read: a terminal that is closed
     * here ends its stream. NULL: nothing is to be done. */
    void (*ended)(void *state);
    void *ended_state;
};
/* An sbx_selftest_spawner; `state` is a struct sbx_selftest_around. */
sbx_selftest_spawner sbx_selftest_spawn_around;

/* ---- sockets (selftest_socket.c) ---- */

/* All of them answer a code of Winsock, 0 for success. */
int sbx_socket_listen(uint64_t *listener, uint16_t *port);
int sbx_socket_accept(uint64_t listener, unsigned timeout_ms);
int sbx_socket_connect(uint16_t port, unsigned timeout_ms);
int sbx_socket_resolve(const char *host, char *address, size_t size);
int sbx_socket_connect_to(const char *host, uint16_t port, unsigned timeout_ms);
void sbx_socket_close(uint64_t listener);
#define SBX_NO_SOCKET UINT64_MAX

/* ---- files (selftest.c) ---- */

/* Removes a directory and all below it, without following links. */
void sbx_selftest_remove(const char *directory);
/* The path for Windows, with the long prefix; NULL without memory. */
wchar_t *sbx_selftest_wide(struct sbx_selftest *t, const char *path);
/* A new file with one byte; false when that cannot be. */
bool sbx_selftest_touch(struct sbx_selftest *t, const char *path);

#endif
