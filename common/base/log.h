/* Diagnostics for people who debug sbx. Only `cli` and `service` call it; results and refusals are
 * not log lines. Silent until a sink is set. */
#ifndef SBX_BASE_LOG_H
#define SBX_BASE_LOG_H

#include <stdbool.h>

#include "common/base/attr.h"
#include "common/base/str.h"

enum sbx_log_level { SBX_LOG_ERROR, SBX_LOG_WARN, SBX_LOG_INFO, SBX_LOG_DEBUG, SBX_LOG_OFF };

/* `line` is one whole line without newline, made safe to show. */
typedef void sbx_log_sink(void *context, enum sbx_log_level level, const char *line);

void sbx_log_to(sbx_log_sink *sink, void *context, enum sbx_log_level level);

/* "error" "warn" "info" "debug" "off" (as in SBX_LOG); false for anything else. */
bool sbx_log_level_from(struct sbx_str text, enum sbx_log_level *out) SBX_MUST_USE;

/* Is a line of this level shown? For what costs to be told. */
bool sbx_log_takes(enum sbx_log_level level);

void sbx_log(enum sbx_log_level level, const char *format, ...) SBX_PRINTF(2, 3);

#endif
