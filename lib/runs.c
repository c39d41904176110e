/* The commands of a connection. */
#include <string.h>

#include "lib/client.h"

#include "common/base/banned.h"

void sbx_client_init_buf(const struct sbx_client *client, struct sbx_buf *buf, size_t max)
{
    sbx_buf_init(buf, max);
    buf->resize = client->resize_memory;
    buf->resize_state = client->memory_state;
}

struct sbx_client_run_state *sbx_client_find(struct sbx_client *client, sbx_client_run_id id)
{
    for (size_t i = 0; i < client->run_count; i++)
        if (client->runs[i].id == id) return &client->runs[i];
    return NULL;
}

struct sbx_client_run_state *sbx_client_find_name(struct sbx_client *client, struct sbx_str name)
{
    if (name.len == 0) return NULL;
    /* Output comes in rows of the same run. */
    if (client->run_hint < client->run_count &&
        sbx_str_is(name, client->runs[client->run_hint].name))
        return &client->runs[client->run_hint];
    for (size_t i = 0; i < client->run_count; i++) {
        if (!sbx_str_is(name, client->runs[i].name)) continue;
        client->run_hint = i;
        return &client->runs[i];
    }
    return NULL;
}

struct sbx_client_run_state *sbx_client_add_run(struct sbx_client *client)
{
    if (client->run_count == client->run_capacity) {
        size_t capacity = client->run_capacity == 0 ? 4 : client->run_capacity * 2;
        void *runs = client->resize_memory(client->memory_state, client->runs,
                                           capacity * sizeof *client->runs);
        if (runs == NULL) return NULL;
        client->runs = (struct sbx_client_run_state *)runs;
        client->run_capacity = capacity;
    }
    struct sbx_client_run_state *run = &client->runs[client->run_count++];
    memset(run, 0, sizeof *run);
    return run;
}

void sbx_client_release_run(struct sbx_client_run_state *run)
{
    for (size_t i = 0; i < SBX_CLIENT_STREAMS; i++) sbx_buf_release(&run->kept[i]);
}

void sbx_client_remove_run(struct sbx_client *client, sbx_client_run_id id)
{
    struct sbx_client_run_state *run = sbx_client_find(client, id);
    if (run == NULL) return;
    sbx_client_release_run(run);
    *run = client->runs[--client->run_count];
}
