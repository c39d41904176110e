/* One attack each, tried from inside a box: what the classes of attacks share.
 *
 *     sbx-probe NAME=VALUE... ID...
 *
 * Every id is tried in a process of its own and answers one line on standard output:
 *
 *     R01 DONE detail            the attack worked
 *     R01 DENIED EPERM detail    it was refused, with this error (or signal)
 *     R01 ABSENT detail          what it aims at is not there
 *     R01 ERROR detail           the probe itself could not be carried out: proves nothing
 *
 * NAME=VALUE tells where things are (probe_place). Nothing here harms a machine on which it works:
 * what is global is opened and not written, calls that would change the system have arguments that
 * cannot be right, loops have an end. */
#ifndef SBX_TESTS_PROBE_H
#define SBX_TESTS_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct probe {
    const char *id;
    const char *what;
    void (*run)(void);
};

/* The classes; each table ends with a row without an id. */
extern const struct probe probe_read[];
extern const struct probe probe_write[];
extern const struct probe probe_change[];
extern const struct probe probe_create[];
extern const struct probe probe_git[];
extern const struct probe probe_process[];
extern const struct probe probe_network[];
extern const struct probe probe_ipc[];
extern const struct probe probe_resource[];
extern const struct probe probe_terminal[];
extern const struct probe probe_inherited[];
extern const struct probe probe_privilege[];
extern const struct probe probe_kernel[];
extern const struct probe probe_behaviour[];

/* What every planted secret starts with. */
#define PROBE_MARK "planted:"

/* The answers; none returns. `denied` and `settled` read errno: call them right after the failure. */
#define PROBE_ANSWER __attribute__((noreturn, format(printf, 1, 2)))
PROBE_ANSWER void probe_done(const char *format, ...);
PROBE_ANSWER void probe_denied(const char *format, ...);
PROBE_ANSWER void probe_absent(const char *format, ...);
PROBE_ANSWER void probe_broken(const char *format, ...);

/* DONE when the result is not negative, else ABSENT or DENIED by errno. */
__attribute__((noreturn)) void probe_settle(long result, const char *what);
/* For calls with arguments that cannot be right: any error but a refusal means it was reached. */
__attribute__((noreturn)) void probe_reached(long result, const char *what);

/* The value of NAME=VALUE; ends the probe with ERROR when it was not given. */
const char *probe_place(const char *name);
long probe_number(const char *name);
/* The same, NULL when it was not given. */
const char *probe_place_if(const char *name);

/* "PLACE/name" in one of a few static buffers. */
const char *probe_path(const char *place, const char *name);
__attribute__((format(printf, 1, 2))) const char *probe_format(const char *format, ...);

/* Reads up to `size` - 1 bytes and ends them with NUL; -1 with errno when the file cannot be read. */
ssize_t probe_slurp(const char *path, char *text, size_t size);
ssize_t probe_slurp_at(int directory, const char *path, char *text, size_t size);
/* DONE when the file has a planted secret. */
__attribute__((noreturn)) void probe_secret(const char *path);
/* Writes one line into the file (made when absent); -1 with errno. */
int probe_scribble(const char *path);
/* Makes a file, or ends with ERROR. */
void probe_make(const char *path);
void probe_make_directory(const char *path);
/* The name is there, not following links. */
bool probe_exists(const char *path);
/* The process that started the command: 1 in a box with its own pids. */
pid_t probe_launcher(void);
/* The mount namespace is that of the host (place "hostmnt"), where no mount may be tried on /etc. */
bool probe_on_host(void);
void probe_sleep_ms(long ms);
/* Descriptors from 3 up that were there when the program started, as a bit set of the first 64. */
unsigned long long probe_inherited_set(void);
/* argv[0] made absolute, to start the program again. */
const char *probe_self(void);

#endif
