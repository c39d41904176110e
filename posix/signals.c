/* Signals while a plain child runs: caught and queued, and what the child is born with. */
#include "posix/signals.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

#include "common/base/banned.h"

static const int caught[SBX_SIGNALS_CAUGHT] = {
    SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGWINCH, SIGTSTP,
    SIGCONT, SIGTTIN, SIGTTOU, SIGUSR1, SIGUSR2,
};

/* What the handlers write to. A handler has no other way to know. */
static volatile sig_atomic_t event_to = -1;
static volatile sig_atomic_t wake_to = -1;

/* ---- SIGPIPE ------------------------------------------------------------------------------------- */

static pthread_once_t pipe_once = PTHREAD_ONCE_INIT;
static struct sigaction pipe_before;

static void ignore_pipe(void)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    (void)sigaction(SIGPIPE, &ignore, &pipe_before);
}

void sbx_signals_ignore_pipe(void)
{
    (void)pthread_once(&pipe_once, ignore_pipe);
}

/* ---- catching ------------------------------------------------------------------------------------ */

static bool is_from_kernel(const siginfo_t *info)
{
#ifdef SI_KERNEL
    return info->si_code == SI_KERNEL;
#else
    return info->si_pid == 0;
#endif
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)context;
    int saved = errno;
    bool ends = info->si_code == SI_QUEUE && info->si_value.sival_int == SBX_SIGNAL_ENDS &&
                info->si_pid == getppid();
    struct sbx_signal_event event = {number, ends, is_from_kernel(info)};
    /* A full pipe drops the event, as the kernel merges equal pending signals. */
    ssize_t put = write(event_to, &event, sizeof event);
    (void)put;
    errno = saved;
}

static void install(int number)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
    (void)sigfillset(&action.sa_mask);
    (void)sigaction(number, &action, NULL);
}

static bool was_ignored(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) == 0 && action->sa_handler == SIG_IGN;
}

void sbx_signals_catch(struct sbx_signals *signals, int event_fd)
{
    sigset_t wanted;
    sbx_signals_look(signals);
    event_to = event_fd;
    (void)sigemptyset(&wanted);
    for (size_t i = 0; i < SBX_SIGNALS_CAUGHT; i++) {
        if (!was_ignored(&signals->old[i])) {
            install(caught[i]);
        }
        (void)sigaddset(&wanted, caught[i]);
    }
    (void)pthread_sigmask(SIG_UNBLOCK, &wanted, NULL);
}

void sbx_signals_look(struct sbx_signals *signals)
{
    sbx_signals_ignore_pipe();
    for (size_t i = 0; i < SBX_SIGNALS_CAUGHT; i++) {
        (void)sigaction(caught[i], NULL, &signals->old[i]);
    }
    (void)pthread_sigmask(SIG_SETMASK, NULL, &signals->mask);
}

void sbx_signals_release(const struct sbx_signals *signals)
{
    for (size_t i = 0; i < SBX_SIGNALS_CAUGHT; i++) {
        (void)sigaction(caught[i], &signals->old[i], NULL);
    }
    (void)pthread_sigmask(SIG_SETMASK, &signals->mask, NULL);
    event_to = -1;
}

void sbx_signals_take_default(int number)
{
    struct sigaction plain = {.sa_handler = SIG_DFL};
    (void)sigaction(number, &plain, NULL);
    (void)raise(number);
    install(number);
}

/* ---- around fork ----------------------------------------------------------------------------- */

sigset_t sbx_signals_block(void)
{
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    return before;
}

void sbx_signals_unblock(const sigset_t *mask)
{
    (void)pthread_sigmask(SIG_SETMASK, mask, NULL);
}

static struct sigaction child_before;

static void on_child(int number)
{
    (void)number;
    int saved = errno;
    ssize_t put = write(wake_to, "", 1);
    (void)put;
    errno = saved;
}

void sbx_signals_keep(int wake_fd)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    for (size_t i = 0; i < SBX_SIGNALS_CAUGHT; i++) {
        (void)sigaction(caught[i], &ignore, NULL);
    }
    wake_to = wake_fd;
    struct sigaction action = {.sa_handler = on_child, .sa_flags = SA_RESTART};
    (void)sigfillset(&action.sa_mask);
    (void)sigaction(SIGCHLD, &action, &child_before);
    sigset_t none;
    (void)sigemptyset(&none);
    (void)pthread_sigmask(SIG_SETMASK, &none, NULL);
}

/* Handlers do not survive exec anyway, but must not run before it. */
static void restore_one(int number, const struct sigaction *before)
{
    struct sigaction action = {.sa_handler = was_ignored(before) ? SIG_IGN : SIG_DFL};
    (void)sigaction(number, &action, NULL);
}

void sbx_signals_restore(const struct sbx_signals *signals)
{
    for (size_t i = 0; i < SBX_SIGNALS_CAUGHT; i++) {
        restore_one(caught[i], &signals->old[i]);
    }
    restore_one(SIGPIPE, &pipe_before);
    restore_one(SIGCHLD, &child_before);
    (void)sigprocmask(SIG_SETMASK, &signals->mask, NULL);
}
