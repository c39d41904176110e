/* The streams of a box. Outputs and consoles are always carried: a handle of the caller's console, or the caller's end
 * of a pipe for writing, is more than a stream. */
#include "win/fault.h"
#include "win/handle.h"
#include "win/box.h"

#include "common/base/banned.h"

static bool is_console(HANDLE handle)
{
    DWORD mode;
    return sbx_win()->GetFileType(handle) == FILE_TYPE_CHAR &&
           sbx_win()->GetConsoleMode(handle, &mode);
}

static bool is_same(HANDLE a, HANDLE b)
{
    return a == b ||
           (sbx_win()->CompareObjectHandles != NULL && sbx_win()->CompareObjectHandles(a, b));
}

/* A file or a pipe is read in place, so that what the command leaves is there for the next reader. */
static enum sbx_code open_input(struct sbx_box *box, struct sbx_err *err)
{
    HANDLE input = sbx_win()->GetStdHandle(STD_INPUT_HANDLE);
    if (!sbx_handle_is_open(input)) {
        return SBX_OK;
    }
    if (!is_console(input)) {
        box->stream[0] = input;
        return SBX_OK;
    }
    enum sbx_code code = sbx_pump_open_input(input, &box->attend.input, &box->child_end[0], err);
    box->stream[0] = box->child_end[0];
    return code;
}

static enum sbx_code open_output(struct sbx_box *box, size_t index, HANDLE sink,
                                 struct sbx_err *err)
{
    struct sbx_pump_plan plan = {
        .sink = sink,
        .max_bytes = box->plan->policy->limits.output_bytes,
        .over = box->attend.over,
        .tail_bytes = index == 2 ? SBX_STDERR_TAIL_MAX : 0,
    };
    enum sbx_code code =
        sbx_pump_open(&plan, &box->attend.output[index - 1], &box->child_end[index], err);
    box->stream[index] = box->child_end[index];
    return code;
}

/* When both outputs go to one place the command writes to one pipe, so that its lines keep their order. */
static enum sbx_code open_outputs(struct sbx_box *box, struct sbx_err *err)
{
    HANDLE out = sbx_win()->GetStdHandle(STD_OUTPUT_HANDLE);
    HANDLE log = sbx_win()->GetStdHandle(STD_ERROR_HANDLE);
    enum sbx_code code = SBX_OK;
    if (sbx_handle_is_open(log)) {
        code = open_output(box, 2, log, err);
    }
    if (code == SBX_OK && sbx_handle_is_open(out)) {
        if (sbx_handle_is_open(log) && is_same(out, log)) {
            box->stream[1] = box->stream[2];
        } else {
            code = open_output(box, 1, out, err);
        }
    }
    return code;
}

enum sbx_code sbx_box_open_streams(struct sbx_box *box, struct sbx_err *err)
{
    const struct sbx_box_plan *plan = box->plan;
    enum sbx_code code = sbx_attend_init(&box->attend, err);
    if (code == SBX_OK && (plan->recipe.has_console || plan->wants_terminal)) {
        code = sbx_terminal_open(plan->wants_terminal, &box->attend, &box->terminal, err);
    }
    if (code != SBX_OK || plan->is_silent || plan->wants_terminal) {
        return code;
    }
    code = open_input(box, err);
    return code != SBX_OK ? code : open_outputs(box, err);
}

void sbx_box_close_child_ends(struct sbx_box *box)
{
    for (size_t i = 0; i < SBX_COUNT(box->child_end); i++) {
        sbx_handle_close(&box->child_end[i]);
        box->stream[i] = NULL;
    }
}
