/* Launchers: the processes in which commands are run for clients, one for clients with exactly the same rights, started by
 * the service with the client's own token in the client's session, in a job that ends with the service. The service hands
 * connected clients over to them and understands nothing of what is said there. Nothing here waits for a launcher. */
#ifndef SBX_WIN_LAUNCHER_H
#define SBX_WIN_LAUNCHER_H

#include "win/handover.h"
#include "win/peer.h"

enum { SBX_LAUNCHERS_MAX = 32 };

/* A word of main_sbx.c: sbx.exe as a launcher, whose standard input is the pipe to the service. */
#define SBX_LAUNCHER_WORD "sbx-launcher"

struct sbx_launcher {
    unsigned char rights[SBX_SHA256_BYTES];
    char user[SBX_PEER_USER_TEXT];
    DWORD session;
    HANDLE job; /* NULL: no launcher in this place */
    HANDLE process;
    HANDLE pipe;  /* to it, overlapped */
    HANDLE heard; /* set when it said something, or is gone */
    HANDLE sent;  /* set when what was said last has been taken */
    OVERLAPPED reading, writing;
    uint64_t given; /* clients */
    bool is_writing;
    bool is_ending;         /* gets no more clients */
    ULONGLONG impatient_ms; /* when it is ended by force; 0: never */
    unsigned char in[SBX_HANDOVER_HEAD * 2];
    unsigned char out[SBX_HANDOVER_FRAME_MAX];
};

/* The launcher for these rights, or a new one. SBX_E_LIMIT when all places are taken; nothing is left on failure. */
enum sbx_code sbx_launcher_get(struct sbx_launcher list[SBX_LAUNCHERS_MAX],
                               const struct sbx_peer *peer, struct sbx_launcher **out,
                               struct sbx_err *err) SBX_MUST_USE;

/* Gives it a connected client and the bytes that were read of it. The pipe stays the caller's, to be closed: the launcher
 * has a handle of its own then. SBX_E_UNAVAILABLE when it does not take what it is given. */
enum sbx_code sbx_launcher_hand(struct sbx_launcher *launcher, HANDLE pipe,
                                const unsigned char *first, size_t first_size,
                                struct sbx_err *err) SBX_MUST_USE;

/* To be called when `heard` is set. False: it is gone, or has said what none says, and must be dropped. */
bool sbx_launcher_hear(struct sbx_launcher *launcher);

/* Asks it to end. It is dropped when it has, or when it takes too long (sbx_launcher_is_late). */
void sbx_launcher_end(struct sbx_launcher *launcher);
bool sbx_launcher_is_late(struct sbx_launcher *launcher);

/* Ends it and everything that it started, and frees the place. */
void sbx_launcher_drop(struct sbx_launcher *launcher);

#endif
