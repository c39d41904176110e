/* Reads the list of cases. Everything lies in static tables: what this program does not touch does not count in the
 * largest resident set, which a child started by vfork inherits. */
#include "tests/bench/case_list.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/banned.h"

extern char **environ;

static char text[BENCH_MAX_BYTES];
static char *words[BENCH_MAX_WORDS];
static size_t word_count;

struct reader {
    struct bench_list *list;
    struct bench_case *open; /* the entry that lines belong to */
    char *extra_env[32];
    size_t extra_count;
    size_t argc;
    unsigned line;
};

static bool complain(const struct reader *reader, const char *what)
{
    (void)fprintf(stderr, "run_cases: line %u: %s\n", reader->line, what);
    return false;
}

static bool add_word(char *word)
{
    if (word_count == BENCH_MAX_WORDS) return false;
    words[word_count++] = word;
    return true;
}

/* Ends the entry: its words get their NULL, then comes its environment. */
static bool close_entry(struct reader *reader)
{
    if (reader->open == NULL) return true;
    if (reader->argc == 0) return complain(reader, "the entry above has no arg");
    bool fits = add_word(NULL);
    reader->open->envp = words + word_count;
    for (char **variable = environ; *variable != NULL; variable++)
        fits = add_word(*variable) && fits;
    for (size_t i = 0; i < reader->extra_count; i++) fits = add_word(reader->extra_env[i]) && fits;
    fits = add_word(NULL) && fits;
    reader->open = NULL;
    return fits || complain(reader, "too many words");
}

static bool open_entry(struct reader *reader, enum bench_kind kind, const char *name)
{
    if (!close_entry(reader)) return false;
    if (reader->list->count == BENCH_MAX_CASES) return complain(reader, "too many entries");
    reader->open = &reader->list->cases[reader->list->count++];
    *reader->open = (struct bench_case){.kind = kind, .name = name, .argv = words + word_count};
    reader->extra_count = 0;
    reader->argc = 0;
    return true;
}

static bool read_line(struct reader *reader, char *line)
{
    static const char *const kinds[] = {"case", "resident", "service"};
    char *value = strchr(line, ' ');
    if (value == NULL) return complain(reader, "no text after the word");
    *value++ = '\0';
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(line, kinds[i]) == 0) return open_entry(reader, (enum bench_kind)i, value);
    }
    if (reader->open == NULL) return complain(reader, "comes before the first entry");
    if (strcmp(line, "arg") == 0) {
        reader->argc++;
        return add_word(value) || complain(reader, "too many words");
    }
    if (strcmp(line, "env") == 0) {
        if (reader->extra_count == sizeof reader->extra_env / sizeof *reader->extra_env) {
            return complain(reader, "too many variables");
        }
        reader->extra_env[reader->extra_count++] = value;
        return true;
    }
    if (strcmp(line, "cwd") == 0) {
        reader->open->cwd = value;
        return true;
    }
    if (strcmp(line, "ready") == 0) {
        reader->open->ready = value;
        return true;
    }
    return complain(reader, "unknown word");
}

static bool read_text(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        perror(path);
        return false;
    }
    size_t length = 0;
    ssize_t got = 1;
    while (got > 0 && length < sizeof text - 1) {
        got = read(fd, text + length, sizeof text - 1 - length);
        length += got > 0 ? (size_t)got : 0;
    }
    (void)close(fd);
    if (got != 0 || memchr(text, '\0', length) != NULL) {
        (void)fprintf(stderr, "run_cases: \"%s\" cannot be read, is too long or has a NUL\n", path);
        return false;
    }
    return true;
}

bool bench_list_read(const char *path, struct bench_list *list)
{
    struct reader reader = {.list = list};
    list->count = 0;
    if (!read_text(path)) return false;
    for (char *line = text; line != NULL && *line != '\0';) {
        char *end = strchr(line, '\n');
        if (end != NULL) *end++ = '\0';
        reader.line++;
        if (*line != '#' && *line != '\0' && !read_line(&reader, line)) return false;
        line = end;
    }
    return close_entry(&reader);
}
