/* Unit tests of common/base/log. */
#include "common/base/log.h"

#include <string.h>

#include "common/base/utf8.h"
#include "tests/check.h"

#include "common/base/banned.h"

struct seen {
    unsigned count;
    enum sbx_log_level level;
    char line[16384];
};

static void keep(void *context, enum sbx_log_level level, const char *line)
{
    struct seen *seen = context;
    seen->count++;
    seen->level = level;
    sbx_text_format(seen->line, sizeof seen->line, "%s", line);
}

static void without_a_sink_it_is_silent(void)
{
    static struct seen seen;
    sbx_log_to(NULL, &seen, SBX_LOG_DEBUG);
    sbx_log(SBX_LOG_ERROR, "nobody hears %d", 1);
    CHECK_U64(seen.count, 0);
}

static void lines_up_to_the_level_arrive(void)
{
    for (int limit = SBX_LOG_ERROR; limit <= SBX_LOG_OFF; limit++) {
        for (int level = SBX_LOG_ERROR; level <= SBX_LOG_DEBUG; level++) {
            static struct seen seen;
            seen.count = 0;
            sbx_log_to(keep, &seen, (enum sbx_log_level)limit);
            sbx_log((enum sbx_log_level)level, "n %d", level);
            CHECK_U64(seen.count, limit != SBX_LOG_OFF && level <= limit);
            if (seen.count == 1) {
                CHECK_INT(seen.level, level);
                CHECK(sbx_str_starts(sbx_str(seen.line), "n "));
            }
        }
    }
    sbx_log_to(NULL, NULL, SBX_LOG_OFF);
}

static void a_line_is_one_line_and_safe_to_show(void)
{
    static struct seen seen;
    sbx_log_to(keep, &seen, SBX_LOG_INFO);
    sbx_log(SBX_LOG_INFO, "a\nb %s", "\x1b[2J\xe2\x80\xaez\xe2\x80\xac\xff");
    CHECK_TEXT(seen.line, "a\\nb \\x1b[2J\\u{202e}z\\u{202c}\\xff");
    sbx_log_to(NULL, NULL, SBX_LOG_OFF);
}

static void a_long_line_is_cut_and_still_arrives(void)
{
    static struct seen seen;
    static char text[5000];
    memset(text, 0xff, sizeof text - 1); /* each byte needs four when shown */
    sbx_log_to(keep, &seen, SBX_LOG_INFO);
    sbx_log(SBX_LOG_INFO, "%s", text);
    CHECK(sbx_str_ends(sbx_str(seen.line), "\\xff\xe2\x80\xa6"));
    CHECK(strlen(seen.line) > 8000);
    CHECK(sbx_utf8_valid(seen.line, strlen(seen.line), NULL));
    sbx_log_to(NULL, NULL, SBX_LOG_OFF);
}

static void level_names_are_exact(void)
{
    static const char *const names[] = {"error", "warn", "info", "debug", "off"};
    enum sbx_log_level level;
    for (size_t i = 0; i < SBX_COUNT(names); i++) {
        CHECK(sbx_log_level_from(sbx_str(names[i]), &level));
        CHECK_INT(level, i);
    }
    level = SBX_LOG_WARN;
    CHECK(!sbx_log_level_from(sbx_str("Debug"), &level));
    CHECK(!sbx_log_level_from(sbx_str("warning"), &level));
    CHECK(!sbx_log_level_from(sbx_str(""), &level));
    CHECK_INT(level, SBX_LOG_WARN);
}

static const struct sbx_test tests[] = {
    {"without a sink it is silent", without_a_sink_it_is_silent},
    {"lines up to the level arrive", lines_up_to_the_level_arrive},
    {"a line is one line and safe to show", a_line_is_one_line_and_safe_to_show},
    {"a long line is cut and still arrives", a_long_line_is_cut_and_still_arrives},
    {"level names are exact", level_names_are_exact},
};

SBX_TEST_MAIN("log", tests)
