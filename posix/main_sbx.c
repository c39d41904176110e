/* The program sbx on POSIX: checks what the system hands over, then the command line takes over. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/buf.h"
#include "common/base/utf8.h"
#include "common/cli/cli.h"
#include "common/os.h"
#include "posix/keeper.h"
#include "posix/system.h"
#ifdef __APPLE__
#include "posix/macos_first.h"
#endif

#include "common/base/banned.h"

enum { EXIT_REFUSED = 125 };

/* A closed standard stream would give its number to the next file opened, and that file to the
 * command. */
static bool open_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", O_RDWR) != fd) {
            return false;
        }
    }
    return true;
}

static int refuse_argument(int index, const char *text)
{
    AUTO_BUF message;
    sbx_buf_init(&message, 4096);
    sbx_buf_printf(&message, "sbx: argument %d is not valid UTF-8: ", index);
    sbx_buf_add_visible(&message, sbx_str(text), true);
    sbx_buf_add_text(&message, "\nsbx: nothing was run; rename the file, or pass the text through "
                               "a file or standard input\n");
    (void)!sbx_os_write(SBX_STDERR, sbx_buf_text(&message), message.len, NULL);
    return EXIT_REFUSED;
}

/* What the self-test tries in a box has nothing to hide, and must be a program like any other: of one that hides its
 * memory a box's first process cannot read which file it asks for. */
static bool is_attempt(int argc, char **argv)
{
    return argc > 2 && strcmp(argv[1], "selftest") == 0 && strcmp(argv[2], "--probe") == 0;
}

/* Everything else after the word is for the command line: help, and what is wrong. */
static bool is_serve(int argc, char **argv)
{
    return (argc == 2 || (argc == 3 && strcmp(argv[2], "--stdio") == 0)) &&
           strcmp(argv[1], "serve") == 0;
}

/* `sbx serve` is sbxd, which stands beside sbx or is a helper of the package: so that sbx itself has no loop to link. */
static int serve(char **argv)
{
    static const char *const places[] = {"sbxd", "../libexec/sbx/sbxd"};
    char path[PATH_MAX + 32];
    char self[PATH_MAX];
    if (!sbx_system_self(self, sizeof self) || strrchr(self, '/') == NULL) {
        return EXIT_REFUSED;
    }
    *(strrchr(self, '/') + 1) = '\0';
    argv[1] = (char *)(uintptr_t) "sbxd";
    for (size_t i = 0; i < SBX_COUNT(places); i++) {
        (void)snprintf(path, sizeof path, "%s%s", self, places[i]);
        (void)execv(path, argv + 1);
    }
    static const char text[] = "sbx: error[not-found]: there is no sbxd beside sbx\n"
                               "  fix: install both programs in the same directory\n";
    (void)!sbx_os_write(SBX_STDERR, text, sizeof text - 1, NULL);
    return EXIT_REFUSED;
}

int main(int argc, char **argv)
{
#ifdef __APPLE__
    if (sbx_first_is_asked(argc, argv)) {
        sbx_first_main();
    }
#endif
    if (!is_attempt(argc, argv)) {
        sbx_system_harden(); /* before anything worth hiding is in memory */
    }
    /* A caller that ignores it (some supervisors do) would have the kernel throw away how children ended,
     * of sbx and of every program it starts. */
    (void)signal(SIGCHLD, SIG_DFL);
    if (!open_standard_streams()) {
        return EXIT_REFUSED;
    }
    for (int i = 0; i < argc; i++) {
        if (!sbx_utf8_valid(argv[i], strlen(argv[i]), NULL)) {
            return refuse_argument(i, argv[i]);
        }
    }
    if (is_serve(argc, argv)) {
        return serve(argv);
    }
    sbx_keeper_leave_rest();
    return sbx_cli_main(argc, (const char *const *)argv);
}
