/* The terminal of a box. */
#include "posix/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "posix/fd.h"

#include "common/base/banned.h"

enum { END_OF_INPUT = 4 /* control-D */, STEP_BYTES = 1024 };

/* ---- size ---------------------------------------------------------------------------------------- */

static bool copy_size(int from, int to)
{
    struct winsize size = {0};
    return ioctl(from, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0 &&
           ioctl(to, TIOCSWINSZ, &size) == 0;
}

static bool copy_callers_size(int to)
{
    return copy_size(STDIN_FILENO, to) || copy_size(STDOUT_FILENO, to) ||
           copy_size(STDERR_FILENO, to);
}

bool sbx_terminal_pair(int *master_fd, int *slave_fd)
{
    static const struct winsize usual = {.ws_row = 24, .ws_col = 80};
    AUTO_FD master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) {
        return false;
    }
    const char *name = ptsname(master); /* one thread at a time makes boxes */
    AUTO_FD slave = name == NULL ? -1 : open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (slave < 0 || !sbx_fd_set_nonblocking(master)) {
        return false;
    }
    if (!copy_callers_size(slave)) {
        (void)ioctl(slave, TIOCSWINSZ, &usual);
    }
    *master_fd = SBX_TAKE(master, -1);
    *slave_fd = SBX_TAKE(slave, -1);
    return true;
}

void sbx_terminal_resize(const struct sbx_terminal *terminal)
{
    if (terminal->master_fd >= 0) {
        (void)copy_callers_size(terminal->master_fd);
    }
}

/* ---- modes --------------------------------------------------------------------------------------- */

bool sbx_terminal_is_foreground(int fd)
{
    pid_t owner = tcgetpgrp(fd);
    return owner < 0 || owner == getpgrp();
}

bool sbx_terminal_is_there(void)
{
    return isatty(STDIN_FILENO) == 1 || isatty(STDOUT_FILENO) == 1 || isatty(STDERR_FILENO) == 1;
}

bool sbx_terminal_is_background(void)
{
    return !sbx_terminal_is_foreground(STDIN_FILENO) ||
           !sbx_terminal_is_foreground(STDOUT_FILENO) || !sbx_terminal_is_foreground(STDERR_FILENO);
}

static bool is_same_modes(const struct termios *a, const struct termios *b)
{
    return a->c_iflag == b->c_iflag && a->c_oflag == b->c_oflag && a->c_cflag == b->c_cflag &&
           a->c_lflag == b->c_lflag && memcmp(a->c_cc, b->c_cc, sizeof a->c_cc) == 0;
}

/* Nothing waits for the output to be read here: whoever should read it may have stopped. */
static bool set_modes(int fd, const struct termios *modes)
{
    int done;
    do {
        done = tcsetattr(fd, TCSANOW, modes);
    } while (done != 0 && errno == EINTR);
    return done == 0;
}

void sbx_terminal_take(struct sbx_terminal *terminal)
{
    if (terminal->master_fd < 0 || !terminal->has_keyboard || terminal->is_raw ||
        !sbx_terminal_is_foreground(STDIN_FILENO) ||
        tcgetattr(STDIN_FILENO, &terminal->saved) != 0) {
        return;
    }
    terminal->raw = terminal->saved;
    cfmakeraw(&terminal->raw);
    terminal->is_raw = set_modes(STDIN_FILENO, &terminal->raw);
    if (terminal->is_raw) {
        (void)tcgetattr(STDIN_FILENO, &terminal->raw);
        sbx_terminal_resize(terminal); /* it may have been another window's turn meanwhile */
    }
}

/* When sbx was killed, the shell may have the terminal by now, in modes of its own. */
void sbx_terminal_give_back(struct sbx_terminal *terminal)
{
    struct termios now = {0};
    if (!terminal->is_raw) {
        return;
    }
    terminal->is_raw = false;
    if (tcgetattr(STDIN_FILENO, &now) == 0 &&
        (sbx_terminal_is_foreground(STDIN_FILENO) || is_same_modes(&now, &terminal->raw))) {
        (void)set_modes(STDIN_FILENO, &terminal->saved);
    }
}

void sbx_modes_save(struct sbx_modes *modes)
{
    modes->fd = -1;
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO && modes->fd < 0; fd++) {
        if (sbx_terminal_is_foreground(fd) && tcgetattr(fd, &modes->modes) == 0) {
            modes->fd = fd;
        }
    }
}

void sbx_modes_restore(const struct sbx_modes *modes)
{
    struct termios now = {0};
    if (modes->fd >= 0 && sbx_terminal_is_foreground(modes->fd) &&
        tcgetattr(modes->fd, &now) == 0 && !is_same_modes(&now, &modes->modes)) {
        (void)set_modes(modes->fd, &modes->modes);
    }
}

/* ---- life ---------------------------------------------------------------------------------------- */

/* A terminal that takes only part of a write would hold up the keeper; opened again, it can be told not to, and
 * nobody who shares standard output notices. */
static int open_screen(void)
{
    struct stat own = {0};
    struct stat other = {0};
    char name[256];
    AUTO_FD fd = ttyname_r(STDOUT_FILENO, name, sizeof name) != 0
                     ? -1
                     : open(name, O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &other) != 0 || fstat(STDOUT_FILENO, &own) != 0 ||
        own.st_rdev != other.st_rdev) {
        return STDOUT_FILENO;
    }
    return SBX_TAKE(fd, -1);
}

void sbx_terminal_open(struct sbx_terminal *terminal, int master_fd, uint64_t max_bytes,
                       struct sbx_tail *tail)
{
    terminal->master_fd = master_fd;
    terminal->screen_fd = master_fd < 0 ? STDOUT_FILENO : open_screen();
    terminal->has_keyboard = master_fd >= 0 && isatty(STDIN_FILENO) == 1;
    terminal->is_raw = false;
    terminal->keys_ended = false;
    terminal->is_done = master_fd < 0;
    terminal->is_over = false;
    terminal->last_key = '\n';
    terminal->tail = tail;
    terminal->max_bytes = max_bytes == 0 ? UINT64_MAX : max_bytes;
    terminal->taken_bytes = terminal->passed_bytes = 0;
    terminal->keys_at = terminal->keys_len = 0;
    terminal->screen_at = terminal->screen_len = 0;
    sbx_terminal_take(terminal);
}

/* The kernel tells the processes of the box that their terminal is gone. */
static void hang_up(struct sbx_terminal *terminal)
{
    sbx_fd_close(&terminal->master_fd);
    terminal->keys_ended = true;
    terminal->is_done = true;
    terminal->screen_at = terminal->screen_len = 0;
}

void sbx_terminal_close(struct sbx_terminal *terminal)
{
    sbx_terminal_give_back(terminal);
    hang_up(terminal);
    if (terminal->screen_fd != STDOUT_FILENO) {
        sbx_fd_close(&terminal->screen_fd);
    }
}

/* ---- carrying ------------------------------------------------------------------------------------ */

static bool takes_keys(const struct sbx_terminal *terminal)
{
    return !terminal->keys_ended && (!terminal->has_keyboard || terminal->is_raw);
}

void sbx_terminal_slots(const struct sbx_terminal *terminal, struct pollfd *keys,
                        struct pollfd *screen)
{
    *keys = (struct pollfd){.fd = -1};
    *screen = (struct pollfd){.fd = -1};
    if (terminal->master_fd < 0) {
        return;
    }
    if (terminal->keys_at < terminal->keys_len) {
        *keys = (struct pollfd){.fd = terminal->master_fd, .events = POLLOUT};
    } else if (takes_keys(terminal)) {
        *keys = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
    }
    if (terminal->screen_at < terminal->screen_len) {
        *screen = (struct pollfd){.fd = terminal->screen_fd, .events = POLLOUT};
    } else if (!terminal->is_done) {
        *screen = (struct pollfd){.fd = terminal->master_fd, .events = POLLIN};
    }
}

/* The end of a piped input is what a terminal calls end of file: control-D, or what the box has made of it. In
 * the middle of a line the first one only hands over what is there. */
static void end_keys(struct sbx_terminal *terminal)
{
    struct termios modes = {0};
    char end = END_OF_INPUT;
    if (tcgetattr(terminal->master_fd, &modes) == 0 && (modes.c_lflag & ICANON) != 0) {
        end = (char)modes.c_cc[VEOF];
    }
    terminal->keys_ended = true;
    terminal->keys[0] = end;
    terminal->keys[1] = end;
    terminal->keys_len = terminal->last_key == '\n' ? 1 : 2;
}

static void read_keys(struct sbx_terminal *terminal)
{
    ssize_t got = sbx_fd_read(STDIN_FILENO, terminal->keys, sizeof terminal->keys);
    terminal->keys_at = 0;
    terminal->keys_len = got > 0 ? (size_t)got : 0;
    if (got > 0) {
        terminal->last_key = terminal->keys[got - 1];
    } else if (terminal->has_keyboard && got < 0 && !sbx_terminal_is_foreground(STDIN_FILENO)) {
        terminal->is_raw = false; /* the shell has taken it */
    } else if (got == 0 || errno != EAGAIN) {
        end_keys(terminal);
    }
}

static void write_keys(struct sbx_terminal *terminal)
{
    ssize_t put = write(terminal->master_fd, terminal->keys + terminal->keys_at,
                        terminal->keys_len - terminal->keys_at);
    if (put > 0) {
        terminal->keys_at += (size_t)put;
    } else if (put < 0 && errno != EAGAIN && errno != EINTR) {
        terminal->keys_at = terminal->keys_len;
    }
}

/* True when there is something new to show. */
static bool read_screen(struct sbx_terminal *terminal, bool until_empty)
{
    ssize_t got = sbx_fd_read(terminal->master_fd, terminal->screen, sizeof terminal->screen);
    uint64_t room = terminal->max_bytes - terminal->taken_bytes;
    terminal->screen_at = terminal->screen_len = 0;
    if (got < 0 && (until_empty || errno != EAGAIN)) {
        terminal->keys_ended = true; /* EIO: nobody has the other side open */
        terminal->is_done = true;
    }
    if (got <= 0) {
        return false;
    }
    terminal->screen_len = (size_t)got;
    if (terminal->screen_len > room) {
        terminal->screen_len = (size_t)room;
        terminal->is_over = true;
        terminal->is_done = true;
    }
    terminal->taken_bytes += terminal->screen_len;
    if (terminal->tail != NULL) {
        sbx_tail_keep(terminal->tail, terminal->screen, terminal->screen_len);
    }
    return terminal->screen_len > 0;
}

static bool is_writable(int fd)
{
    struct pollfd slot = {.fd = fd, .events = POLLOUT};
    return poll(&slot, 1, 0) > 0;
}

/* When nobody looks any more, the box is told, as a closed window would. */
static void write_screen(struct sbx_terminal *terminal)
{
    while (terminal->screen_at < terminal->screen_len && is_writable(terminal->screen_fd)) {
        size_t part = terminal->screen_len - terminal->screen_at;
        ssize_t put = write(terminal->screen_fd, terminal->screen + terminal->screen_at,
                            part < STEP_BYTES ? part : STEP_BYTES);
        if (put >= 0) {
            terminal->screen_at += (size_t)put;
            terminal->passed_bytes += (size_t)put;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            return;
        } else if (errno != EINTR) {
            hang_up(terminal);
        }
    }
}

void sbx_terminal_step(struct sbx_terminal *terminal, const struct pollfd *keys,
                       const struct pollfd *screen)
{
    if (keys->revents != 0 && keys->fd >= 0) {
        if (terminal->keys_at < terminal->keys_len) {
            write_keys(terminal);
        } else {
            read_keys(terminal);
        }
    }
    if (screen->revents != 0 && screen->fd >= 0) {
        if (terminal->screen_at == terminal->screen_len) {
            (void)read_screen(terminal, false);
        }
        write_screen(terminal);
    }
}

void sbx_terminal_drain(struct sbx_terminal *terminal)
{
    terminal->keys_ended = true;
    terminal->keys_at = terminal->keys_len = 0;
    do {
        write_screen(terminal);
    } while (terminal->screen_at == terminal->screen_len && !terminal->is_done &&
             read_screen(terminal, true));
}

bool sbx_terminal_is_done(const struct sbx_terminal *terminal)
{
    return terminal->is_done && terminal->screen_at == terminal->screen_len;
}
