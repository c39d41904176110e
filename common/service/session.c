/* Sessions: runs of one client that belong together, and may share a network. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/service/internal.h"

#include "common/base/banned.h"

struct sbx_service_session *sbx_session_find(struct sbx_conn *client, struct sbx_str name)
{
    struct sbx_service_session *session = client->sessions;
    while (session != NULL && !sbx_str_is(name, session->name)) session = session->next;
    return session;
}

static void free_session(struct sbx_service_session *session)
{
    sbx_fd_drop(&session->user_fd);
    sbx_fd_drop(&session->net_fd);
    free(session);
}

void sbx_sessions_release(struct sbx_conn *client)
{
    while (client->sessions != NULL) {
        struct sbx_service_session *session = client->sessions;
        client->sessions = session->next;
        free_session(session);
    }
}

void sbx_session_open(struct sbx_conn *client, const struct sbx_wire_id *id)
{
    struct sbx_service *service = client->service;
    const struct sbx_wire_session_open *asked = &service->body.session_open;
    struct sbx_err err = {0};
    if (client->session_count >= service->limits.sessions) {
        (void)sbx_err_set(&err, SBX_E_LIMIT, "this client has %zu sessions already",
                          client->session_count);
        sbx_conn_fail(client, id, SBX_WIRE_LIMIT_REACHED, &err);
        return;
    }
    struct sbx_service_session *session = (struct sbx_service_session *)calloc(1, sizeof *session);
    if (session == NULL) {
        sbx_conn_fail(client, id, SBX_WIRE_OVERLOADED, NULL);
        return;
    }
    session->user_fd = session->net_fd = -1;
    session->is_shared = asked->shared_network;
    if (asked->name.ptr != NULL)
        (void)snprintf(session->label, sizeof session->label, "%s", asked->name.ptr);
    if (asked->shared_network &&
        sbx_port_network_open(&session->user_fd, &session->net_fd, &err) != SBX_OK) {
        free_session(session);
        sbx_conn_fail(client, id, SBX_WIRE_UNSUPPORTED, &err);
        return;
    }
    (void)snprintf(session->name, sizeof session->name, "s%llu",
                   (unsigned long long)++service->last_session);
    session->next = client->sessions;
    client->sessions = session;
    client->session_count++;
    sbx_wire_add_result(&client->queue, id, SBX_WIRE_SESSION_OPEN,
                        &(struct sbx_wire_session){sbx_str(session->name)});
    sbx_conn_flush(client);
}

void sbx_session_close(struct sbx_conn *client, const struct sbx_wire_id *id)
{
    struct sbx_err err = {0};
    struct sbx_service_session *session =
        sbx_session_find(client, client->service->body.session.session);
    if (session == NULL) {
        (void)sbx_err_set(&err, SBX_E_NOT_FOUND, "there is no such session");
        sbx_conn_fail(client, id, SBX_WIRE_NO_SUCH_SESSION, &err);
        return;
    }
    for (struct sbx_run_job *run = client->runs; run != NULL; run = run->next)
        if (strcmp(run->session, session->name) == 0) sbx_run_end(run);
    struct sbx_service_session **link = &client->sessions;
    while (*link != session) link = &(*link)->next;
    *link = session->next;
    client->session_count--;
    free_session(session);
    sbx_wire_add_result(&client->queue, id, SBX_WIRE_SESSION_CLOSE, NULL);
    sbx_conn_flush(client);
}

static int64_t count_runs(const struct sbx_conn *client, const struct sbx_service_session *session)
{
    int64_t count = 0;
    for (const struct sbx_run_job *run = client->runs; run != NULL; run = run->next)
        count += run->state != SBX_RUN_ENDED && strcmp(run->session, session->name) == 0;
    return count;
}

void sbx_session_list(struct sbx_conn *client, const struct sbx_wire_id *id)
{
    AUTO_BUF items;
    sbx_buf_init(&items, SBX_FRAME_LINE_MAX);
    sbx_buf_add_char(&items, '[');
    for (const struct sbx_service_session *session = client->sessions; session != NULL;
         session = session->next) {
        struct sbx_wire_session_item item = {.session = sbx_str(session->name),
                                             .shared_network = session->is_shared,
                                             .runs = count_runs(client, session)};
        if (session->label[0] != '\0') item.name = sbx_str(session->label);
        if (items.len > 1) sbx_buf_add_char(&items, ',');
        sbx_wire_add_item(&items, &sbx_wire_session_item_members, &item);
    }
    sbx_buf_add_char(&items, ']');
    sbx_wire_add_result(&client->queue, id, SBX_WIRE_SESSION_LIST,
                        &(struct sbx_wire_list){sbx_buf_str(&items)});
    sbx_conn_flush(client);
}
