/* Consoles: the launcher's own, and pseudo consoles. */
#include "tests/ntmodel/nt_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/banned.h"

enum { MODE_IN = 0x1F7, MODE_OUT = 0x3, NEWER_CLOSE = 26100 };

#define CLOSED_CODE 0xC000013Au

void nt_consoles_new(struct nt_model *model)
{
    struct nt_device *input = nt_object_new(model, NT_DEVICE, sizeof *input);
    struct nt_device *output = nt_object_new(model, NT_DEVICE, sizeof *output);
    input->which = NT_DEVICE_CONIN;
    output->which = NT_DEVICE_CONOUT;
    model->console_input = &input->object;
    model->console_output = &output->object;
}

static void free_pseudo(struct nt_pseudo *pseudo)
{
    nt_object_let_go(pseudo->input);
    nt_object_let_go(pseudo->output);
    free(pseudo);
}

/* Their host ends when nobody holds them any more: whoever was attached is gone with it. */
void nt_consoles_end(struct nt_model *model)
{
    while (model->pseudos != NULL) {
        struct nt_pseudo *next = model->pseudos->next;
        free_pseudo(model->pseudos);
        model->pseudos = next;
    }
}

void nt_consoles_free(struct nt_model *model)
{
    nt_consoles_end(model);
    nt_object_unref(model->console_input);
    nt_object_unref(model->console_output);
}

/* ---- the console of the caller --------------------------------------------------------------------------- */

/* NULL when the handle is no console, or nobody has one; asking is how a program finds out. */
static const struct nt_device *console(HANDLE handle)
{
    struct nt_process *process = nt_process_now();
    const struct nt_handle *row = nt_handle_row(process, handle);
    const struct nt_device *device = row != NULL && row->object->kind == NT_DEVICE
                                         ? (const struct nt_device *)row->object
                                         : NULL;
    if (device == NULL || device->which == NT_DEVICE_NULL || *process->console == 0) {
        SetLastError(ERROR_INVALID_HANDLE);
        return NULL;
    }
    return device;
}

static DWORD modes[2] = {MODE_IN, MODE_OUT};

BOOL WINAPI nt_GetConsoleMode(HANDLE handle, LPDWORD mode)
{
    const struct nt_device *device = console(handle);
    if (device == NULL) {
        return FALSE;
    }
    *mode = modes[device->which == NT_DEVICE_CONOUT];
    return TRUE;
}

BOOL WINAPI nt_SetConsoleMode(HANDLE handle, DWORD mode)
{
    const struct nt_device *device = console(handle);
    if (device == NULL) {
        return FALSE;
    }
    modes[device->which == NT_DEVICE_CONOUT] = mode;
    return TRUE;
}

BOOL WINAPI nt_GetConsoleScreenBufferInfo(HANDLE handle, PCONSOLE_SCREEN_BUFFER_INFO out)
{
    const struct nt_device *device = console(handle);
    if (device == NULL || device->which != NT_DEVICE_CONOUT) {
        return nt_fail(ERROR_INVALID_HANDLE);
    }
    memset(out, 0, sizeof *out);
    out->dwSize = (COORD){120, 9001};
    out->srWindow = (SMALL_RECT){0, 0, 119, 29};
    out->dwMaximumWindowSize = (COORD){120, 30};
    return TRUE;
}

BOOL WINAPI nt_SetConsoleCtrlHandler(PHANDLER_ROUTINE handler, BOOL add)
{
    struct nt_model *model = nt_model_of_call();
    if (add) {
        if (model->handler_count == SBX_COUNT(model->handlers)) {
            return nt_fail(ERROR_NOT_ENOUGH_MEMORY);
        }
        model->handlers[model->handler_count++] = handler;
        return TRUE;
    }
    for (size_t i = 0; i < model->handler_count; i++) {
        if (model->handlers[i] == handler) {
            memmove(model->handlers + i, model->handlers + i + 1,
                    (--model->handler_count - i) * sizeof model->handlers[0]);
            return TRUE;
        }
    }
    return nt_fail(ERROR_INVALID_PARAMETER);
}

struct ctrl {
    struct nt_model *model;
    DWORD event;
    bool was_handled;
    bool is_done;
};

static DWORD WINAPI tell_handlers(void *argument)
{
    struct ctrl *ctrl = argument;
    for (size_t i = ctrl->model->handler_count; i-- > 0;) {
        PHANDLER_ROUTINE handler = ctrl->model->handlers[i];
        if (handler != NULL && handler(ctrl->event)) {
            ctrl->was_handled = true;
            break;
        }
    }
    nt_lock(ctrl->model);
    ctrl->is_done = true;
    nt_wake(ctrl->model);
    nt_unlock(ctrl->model);
    return 0;
}

bool nt_model_ctrl(struct nt_model *model, DWORD event)
{
    struct ctrl ctrl = {model, event, false, false};
    nt_lock(model);
    struct nt_thread *thread = nt_thread_new(model->launcher, tell_handlers, &ctrl, false);
    nt_thread_start(thread);
    while (!ctrl.is_done) {
        (void)nt_sleep_plain(model, UINT64_MAX);
    }
    nt_object_unref(thread);
    nt_unlock(model);
    return ctrl.was_handled;
}

BOOL WINAPI nt_AllocConsole(void)
{
    struct nt_process *process = nt_process_now();
    if (*process->console != 0) {
        return nt_fail(ERROR_ACCESS_DENIED);
    }
    process->console = "launcher";
    return TRUE;
}

HWND WINAPI nt_GetConsoleWindow(void)
{
    return *nt_process_now()->console == 0 ? NULL : (HWND)(ULONG_PTR)0x10010;
}

/* ---- pseudo consoles ---------------------------------------------------------------------------------------- */

static struct nt_pseudo *find(struct nt_model *model, const void *any)
{
    struct nt_pseudo *pseudo = model->pseudos;
    while (pseudo != NULL && pseudo != any) {
        pseudo = pseudo->next;
    }
    return pseudo;
}

bool nt_console_is_pseudo(struct nt_model *model, const void *pseudo)
{
    return find(model, pseudo) != NULL;
}

HRESULT WINAPI nt_CreatePseudoConsole(COORD size, HANDLE input, HANDLE output, DWORD flags,
                                      HPCON *out)
{
    struct nt_model *model = nt_model_of_call();
    if (size.X <= 0 || size.Y <= 0 || out == NULL || (flags & ~1u) != 0) {
        return E_INVALIDARG;
    }
    struct nt_pipe *in = nt_handle_get(input, NT_PIPE, FILE_READ_DATA);
    struct nt_pipe *to = in == NULL ? NULL : nt_handle_get(output, NT_PIPE, FILE_WRITE_DATA);
    if (to == NULL) {
        return HRESULT_FROM_WIN32(GetLastError());
    }
    struct nt_pseudo *pseudo = nt_alloc(sizeof *pseudo);
    nt_object_hold(in);
    nt_object_hold(to);
    pseudo->input = in;
    pseudo->output = to;
    pseudo->size = size;
    pseudo->owner = nt_process_now();
    pseudo->next = model->pseudos;
    model->pseudos = pseudo;
    *out = (HPCON)pseudo;
    return S_OK;
}

HRESULT WINAPI nt_ResizePseudoConsole(HPCON console_handle, COORD size)
{
    struct nt_pseudo *pseudo = find(nt_model_of_call(), console_handle);
    if (pseudo == NULL || size.X <= 0 || size.Y <= 0) {
        return E_INVALIDARG;
    }
    pseudo->size = size;
    return S_OK;
}

static void end_attached(struct nt_model *model, const struct nt_pseudo *pseudo)
{
    for (struct nt_process *process = model->processes; process != NULL;) {
        struct nt_process *next = process->next;
        if (process->pseudo == pseudo && !process->is_ended) {
            nt_process_end(process, CLOSED_CODE);
            next = model->processes;
        }
        process = next;
    }
}

static void forget(struct nt_model *model, struct nt_pseudo *pseudo)
{
    struct nt_pseudo **at = &model->pseudos;
    while (*at != pseudo) {
        at = &(*at)->next;
    }
    *at = pseudo->next;
    free_pseudo(pseudo);
    nt_wake(model);
}

/* Ends whoever is attached. Before 24H2 it waits until what was written has been read. */
void WINAPI nt_ClosePseudoConsole(HPCON console_handle)
{
    struct nt_model *model = nt_model_of_call();
    struct nt_pseudo *pseudo = find(model, console_handle);
    if (pseudo == NULL) {
        nt_bad_handle(model, console_handle, "no pseudo console");
        return;
    }
    end_attached(model, pseudo);
    const struct nt_pipe_buffer *buffer = pseudo->output->buffer;
    while (model->world.build < NEWER_CLOSE && buffer->size > 0 && buffer->readers > 0) {
        (void)nt_sleep(model, UINT64_MAX);
    }
    forget(model, pseudo);
}

void nt_consoles_leave(struct nt_process *process)
{
    struct nt_model *model = process->object.model;
    for (struct nt_pseudo *pseudo = model->pseudos; pseudo != NULL;) {
        struct nt_pseudo *next = pseudo->next;
        if (pseudo->owner == process) {
            end_attached(model, pseudo);
            forget(model, pseudo);
            next = model->pseudos;
        }
        pseudo = next;
    }
}

void nt_console_child(struct nt_process *creator, struct nt_process *process, DWORD flags,
                      void *pseudo)
{
    process->console = "own";
    if (pseudo != NULL) {
        process->console = "pseudo";
        process->pseudo = pseudo;
    } else if ((flags & DETACHED_PROCESS) != 0 || (process->image_kind & NT_IMAGE_WINDOWS) != 0) {
        process->console = "";
    } else if ((flags & (CREATE_NEW_CONSOLE | CREATE_NO_WINDOW)) == 0 && *creator->console != 0) {
        process->console = creator->console;
        process->pseudo = creator->pseudo;
    }
}
