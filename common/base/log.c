/* Diagnostic lines: one sink, one level, text made safe to show. */
#include "common/base/log.h"

#include <stdarg.h>

#include "common/base/buf.h"
#include "common/base/names.h"

#include "common/base/banned.h"

#define LINE_MAX_BYTES 2048
#define ESCAPE_FACTOR 4 /* one invalid byte becomes \xff; no escape grows its text more */

/* Program-wide, because a log is. Set once at start, before there are threads. */
static struct {
    sbx_log_sink *sink;
    void *context;
    enum sbx_log_level level;
} target;

static const struct sbx_name level_names[] = {
    {SBX_LOG_ERROR, "error"}, {SBX_LOG_WARN, "warn"}, {SBX_LOG_INFO, "info"},
    {SBX_LOG_DEBUG, "debug"}, {SBX_LOG_OFF, "off"},   {0, NULL},
};

void sbx_log_to(sbx_log_sink *sink, void *context, enum sbx_log_level level)
{
    target.sink = sink;
    target.context = context;
    target.level = level;
}

bool sbx_log_level_from(struct sbx_str text, enum sbx_log_level *out)
{
    int value;
    if (!sbx_name_value(level_names, text, &value)) {
        return false;
    }
    *out = (enum sbx_log_level)value;
    return true;
}

/* "off" as a target is above every level in the enum, so it is asked for by name. */
bool sbx_log_takes(enum sbx_log_level level)
{
    return target.sink != NULL && target.level != SBX_LOG_OFF && level <= target.level;
}

void sbx_log(enum sbx_log_level level, const char *format, ...)
{
    if (!sbx_log_takes(level)) {
        return;
    }
    char raw[LINE_MAX_BYTES];
    va_list args;
    va_start(args, format);
    sbx_text_vformat(raw, sizeof raw, format, args);
    va_end(args);

    AUTO_BUF line;
    sbx_buf_init(&line, (size_t)LINE_MAX_BYTES * ESCAPE_FACTOR);
    sbx_buf_add_visible(&line, sbx_str(raw), false);
    const char *text = line.failed ? "(no memory for this line)" : sbx_buf_text(&line);
    target.sink(target.context, level, text);
}
