/* What sbx prints: results on standard output, everything else on standard error; colours only where a
 * terminal shows them. */
#ifndef SBX_CLI_OUTPUT_H
#define SBX_CLI_OUTPUT_H

#include <stdbool.h>

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/jsonw.h"
#include "common/os.h"
#include "common/policy/finding.h"
#include "common/policy/platform.h"

enum sbx_tone { SBX_TONE_PLAIN, SBX_TONE_BAD, SBX_TONE_WARN, SBX_TONE_GOOD, SBX_TONE_FAINT };

struct sbx_output {
    bool json;
    bool quiet;
    bool verbose;
    bool colour_stdout, colour_stderr;
};

/* Reads --color, NO_COLOR, CLICOLOR_FORCE, TERM; `when` may be NULL. */
void sbx_output_init(struct sbx_output *out, struct sbx_arena *arena, const char *when);

/* False when not all of it was written; that has been told on standard error, unless the reader left. */
bool sbx_output_write(enum sbx_stream stream, const struct sbx_buf *text);

/* Appends text in a tone, plain when `colour` is off. */
void sbx_tone_add(struct sbx_buf *buf, bool colour, enum sbx_tone tone, const char *text);

/* "error[code]: …", place, fix; notes only when verbose. */
void sbx_finding_print(const struct sbx_finding *finding, const struct sbx_output *out, bool colour,
                       struct sbx_buf *buf);
void sbx_findings_print(const struct sbx_findings *findings, const struct sbx_output *out,
                        bool colour, struct sbx_buf *buf);

/* "sbx: error: …" with call, raw code and hint. */
void sbx_err_print(const struct sbx_err *err, bool colour, struct sbx_buf *buf);

#endif
