/* The writer of Seatbelt profiles. */
#include "posix/macos_sbpl.h"

#include <string.h>

#include "common/base/banned.h"

#define WORD_ALPHABET "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-*#"

void sbx_sbpl_init(struct sbx_sbpl *sbpl, struct sbx_arena *arena)
{
    *sbpl = (struct sbx_sbpl){.arena = arena};
    sbx_buf_init(&sbpl->text, SBX_SBPL_PROFILE_MAX);
}

void sbx_sbpl_release(struct sbx_sbpl *sbpl)
{
    sbx_buf_release(&sbpl->text);
}

static void separate(struct sbx_sbpl *sbpl)
{
    if (sbpl->wants_space) {
        sbx_buf_add_char(&sbpl->text, ' ');
    }
    sbpl->wants_space = true;
}

void sbx_sbpl_word(struct sbx_sbpl *sbpl, const char *word)
{
    separate(sbpl);
    size_t len = strlen(word);
    sbpl->is_refused |= len == 0 || strspn(word, WORD_ALPHABET) != len;
    sbx_buf_add(&sbpl->text, word, len);
}

void sbx_sbpl_open(struct sbx_sbpl *sbpl, const char *word)
{
    if (sbpl->depth == 0) {
        sbpl->form_begin = sbpl->text.len;
    } else if (sbpl->depth == 1) {
        sbx_buf_add_text(&sbpl->text, "\n ");
    }
    separate(sbpl);
    sbx_buf_add_char(&sbpl->text, '(');
    sbpl->depth++;
    sbpl->wants_space = false;
    sbx_sbpl_word(sbpl, word);
}

void sbx_sbpl_close(struct sbx_sbpl *sbpl)
{
    sbx_buf_add_char(&sbpl->text, ')');
    sbpl->depth--;
    sbpl->wants_space = true;
    if (sbpl->depth == 0) {
        sbpl->is_refused |= sbpl->text.len - sbpl->form_begin > SBX_SBPL_RULE_MAX;
        sbx_buf_add_char(&sbpl->text, '\n');
        sbpl->wants_space = false;
    }
}

static bool is_plain(struct sbx_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < ' ' || text.ptr[i] > '~') {
            return false;
        }
    }
    return text.len <= SBX_SBPL_STRING_MAX;
}

static void add_quoted(struct sbx_sbpl *sbpl, struct sbx_str text)
{
    sbx_buf_add_char(&sbpl->text, '"');
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '"' || text.ptr[i] == '\\') {
            sbx_buf_add_char(&sbpl->text, '\\');
        }
        sbx_buf_add_char(&sbpl->text, text.ptr[i]);
    }
    sbx_buf_add_char(&sbpl->text, '"');
}

/* The number of the parameter with this value: an old one, or a new one. */
static size_t parameter_of(struct sbx_sbpl *sbpl, struct sbx_str text)
{
    struct sbx_sbpl_parameters *list = &sbpl->parameters;
    for (size_t i = 0; i < list->count; i++) {
        if (sbx_str_is(text, list->values[i])) {
            return i;
        }
    }
    const char *copy = sbx_arena_copy(sbpl->arena, text.ptr, text.len);
    const char **slot = (const char **)sbx_arena_push(sbpl->arena, &list->values, &list->count,
                                                      &list->capacity, sizeof *slot);
    sbpl->has_no_memory |= copy == NULL || slot == NULL;
    if (slot != NULL) {
        *slot = copy == NULL ? "" : copy;
    }
    return list->count - 1;
}

void sbx_sbpl_string(struct sbx_sbpl *sbpl, struct sbx_str text)
{
    separate(sbpl);
    if (text.len == 0 || memchr(text.ptr, '\0', text.len) != NULL ||
        memchr(text.ptr, '\n', text.len) != NULL || text.len > SBX_SBPL_PARAMETER_MAX) {
        sbpl->is_refused = true;
    } else if (is_plain(text)) {
        add_quoted(sbpl, text);
    } else {
        sbx_buf_printf(&sbpl->text, "(param \"P%zu\")", parameter_of(sbpl, text));
    }
}

void sbx_sbpl_filter(struct sbx_sbpl *sbpl, const char *word, struct sbx_str text)
{
    sbx_sbpl_open(sbpl, word);
    sbx_sbpl_string(sbpl, text);
    sbx_sbpl_close(sbpl);
}

void sbx_sbpl_comment(struct sbx_sbpl *sbpl, const char *text)
{
    sbx_buf_printf(&sbpl->text, "; %s\n", text);
}

enum sbx_code sbx_sbpl_check(const struct sbx_sbpl *sbpl, struct sbx_err *err)
{
    if (sbpl->has_no_memory) {
        return sbx_err_nomem(err);
    }
    if (sbpl->is_refused || sbpl->text.failed || sbpl->depth != 0) {
        sbx_err_set(err, SBX_E_LIMIT, "the policy does not fit into a Seatbelt profile");
        return sbx_err_hint(err, "use fewer or shorter paths, or a glob instead of many of them");
    }
    return SBX_OK;
}
