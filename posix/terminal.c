/* The terminal of a box. */
#include "posix/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "posix/fd.h"

#include "common/base/banned.h"

static bool copy_size(int from, int to)
{
    struct winsize size;
    return ioctl(from, TIOCGWINSZ, &size) == 0 && ioctl(to, TIOCSWINSZ, &size) == 0;
}

bool sbx_terminal_pair(int *master_fd, int *slave_fd)
{
    AUTO_FD master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) {
        return false;
    }
    const char *name = ptsname(master); /* one thread at a time makes boxes */
    AUTO_FD slave = name == NULL ? -1 : open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (slave < 0 || !sbx_fd_set_nonblocking(master)) {
        return false;
    }
    (void)(copy_size(STDIN_FILENO, slave) || copy_size(STDOUT_FILENO, slave));
    *master_fd = SBX_TAKE(master, -1);
    *slave_fd = SBX_TAKE(slave, -1);
    return true;
}

void sbx_terminal_open(struct sbx_terminal *terminal, int master_fd, struct sbx_tail *tail)
{
    terminal->master_fd = master_fd;
    terminal->is_raw = false;
    terminal->keys_ended = false;
    terminal->screen_ended = false;
    terminal->tail = tail;
    terminal->keys_at = terminal->keys_len = 0;
    terminal->screen_at = terminal->screen_len = 0;
    sbx_terminal_take(terminal);
}

void sbx_terminal_take(struct sbx_terminal *terminal)
{
    if (terminal->master_fd < 0 || terminal->is_raw ||
        tcgetattr(STDIN_FILENO, &terminal->saved) != 0) {
        return;
    }
    struct termios raw = terminal->saved;
    cfmakeraw(&raw);
    terminal->is_raw = tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
}

void sbx_terminal_give_back(struct sbx_terminal *terminal)
{
    if (terminal->is_raw) {
        (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &terminal->saved);
        terminal->is_raw = false;
    }
}

void sbx_terminal_close(struct sbx_terminal *terminal)
{
    sbx_terminal_give_back(terminal);
    terminal->master_fd = -1;
}

void sbx_terminal_resize(const struct sbx_terminal *terminal)
{
    (void)(copy_size(STDIN_FILENO, terminal->master_fd) ||
           copy_size(STDOUT_FILENO, terminal->master_fd));
}

void sbx_terminal_slots(const struct sbx_terminal *terminal, struct pollfd *keys,
                        struct pollfd *screen)
{
    bool has_keys = terminal->keys_at < terminal->keys_len;
    bool has_screen = terminal->screen_at < terminal->screen_len;
    *keys = (struct pollfd){.fd = -1};
    *screen = (struct pollfd){.fd = -1};
    if (terminal->master_fd < 0) {
        return;
    }
    if (has_keys) {
        *keys = (struct pollfd){.fd = terminal->master_fd, .events = POLLOUT};
    } else if (!terminal->keys_ended) {
        *keys = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
    }
    if (has_screen) {
        *screen = (struct pollfd){.fd = STDOUT_FILENO, .events = POLLOUT};
    } else if (!terminal->screen_ended) {
        *screen = (struct pollfd){.fd = terminal->master_fd, .events = POLLIN};
    }
}

/* The end of a piped input is what a terminal calls end of file: control-D. */
static void read_keys(struct sbx_terminal *terminal)
{
    ssize_t got = sbx_fd_read(STDIN_FILENO, terminal->keys, sizeof terminal->keys);
    terminal->keys_at = 0;
    terminal->keys_len = got > 0 ? (size_t)got : 0;
    if (got == 0 || (got < 0 && errno != EAGAIN)) {
        terminal->keys_ended = true;
        terminal->keys[0] = 4;
        terminal->keys_len = 1;
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

static bool read_screen(struct sbx_terminal *terminal)
{
    ssize_t got = sbx_fd_read(terminal->master_fd, terminal->screen, sizeof terminal->screen);
    terminal->screen_at = 0;
    terminal->screen_len = got > 0 ? (size_t)got : 0;
    if (got > 0 && terminal->tail != NULL) {
        sbx_tail_keep(terminal->tail, terminal->screen, (size_t)got);
    }
    if (got < 0 && errno != EAGAIN && errno != EINTR) {
        terminal->keys_ended = true; /* EIO: nobody has the other side open */
        terminal->screen_ended = true;
    }
    return got > 0;
}

/* A terminal that can be written takes at least a little. */
static bool write_screen(struct sbx_terminal *terminal)
{
    size_t part = terminal->screen_len - terminal->screen_at;
    ssize_t put = write(STDOUT_FILENO, terminal->screen + terminal->screen_at,
                        part < 1024 ? part : 1024);
    if (put > 0) {
        terminal->screen_at += (size_t)put;
        return true;
    }
    if (put < 0 && (errno == EAGAIN || errno == EINTR)) {
        return true;
    }
    terminal->screen_at = terminal->screen_len; /* nobody looks any more */
    return false;
}

void sbx_terminal_step(struct sbx_terminal *terminal, const struct pollfd *keys,
                       const struct pollfd *screen)
{
    if (terminal->master_fd < 0) {
        return;
    }
    if (keys->revents != 0 && keys->fd >= 0) {
        if (terminal->keys_at < terminal->keys_len) {
            write_keys(terminal);
        } else {
            read_keys(terminal);
        }
    }
    if (screen->revents != 0 && screen->fd >= 0) {
        if (terminal->screen_at < terminal->screen_len) {
            (void)write_screen(terminal);
        } else {
            (void)read_screen(terminal);
        }
    }
}

void sbx_terminal_drain(struct sbx_terminal *terminal)
{
    if (terminal->master_fd < 0) {
        return;
    }
    do {
        while (terminal->screen_at < terminal->screen_len && write_screen(terminal)) {
        }
    } while (read_screen(terminal));
}
