/* Files by which git is led to a directory elsewhere. */
#include "posix/git_file.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "posix/fd.h"

#include "common/base/banned.h"

const struct sbx_protect_row *sbx_git_row(const struct sbx_policy *policy)
{
    for (size_t i = 0; i < policy->protect_count; i++) {
        if (sbx_text_eq(policy->protect[i].pattern, ".git")) {
            return &policy->protect[i];
        }
    }
    return NULL;
}

bool sbx_git_file_read(int at, const char *name, const char *prefix, char out[SBX_GIT_FILE_BYTES])
{
    struct stat info = {0};
    AUTO_FD fd = openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) ||
        info.st_size >= SBX_GIT_FILE_BYTES) {
        return false;
    }
    char text[SBX_GIT_FILE_BYTES];
    size_t len = 0;
    ssize_t got = 0;
    while (len < sizeof text && (got = sbx_fd_read(fd, text + len, sizeof text - len)) > 0) {
        len += (size_t)got;
    }
    while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r')) {
        len--;
    }
    size_t skip = strlen(prefix);
    if (got < 0 || len <= skip || len == sizeof text || memcmp(text, prefix, skip) != 0) {
        return false;
    }
    memcpy(out, text + skip, len - skip);
    out[len - skip] = '\0';
    return true;
}

bool sbx_git_file_place(struct sbx_path from, const char *text, char out[PATH_MAX])
{
    size_t len = text[0] == '/' ? 0 : sbx_path_up(from).len;
    len = len == 1 ? 0 : len;
    memcpy(out, from.text, len);
    while (*text != '\0') {
        size_t name = strcspn(text, "/");
        if (name == 2 && memcmp(text, "..", 2) == 0) {
            while (len > 0 && out[--len] != '/') {
            }
        } else if (name > 0 && !(name == 1 && text[0] == '.')) {
            if (len + 1 + name + 1 >= PATH_MAX) {
                return false;
            }
            out[len] = '/';
            memcpy(out + len + 1, text, name);
            len += 1 + name;
        }
        text += name;
        text += strspn(text, "/");
    }
    out[len] = '\0';
    return len > 0;
}
