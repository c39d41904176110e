/* Attacks on the terminal that sbx was started from; standard input is one in these runs. */
#include "tests/probe/probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include "common/base/banned.h"

static void need_terminal(void)
{
    if (!isatty(0)) probe_broken("standard input is not a terminal");
}

static void controlling(void)
{
    probe_settle(open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY), "opened the terminal");
}

static void inject_with(unsigned long request)
{
    need_terminal();
    /* A byte that no line editor acts on. */
    char byte = '\0';
    probe_settle(syscall(SYS_ioctl, 0, request, &byte), "put a byte into the terminal's input");
}

static void inject(void)
{
    inject_with(TIOCSTI);
}

static void inject_high_bits(void)
{
    inject_with(TIOCSTI | 0xffffffff00000000ul);
}

static void inject_output(void)
{
    char byte = '\0';
    if (!isatty(1)) probe_broken("standard output is not a terminal");
    probe_settle(ioctl(1, TIOCSTI, &byte), "put a byte into the terminal's input");
}

/* On a pseudo-terminal the kernel does not know the request (ENOTTY): then it was reached. */
static void console_selection(void)
{
    need_terminal();
    char argument[2] = {3, 0}; /* paste */
    probe_reached(syscall(SYS_ioctl, 0, TIOCLINUX, argument), "TIOCLINUX");
}

static void console_high_bits(void)
{
    need_terminal();
    char argument[2] = {3, 0};
    probe_reached(syscall(SYS_ioctl, 0, TIOCLINUX | 0xffffffff00000000ul, argument), "TIOCLINUX");
}

static void steal(void)
{
    need_terminal();
    (void)setsid();
    /* From the session that has it, which takes a capability. */
    probe_settle(ioctl(0, TIOCSCTTY, 1), "made it the controlling terminal");
}

static void host_terminals(void)
{
    const char *name = probe_place("pty");
    struct stat found;
    if (stat(name, &found) != 0) probe_settle(-1, "a host terminal");
    probe_settle(open(name, O_RDWR | O_CLOEXEC | O_NOCTTY), "opened a host terminal");
}

static void list_terminals(void)
{
    DIR *directory = opendir("/dev/pts");
    if (directory == NULL) probe_settle(-1, "list terminals");
    int count = 0;
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        count += entry->d_name[0] >= '0' && entry->d_name[0] <= '9';
    }
    if (count > 0) probe_done("%d terminals are visible", count);
    probe_absent("none");
}

/* Reached through the name of the descriptor: a new description of the same terminal. */
static void reopen(void)
{
    need_terminal();
    int fd = open("/proc/self/fd/0", O_RDWR | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) probe_settle(-1, "open it again");
    char byte = '\0';
    probe_settle(ioctl(fd, TIOCSTI, &byte), "put a byte into its input");
}

static void escapes(void)
{
    if (!isatty(1)) probe_broken("standard output is not a terminal");
    probe_settle(write(1, "\033]2;sbx-probe\a", 14) == 14 ? 0 : -1, "set the terminal's title");
}

const struct probe probe_terminal[] = {{"T01", "open /dev/tty", controlling},
                                       {"T02", "TIOCSTI on standard input", inject},
                                       {"T02b", "TIOCSTI on standard output", inject_output},
                                       {"T02c", "TIOCSTI on the terminal opened again", reopen},
                                       {"T03", "open a host terminal by its name", host_terminals},
                                       {"T03b", "host terminals are visible", list_terminals},
                                       {"T04", "escape sequences reach the terminal", escapes},
                                       {"LK01", "TIOCSTI with high bits set", inject_high_bits},
                                       {"LK01b", "TIOCLINUX", console_selection},
                                       {"LK01c", "TIOCLINUX with high bits set", console_high_bits},
                                       {"LK01d", "make it the controlling terminal", steal},
                                       {NULL, NULL, NULL}};
