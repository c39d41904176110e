/* What a program complains about in one line: the error's text, and what the program was doing. */
#include "common/run/complaint.h"

#include <string.h>

#include "common/run/complaint_names.h"

#include "common/base/banned.h"

/* ---- lines ---- */

/* Length of the terminal sequence at the start of `text`: ESC [ … letter, ESC ] … BEL, ESC and one more. */
static size_t sequence_length(struct sbx_str text)
{
    if (text.len < 2) return text.len;
    size_t at = 2;
    if (text.ptr[1] == '[') {
        while (at < text.len && (text.ptr[at] < '@' || text.ptr[at] > '~')) at++;
        return at < text.len ? at + 1 : at;
    }
    if (text.ptr[1] != ']') return 2;
    while (at < text.len && text.ptr[at] != '\a' && text.ptr[at] != '\x1b') at++;
    return at;
}

bool sbx_complaint_line(struct sbx_str *rest, char *line, size_t *len)
{
    if (rest->len == 0) return false;
    size_t end = 0;
    while (end < rest->len && rest->ptr[end] != '\n' && rest->ptr[end] != '\r') end++;
    size_t used = 0;
    for (size_t at = 0; at < end && used < SBX_COMPLAINT_LINE_MAX;) {
        struct sbx_str left = {rest->ptr + at, end - at};
        if (left.ptr[0] == '\x1b') {
            at += sequence_length(left);
            continue;
        }
        line[used++] = left.ptr[0];
        at++;
    }
    *len = used < SBX_COMPLAINT_LINE_MAX ? used : 0;
    size_t taken = end < rest->len ? end + 1 : end;
    *rest = (struct sbx_str){rest->ptr + taken, rest->len - taken};
    return true;
}

/* ---- words ---- */

static bool is_word(char c)
{
    return sbx_is_alnum(c) || c == '-' || c == '_' || c == '/' || c == '\\' ||
           (unsigned char)c >= 0x80;
}

static bool matches_at(struct sbx_str text, size_t at, const char *word, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (sbx_to_lower(text.ptr[at + i]) != sbx_to_lower(word[i])) return false;
    return true;
}

size_t sbx_complaint_find(struct sbx_str text, const char *word)
{
    size_t len = strlen(word);
    for (size_t at = 0; len > 0 && at + len <= text.len; at++) {
        if (!matches_at(text, at, word, len)) continue;
        char before = at > 0 ? text.ptr[at - 1] : ' ';
        char after = at + len < text.len ? text.ptr[at + len] : ' ';
        char next = at + len + 1 < text.len ? text.ptr[at + len + 1] : ' ';
        /* A dot ends a sentence, or it is inside a name. */
        bool goes_on = is_word(after) || (after == '.' && is_word(next));
        bool starts_inside = is_word(word[0]) && (is_word(before) || before == '.');
        if (!starts_inside && !(is_word(word[len - 1]) && goes_on)) return at;
    }
    return text.len;
}

/* ---- errors ---- */

struct error_text {
    const char *text;
    enum sbx_complaint_class class;
};

/* As the C library, Python, Rust, Node.js, Java, Go and .NET write them. */
static const struct error_text error_texts[] = {
    {"read-only file system", SBX_COMPLAINT_READ_ONLY},
    {"[errno 30]", SBX_COMPLAINT_READ_ONLY},
    {"(os error 30)", SBX_COMPLAINT_READ_ONLY},
    {"erofs", SBX_COMPLAINT_READ_ONLY},
    {"readonlyfilesystemexception", SBX_COMPLAINT_READ_ONLY},
    {".readonlyfilesystemexception", SBX_COMPLAINT_READ_ONLY},
    {"permission denied", SBX_COMPLAINT_ACCESS},
    {"operation not permitted", SBX_COMPLAINT_ACCESS},
    {"access is denied", SBX_COMPLAINT_ACCESS},
    {"access to the path", SBX_COMPLAINT_ACCESS},
    {"[errno 13]", SBX_COMPLAINT_ACCESS},
    {"[errno 1]", SBX_COMPLAINT_ACCESS},
    {"[winerror 5]", SBX_COMPLAINT_ACCESS},
    {"(os error 13)", SBX_COMPLAINT_ACCESS},
    {"(os error 1)", SBX_COMPLAINT_ACCESS},
    {"(os error 5)", SBX_COMPLAINT_ACCESS},
    {"eacces", SBX_COMPLAINT_ACCESS},
    {"eperm", SBX_COMPLAINT_ACCESS},
    {"accessdeniedexception", SBX_COMPLAINT_ACCESS},
    {".accessdeniedexception", SBX_COMPLAINT_ACCESS},
    {"network is unreachable", SBX_COMPLAINT_NETWORK},
    {"enetunreach", SBX_COMPLAINT_NETWORK},
    {"[errno 101]", SBX_COMPLAINT_NETWORK},
    {"(os error 101)", SBX_COMPLAINT_NETWORK},
    {"could not resolve host", SBX_COMPLAINT_NETWORK},
    {"could not resolve hostname", SBX_COMPLAINT_NETWORK},
    {"couldn't resolve host", SBX_COMPLAINT_NETWORK},
    {"unable to resolve host address", SBX_COMPLAINT_NETWORK},
    {"temporary failure in name resolution", SBX_COMPLAINT_NETWORK},
    {"temporary failure resolving", SBX_COMPLAINT_NETWORK},
    {"eai_again", SBX_COMPLAINT_NETWORK},
    {"unknownhostexception", SBX_COMPLAINT_NETWORK},
    {".unknownhostexception", SBX_COMPLAINT_NETWORK},
    {"address family not supported by protocol", SBX_COMPLAINT_FAMILY},
    {"eafnosupport", SBX_COMPLAINT_FAMILY},
    {"[errno 97]", SBX_COMPLAINT_FAMILY},
    {"(os error 97)", SBX_COMPLAINT_FAMILY},
    {"function not implemented", SBX_COMPLAINT_NO_CALL},
    {"enosys", SBX_COMPLAINT_NO_CALL},
    {"[errno 38]", SBX_COMPLAINT_NO_CALL},
    {"(os error 38)", SBX_COMPLAINT_NO_CALL},
    {"bad system call", SBX_COMPLAINT_CALL},
    {"invalid system call", SBX_COMPLAINT_CALL},
    {"no such file or directory", SBX_COMPLAINT_MISSING},
    {"[errno 2]", SBX_COMPLAINT_MISSING},
    {"(os error 2)", SBX_COMPLAINT_MISSING},
    {"enoent", SBX_COMPLAINT_MISSING},
    {"nosuchfileexception", SBX_COMPLAINT_MISSING},
    {".nosuchfileexception", SBX_COMPLAINT_MISSING},
    {"not found", SBX_COMPLAINT_MISSING},
    {"does not exist", SBX_COMPLAINT_MISSING},
};

/* "[Errno 30] " and "EROFS: " in front of a text belong to it. */
static size_t widen(struct sbx_str line, size_t at)
{
    size_t end = at;
    while (end > 0 && (line.ptr[end - 1] == ' ' || line.ptr[end - 1] == ':')) end--;
    size_t start = end;
    if (end > 0 && line.ptr[end - 1] == ']') {
        while (start > 0 && line.ptr[start - 1] != '[' && end - start < 16) start--;
        return start > 0 && line.ptr[start - 1] == '[' ? start - 1 : at;
    }
    while (start > 0 && line.ptr[start - 1] >= 'A' && line.ptr[start - 1] <= 'Z') start--;
    bool is_name = end - start > 3 && line.ptr[start] == 'E' &&
                   (start == 0 || !sbx_is_alnum(line.ptr[start - 1]));
    return is_name ? start : at;
}

static bool find_error(struct sbx_str line, struct sbx_complaint *out)
{
    for (size_t i = 0; i < SBX_COUNT(error_texts); i++) {
        size_t at = sbx_complaint_find(line, error_texts[i].text);
        if (at == line.len) continue;
        size_t start = widen(line, at);
        out->class = error_texts[i].class;
        out->error = (struct sbx_str){line.ptr + start, at - start + strlen(error_texts[i].text)};
        return true;
    }
    return false;
}

/* ---- intent ---- */

struct verb {
    const char *word;
    enum sbx_intent intent;
    enum sbx_operation operation;
};

#define READS(word, operation)                                                                     \
    {                                                                                              \
        word, SBX_INTENT_READ, operation                                                           \
    }
#define WRITES(word, operation)                                                                    \
    {                                                                                              \
        word, SBX_INTENT_WRITE, operation                                                          \
    }

/* The first that the line has counts: phrases before words, what changes something before what looks. */
static const struct verb verbs[] = {
    READS("for reading", SBX_TRIED_READ),
    WRITES("for writing", SBX_TRIED_WRITE),
    READS("cannot open directory", SBX_TRIED_READ),
    READS("reading directory", SBX_TRIED_READ),
    READS("cannot access", SBX_TRIED_READ),
    READS("cannot stat", SBX_TRIED_READ),
    READS("cannot execute", SBX_TRIED_EXECUTE),
    READS("exec", SBX_TRIED_EXECUTE),
    READS("execv", SBX_TRIED_EXECUTE),
    READS("execve", SBX_TRIED_EXECUTE),
    READS("execvp", SBX_TRIED_EXECUTE),
    READS("spawn", SBX_TRIED_EXECUTE),
    READS("bad interpreter", SBX_TRIED_EXECUTE),
    WRITES("symbolic link", SBX_TRIED_LINK),
    WRITES("symlink", SBX_TRIED_LINK),
    WRITES("hard link", SBX_TRIED_LINK),
    WRITES("link", SBX_TRIED_LINK),
    WRITES("rename", SBX_TRIED_RENAME),
    WRITES("move", SBX_TRIED_RENAME),
    WRITES("create", SBX_TRIED_CREATE),
    WRITES("creating", SBX_TRIED_CREATE),
    WRITES("mkdir", SBX_TRIED_CREATE),
    WRITES("mkdtemp", SBX_TRIED_CREATE),
    WRITES("mkstemp", SBX_TRIED_CREATE),
    WRITES("mkfifo", SBX_TRIED_CREATE),
    WRITES("touch", SBX_TRIED_WRITE),
    WRITES("remove", SBX_TRIED_REMOVE),
    WRITES("unlink", SBX_TRIED_REMOVE),
    WRITES("rmdir", SBX_TRIED_REMOVE),
    WRITES("rm", SBX_TRIED_REMOVE),
    WRITES("delete", SBX_TRIED_REMOVE),
    WRITES("chmod", SBX_TRIED_MODE),
    WRITES("chown", SBX_TRIED_MODE),
    WRITES("utime", SBX_TRIED_MODE),
    WRITES("utimes", SBX_TRIED_MODE),
    WRITES("setting times", SBX_TRIED_MODE),
    WRITES("changing permissions", SBX_TRIED_MODE),
    WRITES("changing ownership", SBX_TRIED_MODE),
    WRITES("write", SBX_TRIED_WRITE),
    WRITES("writing", SBX_TRIED_WRITE),
    WRITES("truncate", SBX_TRIED_WRITE),
    WRITES("append", SBX_TRIED_WRITE),
    WRITES("save", SBX_TRIED_WRITE),
    WRITES("lock", SBX_TRIED_CREATE),
    WRITES("output file", SBX_TRIED_CREATE),
    WRITES("copyfile", SBX_TRIED_CREATE),
    WRITES("copy", SBX_TRIED_CREATE),
    WRITES("overwrite", SBX_TRIED_WRITE),
    WRITES("tee", SBX_TRIED_WRITE),
    WRITES("install", SBX_TRIED_CREATE),
    READS("scandir", SBX_TRIED_READ),
    READS("opendir", SBX_TRIED_READ),
    READS("readdir", SBX_TRIED_READ),
    READS("readlink", SBX_TRIED_READ),
    READS("stat", SBX_TRIED_READ),
    READS("lstat", SBX_TRIED_READ),
    READS("access", SBX_TRIED_READ),
    READS("chdir", SBX_TRIED_READ),
    READS("cd", SBX_TRIED_READ),
    READS("read", SBX_TRIED_READ),
    READS("reading", SBX_TRIED_READ),
};

/* Programs that only look: their name in front of the message says what they were doing. */
static const char *const readers[] = {"cat",  "ls",   "grep",      "rg",     "find", "head",
                                      "tail", "less", "wc",        "du",     "diff", "cmp",
                                      "file", "more", "sha256sum", "md5sum", "od",   "stat"};

static bool is_reader(struct sbx_str line)
{
    struct sbx_str name;
    struct sbx_str rest;
    if (!sbx_str_split(line, ':', &name, &rest)) return false;
    for (size_t i = name.len; i > 0; i--)
        if (name.ptr[i - 1] == '/') {
            name = (struct sbx_str){name.ptr + i, name.len - i};
            break;
        }
    for (size_t i = 0; i < SBX_COUNT(readers); i++)
        if (sbx_str_is(name, readers[i])) return true;
    return false;
}

/* Of dash's "sh: 1: X: Permission denied": what it cannot create it says so. */
static bool is_dash_command(struct sbx_str line)
{
    struct sbx_str rest;
    struct sbx_str name;
    struct sbx_str number;
    uint64_t ignored;
    return sbx_str_split(line, ':', &name, &rest) && sbx_str_ends(name, "sh") &&
           sbx_str_split(rest, ':', &number, &rest) && number.len > 1 &&
           sbx_str_to_u64((struct sbx_str){number.ptr + 1, number.len - 1}, &ignored);
}

/* Outside the error's own words. */
static bool says(struct sbx_str line, struct sbx_str error, const char *word)
{
    struct sbx_str before = {line.ptr, (size_t)(error.ptr - line.ptr)};
    struct sbx_str after = {error.ptr + error.len, line.len - before.len - error.len};
    return sbx_complaint_find(before, word) < before.len ||
           sbx_complaint_find(after, word) < after.len;
}

static void find_intent(struct sbx_str line, struct sbx_complaint *out)
{
    if (out->class == SBX_COMPLAINT_READ_ONLY) {
        out->intent = SBX_INTENT_WRITE;
        out->operation = SBX_TRIED_WRITE;
    }
    for (size_t i = 0; i < SBX_COUNT(verbs); i++) {
        bool can_be = out->class != SBX_COMPLAINT_READ_ONLY || verbs[i].intent == SBX_INTENT_WRITE;
        if (!can_be || !says(line, out->error, verbs[i].word)) continue;
        out->has_verb = true;
        out->intent = verbs[i].intent;
        out->operation = verbs[i].operation;
        return;
    }
    if (out->intent != SBX_INTENT_UNKNOWN) return;
    if (is_reader(line)) {
        out->intent = SBX_INTENT_READ;
        out->operation = SBX_TRIED_READ;
    } else if (is_dash_command(line)) {
        out->intent = SBX_INTENT_READ;
        out->operation = SBX_TRIED_EXECUTE;
    }
}

/* "   12 |     puts("Permission denied: /x");": compilers show what they complain about. */
static bool is_source(struct sbx_str line)
{
    size_t at = 0;
    while (at < line.len && (line.ptr[at] == ' ' || sbx_is_digit(line.ptr[at]))) at++;
    return at < line.len && line.ptr[at] == '|';
}

bool sbx_complaint_read(enum sbx_path_rules rules, struct sbx_str line, struct sbx_complaint *out)
{
    struct sbx_complaint made = {.class = SBX_COMPLAINT_NONE, .port = 443};
    if (is_source(line) || !find_error(line, &made)) return false;
    if (made.class == SBX_COMPLAINT_NETWORK || made.class == SBX_COMPLAINT_FAMILY)
        (void)!sbx_complaint_host(line, &made.host, &made.port);
    find_intent(line, &made);
    sbx_complaint_names(rules, line, &made);
    *out = made;
    return true;
}
