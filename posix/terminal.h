/* The terminal of a box: a pseudo terminal of its own, carried to and from the caller's, whose modes are given
 * back whatever happens. The box never holds the caller's terminal. */
#ifndef SBX_POSIX_TERMINAL_H
#define SBX_POSIX_TERMINAL_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <termios.h>

#include "common/base/attr.h"
#include "posix/pump.h"

struct sbx_terminal {
    int master_fd;     /* owned; -1: none, or hung up */
    int screen_fd;     /* where the caller looks: standard output, or the same opened again */
    bool has_keyboard; /* standard input is a terminal, and its modes are in our care */
    bool is_raw;       /* and in our hands: keys are taken only then */
    bool keys_ended, is_done;  /* nothing more comes from the caller; from the box */
    bool is_over;              /* the box showed more than the maximum */
    char last_key;             /* what an end of input follows */
    struct termios saved, raw; /* the caller's modes, and what we made of them */
    struct sbx_tail *tail;     /* of what the screen shows; NULL: not kept */
    uint64_t max_bytes, taken_bytes, passed_bytes;   /* as of a pump */
    size_t keys_at, keys_len, screen_at, screen_len; /* what is still to be written */
    char keys[4096];
    char screen[65536];
};

/* A new pair, with the caller's window size, or 80 by 24; both close-on-exec. False with errno. */
bool sbx_terminal_pair(int *master_fd, int *slave_fd) SBX_MUST_USE;

/* Is the calling process one that the terminal's keys are for? Also when the terminal is not its own: then
 * nobody else is known to be. */
bool sbx_terminal_is_foreground(int fd);

/* Has the calling process a terminal on a standard stream? */
bool sbx_terminal_is_there(void);

/* Has the calling process a terminal on a standard stream whose keys are for another job? */
bool sbx_terminal_is_background(void);

/* master_fd -1: there is none, and every other function does nothing. max_bytes 0: no maximum. */
void sbx_terminal_open(struct sbx_terminal *terminal, int master_fd, uint64_t max_bytes,
                       struct sbx_tail *tail);
void sbx_terminal_close(struct sbx_terminal *terminal);

/* Raw mode on, and what it was before. Nothing is taken in the background, and nothing given back that somebody
 * else has changed meanwhile. */
void sbx_terminal_take(struct sbx_terminal *terminal);
void sbx_terminal_give_back(struct sbx_terminal *terminal);

void sbx_terminal_resize(const struct sbx_terminal *terminal);

void sbx_terminal_slots(const struct sbx_terminal *terminal, struct pollfd *keys,
                        struct pollfd *screen);
void sbx_terminal_step(struct sbx_terminal *terminal, const struct pollfd *keys,
                       const struct pollfd *screen);

/* After the last process: shows as much as goes without waiting; is_done when that was all. */
void sbx_terminal_drain(struct sbx_terminal *terminal);

bool sbx_terminal_is_done(const struct sbx_terminal *terminal);

/* The modes of the caller's terminal while something else holds it. */
struct sbx_modes {
    int fd; /* -1: there is no terminal, or it is not ours to care for */
    struct termios modes;
};
void sbx_modes_save(struct sbx_modes *modes);

/* Puts them back if they were changed and the terminal is still ours. */
void sbx_modes_restore(const struct sbx_modes *modes);

#endif
