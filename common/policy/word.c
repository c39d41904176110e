/* Words of a shell's command line, quoted. */
#include "common/policy/word.h"

#include <string.h>

#include "common/base/banned.h"

void sbx_word_add(struct sbx_buf *buf, enum sbx_platform platform, const char *text)
{
    bool is_windows = platform == SBX_WINDOWS;
    bool is_plain = *text != '\0';
    for (const char *c = text; *c != '\0'; c++)
        is_plain &=
            sbx_is_alnum(*c) || strchr("_-./:,@%+=", *c) != NULL || (is_windows && *c == '\\');
    char quote = is_windows ? '"' : '\'';
    if (!is_plain) sbx_buf_add_char(buf, quote);
    for (const char *c = text; *c != '\0'; c++) {
        if (!is_plain && *c == quote)
            sbx_buf_add_text(buf, is_windows ? "\\\"" : "'\\''");
        else
            sbx_buf_add_char(buf, *c);
    }
    if (!is_plain) sbx_buf_add_char(buf, quote);
}
