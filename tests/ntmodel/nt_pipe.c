/* Anonymous pipes: a ring of bytes with two kinds of ends. */
#include "tests/ntmodel/nt_internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/banned.h"

enum { DEFAULT_BYTES = 4096 };

struct nt_pipe_buffer *nt_pipe_buffer_new(size_t room)
{
    struct nt_pipe_buffer *buffer = nt_alloc(sizeof *buffer);
    buffer->references = 1;
    buffer->room = room == 0 ? DEFAULT_BYTES : room;
    buffer->data = nt_alloc(buffer->room);
    return buffer;
}

void nt_pipe_buffer_unref(struct nt_pipe_buffer *buffer)
{
    if (buffer != NULL && --buffer->references == 0) {
        free(buffer->data);
        free(buffer);
    }
}

struct nt_pipe *nt_pipe_end(struct nt_model *model, struct nt_pipe_buffer *buffer, bool is_write)
{
    struct nt_pipe *pipe = nt_object_new(model, NT_PIPE, sizeof *pipe);
    pipe->buffer = buffer;
    buffer->references++;
    pipe->is_write = is_write;
    pipe->is_counted = true;
    if (is_write) {
        buffer->writers++;
    } else {
        buffer->readers++;
    }
    return pipe;
}

void nt_pipe_close(struct nt_pipe *pipe)
{
    if (!pipe->is_counted) {
        return;
    }
    pipe->is_counted = false;
    if (pipe->is_write) {
        pipe->buffer->writers--;
    } else {
        pipe->buffer->readers--;
    }
    nt_wake(pipe->object.model);
}

void nt_pipe_free(struct nt_pipe *pipe)
{
    if (pipe->buffer != NULL) {
        nt_pipe_close(pipe);
        nt_pipe_buffer_unref(pipe->buffer);
    }
}

BOOL WINAPI nt_CreatePipe(PHANDLE read, PHANDLE write, LPSECURITY_ATTRIBUTES security, DWORD size)
{
    struct nt_process *process = nt_process_now();
    struct nt_model *model = process->object.model;
    struct nt_pipe_buffer *buffer = nt_pipe_buffer_new(size);
    struct nt_pipe *reader = nt_pipe_end(model, buffer, false);
    struct nt_pipe *writer = nt_pipe_end(model, buffer, true);
    nt_pipe_buffer_unref(buffer);
    *read = nt_handle_add(process, reader, FILE_GENERIC_READ | FILE_WRITE_ATTRIBUTES,
                          nt_inherits(security));
    *write = nt_handle_add(process, writer, FILE_GENERIC_WRITE | FILE_READ_ATTRIBUTES,
                           nt_inherits(security));
    nt_object_unref(reader);
    nt_object_unref(writer);
    return TRUE;
}

/* Waits for the other side; false when the operation was cancelled. */
static bool await_other(struct nt_thread *self)
{
    self->is_in_io = true;
    (void)nt_sleep(self->object.model, UINT64_MAX);
    self->is_in_io = false;
    bool goes_on = !self->is_cancelled;
    self->is_cancelled = false;
    return goes_on;
}

/* The first byte that is there ends the wait. */
DWORD nt_pipe_read(struct nt_pipe *pipe, void *out, DWORD size, DWORD *read)
{
    struct nt_pipe_buffer *buffer = pipe->buffer;
    struct nt_thread *self = nt_self();
    self->is_cancelled = false;
    (void)nt_object_ref(pipe);
    DWORD code = pipe->is_write ? ERROR_ACCESS_DENIED : 0;
    while (code == 0 && buffer->size == 0) {
        if (buffer->writers == 0) {
            code = ERROR_BROKEN_PIPE;
        } else if (!await_other(self)) {
            code = ERROR_OPERATION_ABORTED;
        }
    }
    if (code == 0) {
        DWORD part = size < buffer->size ? size : (DWORD)buffer->size;
        for (DWORD i = 0; i < part; i++) {
            ((unsigned char *)out)[i] = buffer->data[(buffer->first + i) % buffer->room];
        }
        buffer->first = (buffer->first + part) % buffer->room;
        buffer->size -= part;
        *read = part;
        nt_wake(pipe->object.model);
    }
    nt_object_unref(pipe);
    return code;
}

static void make_room(struct nt_pipe_buffer *buffer, size_t more)
{
    if (buffer->size + more <= buffer->room) {
        return;
    }
    size_t room = (buffer->size + more) * 2;
    unsigned char *grown = nt_alloc(room);
    for (size_t i = 0; i < buffer->size; i++) {
        grown[i] = buffer->data[(buffer->first + i) % buffer->room];
    }
    free(buffer->data);
    buffer->data = grown;
    buffer->room = room;
    buffer->first = 0;
}

/* All or, when the reader goes away on the way, nothing that counts. */
DWORD nt_pipe_write(struct nt_pipe *pipe, const void *bytes, DWORD size, DWORD *written)
{
    struct nt_pipe_buffer *buffer = pipe->buffer;
    struct nt_thread *self = nt_self();
    self->is_cancelled = false;
    (void)nt_object_ref(pipe);
    DWORD code = pipe->is_write ? 0 : ERROR_ACCESS_DENIED;
    DWORD put = 0;
    while (code == 0 && put < size) {
        if (buffer->readers == 0) {
            code = put == 0 ? ERROR_NO_DATA : ERROR_BROKEN_PIPE;
            break;
        }
        if (buffer->is_endless) {
            make_room(buffer, size - put);
        }
        while (put < size && buffer->size < buffer->room) {
            buffer->data[(buffer->first + buffer->size++) % buffer->room] =
                ((const unsigned char *)bytes)[put++];
        }
        nt_wake(pipe->object.model);
        if (put < size && !await_other(self)) {
            code = ERROR_OPERATION_ABORTED;
        }
    }
    if (code == 0) {
        *written = put;
    }
    nt_object_unref(pipe);
    return code;
}

/* ---- the launcher's streams ----------------------------------------------------------------------------- */

const char *nt_model_output(struct nt_model *model, int stream)
{
    nt_lock(model);
    struct nt_pipe_buffer *buffer = model->streams[stream];
    char *copy = nt_alloc(buffer->size + 1);
    for (size_t i = 0; i < buffer->size; i++) {
        copy[i] = (char)buffer->data[(buffer->first + i) % buffer->room];
    }
    free(model->outputs[stream]);
    model->outputs[stream] = copy;
    nt_unlock(model);
    return copy;
}

void nt_model_input(struct nt_model *model, const char *text)
{
    nt_lock(model);
    struct nt_pipe_buffer *buffer = model->streams[0];
    size_t size = strlen(text);
    make_room(buffer, size);
    for (size_t i = 0; i < size; i++) {
        buffer->data[(buffer->first + buffer->size++) % buffer->room] = (unsigned char)text[i];
    }
    nt_wake(model);
    nt_unlock(model);
}
