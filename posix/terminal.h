/* The terminal of a box: a pseudo terminal of its own, carried to and from the caller's, whose modes are given
 * back whatever happens. The box never holds the caller's terminal. */
#ifndef SBX_POSIX_TERMINAL_H
#define SBX_POSIX_TERMINAL_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

#include "common/base/attr.h"
#include "posix/pump.h"

struct sbx_terminal {
    int master_fd; /* not owned; -1: none */
    bool is_raw;   /* the caller's terminal is in our hands */
    bool keys_ended, screen_ended;
    struct termios saved;
    struct sbx_tail *tail; /* of what the screen shows; NULL: not kept */
    size_t keys_at, keys_len, screen_at, screen_len; /* what is still to be written */
    char keys[4096];
    char screen[65536];
};

/* A new pair, with the caller's window size; both close-on-exec. False with errno. */
bool sbx_terminal_pair(int *master_fd, int *slave_fd) SBX_MUST_USE;

void sbx_terminal_open(struct sbx_terminal *terminal, int master_fd, struct sbx_tail *tail);
void sbx_terminal_close(struct sbx_terminal *terminal);

/* Raw mode on, and what it was before. Both do nothing when there is no terminal or no change. */
void sbx_terminal_take(struct sbx_terminal *terminal);
void sbx_terminal_give_back(struct sbx_terminal *terminal);

void sbx_terminal_resize(const struct sbx_terminal *terminal);

void sbx_terminal_slots(const struct sbx_terminal *terminal, struct pollfd *keys,
                        struct pollfd *screen);
void sbx_terminal_step(struct sbx_terminal *terminal, const struct pollfd *keys,
                       const struct pollfd *screen);

/* After the last process: what it wrote is still to be shown. */
void sbx_terminal_drain(struct sbx_terminal *terminal);

#endif
