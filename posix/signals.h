/* Signals while a plain child runs: caught and queued, and what the child is born with. */
#ifndef SBX_POSIX_SIGNALS_H
#define SBX_POSIX_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

#include "common/base/attr.h"

enum { SBX_SIGNALS_CAUGHT = 11 };

/* The value that a parent queues with SIGTERM to say: end the box at once. */
enum { SBX_SIGNAL_ENDS = 0x5b78656e };

/* The state sbx itself was started with. */
struct sbx_signals {
    sigset_t mask;
    struct sigaction old[SBX_SIGNALS_CAUGHT];
};

struct sbx_signal_event {
    int number;
    bool ends;        /* queued with SBX_SIGNAL_ENDS by the parent */
    bool from_kernel; /* the terminal's doing: it went to the whole foreground group */
};

/* From the first call on, a write to a closed pipe is an error and not a signal. */
void sbx_signals_ignore_pipe(void);

/* Catches the signals that are forwarded, but leaves alone what the caller had ignored (nohup, a
 * background job of a plain shell), and unblocks them. Events go to the descriptor as whole
 * structs. One catcher at a time. */
void sbx_signals_catch(struct sbx_signals *signals, int event_fd);

/* Only takes down what is, for a child to get it back. */
void sbx_signals_look(struct sbx_signals *signals);

/* Puts everything back. */
void sbx_signals_release(const struct sbx_signals *signals);

/* Makes one caught signal do its default work on the calling process (stop it), then catches it
 * again. */
void sbx_signals_take_default(int number);

/* Blocks all signals; the result of the matching call puts the mask back. Around fork. */
sigset_t sbx_signals_block(void);
void sbx_signals_unblock(const sigset_t *mask);

/* In the keeper, with all signals blocked: ignores what the catcher forwards, reports every change
 * of a child as a byte to the descriptor, and unblocks. */
void sbx_signals_keep(int wake_fd);

/* In the child, with all signals blocked: dispositions and mask as sbx itself was started with.
 * Async-signal-safe. */
void sbx_signals_restore(const struct sbx_signals *signals);

#endif
