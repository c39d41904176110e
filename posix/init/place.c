/* Finds the directory in which the box wants to make an entry, by a path that was copied once. */
#include <linux/fcntl.h>
#include <stddef.h>

#include "posix/init/broker.h"
#include "posix/init/sys.h"
#include "posix/init/text.h"

#include "common/base/banned.h"

enum { NOT_FOUND = -2, IO = -5, BAD_FD = -9, NO_ACCESS = -13, FAULT = -14, NAME_TOO_LONG = -36 };

long call_read_text(const struct call *call, uint64_t address, char out[PATH_BYTES])
{
    long have = 0;
    /* A read that crosses into an unmapped page comes back short or not at all: page by page. */
    while (have < PATH_BYTES) {
        long room = PATH_BYTES - have;
        long page = 4096 - (long)((address + (uint64_t)have) & 4095);
        long got = SYS4(pread64, call->memory_fd, out + have, page < room ? page : room,
                        address + (uint64_t)have);
        if (got <= 0) {
            return FAULT;
        }
        for (long i = have; i < have + got; i++) {
            if (out[i] == '\0') {
                return 0;
            }
        }
        have += got;
    }
    return NAME_TOO_LONG;
}

/* "/proc/PID/what" of the asking process. */
static void own_entry(const struct call *call, const char *what, char *out, size_t size)
{
    out[0] = '\0';
    (void)text_add(out, size, "/proc/");
    (void)text_add_number(out, size, call->request->pid);
    (void)text_add(out, size, what);
}

/* What "self" means to the asking process, not to us. */
static long translate(const struct call *call, const char *path, char out[PATH_BYTES])
{
    static const struct {
        const char *prefix, *what;
    } rows[] = {
        {"/proc/self/", "/"},
        {"/proc/thread-self/", "/"}, /* a thread's number names its directory too */
        {"/dev/fd/", "/fd/"},
    };
    out[0] = '\0';
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (text_starts(path, rows[i].prefix)) {
            own_entry(call, rows[i].what, out, PATH_BYTES);
            path += text_length(rows[i].prefix);
            break;
        }
    }
    return text_add(out, PATH_BYTES, path) ? 0 : NAME_TOO_LONG;
}

/* Where the last component begins. Slashes behind it belong to it. */
static size_t last_at(const char *path)
{
    size_t end = text_length(path);
    while (end > 0 && path[end - 1] == '/') {
        end--;
    }
    while (end > 0 && path[end - 1] != '/') {
        end--;
    }
    return end;
}

static bool is_number(const char *text, const char *end)
{
    const char *at = text;
    while (at < end && *at >= '0' && *at <= '9') {
        at++;
    }
    return at == end && at > text;
}

/* "/proc/N/fd" or "/proc/N/task/M/fd" of any process but this one. */
static bool is_descriptors(const char *path)
{
    size_t length = text_length(path);
    if (!text_starts(path, "/proc/") || length < 10 || !text_is(path + length - 3, "/fd")) {
        return false;
    }
    const char *number = path + 6;
    const char *end = number;
    while (*end != '/') {
        end++;
    }
    return is_number(number, end);
}

/* The name of an open directory. Nothing of this process' own directory may be reached through us: its
 * descriptors are the orders and reports. */
long call_name(int fd, char out[PATH_BYTES])
{
    char entry[64] = "";
    (void)text_add(entry, sizeof entry, "/proc/self/fd/");
    (void)text_add_number(entry, sizeof entry, (unsigned long)fd);
    long got = SYS4(readlinkat, AT_FDCWD, entry, out, PATH_BYTES - 1);
    if (got < 0) {
        return got;
    }
    out[got] = '\0';
    char own[64] = "/proc/";
    (void)text_add_number(own, sizeof own, (unsigned long)SYS0(getpid));
    bool is_own = text_is(out, own) || (text_add(own, sizeof own, "/") && text_starts(out, own));
    return got == PATH_BYTES - 1 ? NAME_TOO_LONG : out[0] != '/' || is_own ? NO_ACCESS : 0;
}

/* The directory's name and the last component make the path; "." and ".." never make anything. */
static long complete(struct spot *spot)
{
    long answer = call_name(spot->directory, spot->path);
    if (answer < 0) {
        return answer;
    }
    spot->is_descriptor = is_descriptors(spot->path);
    size_t end = text_length(spot->last);
    while (end > 0 && spot->last[end - 1] == '/') {
        end--;
    }
    char held = spot->last[end];
    spot->last[end] = '\0';
    bool fits =
        text_add(spot->path, PATH_BYTES, "/") && text_add(spot->path, PATH_BYTES, spot->last);
    spot->last[end] = held;
    return fits ? 0 : NAME_TOO_LONG;
}

long call_find_from(const struct call *call, int directory, const char *path, struct spot *out)
{
    static char whole[PATH_BYTES];
    if (path[0] == '\0') {
        return NOT_FOUND;
    }
    long answer = translate(call, path, whole);
    if (answer < 0) {
        return answer;
    }
    size_t at = last_at(whole);
    out->last[0] = '\0';
    (void)text_add(out->last, PATH_BYTES, whole + at);
    if (out->last[0] == '\0') {
        (void)text_add(out->last, PATH_BYTES, "."); /* "/" itself */
    }
    whole[at] = '\0';
    answer = SYS4(openat, directory, at == 0 ? "." : whole, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
    if (answer < 0) {
        return answer;
    }
    out->directory = (int)answer;
    /* Holding a directory needs no right to search it; the kernel would ask for that here. */
    answer = SYS3(faccessat, out->directory, ".", 0);
    if (answer >= 0) {
        answer = complete(out);
    }
    if (answer < 0) {
        (void)SYS1(close, out->directory);
    }
    return answer;
}

long call_find(const struct call *call, int32_t base, const char *path, struct spot *out)
{
    char entry[64];
    if (path[0] == '/') {
        return call_find_from(call, AT_FDCWD, path, out);
    }
    if (path[0] == '\0') {
        return NOT_FOUND;
    }
    own_entry(call, base == AT_FDCWD ? "/cwd" : "/fd/", entry, sizeof entry);
    if (base != AT_FDCWD) {
        if (base < 0) {
            return BAD_FD;
        }
        (void)text_add_number(entry, sizeof entry, (unsigned long)base);
    }
    long directory = SYS4(openat, AT_FDCWD, entry, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
    if (directory < 0) {
        return directory == NOT_FOUND ? BAD_FD : directory;
    }
    long answer = call_find_from(call, (int)directory, path, out);
    (void)SYS1(close, directory);
    return answer;
}

long call_hold_descriptor(const struct call *call, int32_t number)
{
    char entry[64];
    if (number < 0) {
        return BAD_FD;
    }
    own_entry(call, "/fd/", entry, sizeof entry);
    (void)text_add_number(entry, sizeof entry, (unsigned long)number);
    long fd = SYS4(openat, AT_FDCWD, entry, O_PATH | O_CLOEXEC, 0);
    return fd == NOT_FOUND ? BAD_FD : fd;
}

void call_take_mask(const struct call *call)
{
    static char text[1024];
    char entry[64];
    own_entry(call, "/status", entry, sizeof entry);
    long fd = SYS4(openat, AT_FDCWD, entry, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0) {
        return;
    }
    long got = SYS3(read, fd, text, sizeof text - 1);
    (void)SYS1(close, fd);
    text[got > 0 ? got : 0] = '\0';
    for (const char *line = text; *line != '\0'; line++) {
        if (text_starts(line, "\nUmask:\t")) {
            unsigned mask = 0;
            for (const char *digit = line + 8; *digit >= '0' && *digit <= '7'; digit++) {
                mask = mask * 8 + (unsigned)(*digit - '0');
            }
            (void)SYS1(umask, mask);
            return;
        }
    }
}
