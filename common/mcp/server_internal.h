/* What the files of this room share: the server, its jobs, and how an answer leaves. */
#ifndef SBX_MCP_SERVER_INTERNAL_H
#define SBX_MCP_SERVER_INTERNAL_H

#include "common/base/arena.h"
#include "common/mcp/capture.h"
#include "common/mcp/message.h"
#include "common/mcp/port.h"
#include "common/mcp/server.h"

/* What differs between revisions of the protocol, oldest first. */
struct sbx_mcp_revision {
    const char *name;
    bool has_annotations; /* of tools, and messages of progress */
    bool has_batches;
    bool has_structure; /* titles, outputSchema, structuredContent */
};

/* Answers to one array of messages, which leave together. */
struct sbx_mcp_batch {
    bool is_used;
    size_t pending;
    struct sbx_buf text;
};
#define SBX_MCP_BATCHES 4

enum sbx_mcp_job_kind { SBX_MCP_JOB_RUN, SBX_MCP_JOB_EXPLAIN, SBX_MCP_JOB_DOCTOR };

/* A child at work for one request; its place in the table is the child's number. */
struct sbx_mcp_job {
    bool is_used;
    enum sbx_mcp_job_kind kind;
    struct sbx_mcp_id id;
    struct sbx_mcp_batch *batch;
    struct sbx_mcp_id progress; /* its token */
    uint64_t begin_ns, told_ns; /* told: when progress was last reported */
    bool is_cancelled;
    bool is_killed;
    uint64_t cancelled_ns;
    struct sbx_mcp_capture output[2]; /* stdout, stderr */
    struct sbx_buf result;            /* the outcome's JSON */
    char label[96];                   /* what runs, for the list of outcomes */
};

/* How a run ended, as sbx told it. */
struct sbx_mcp_outcome {
    uint64_t number;
    char label[96];
    struct sbx_buf text;
};
#define SBX_MCP_OUTCOMES 16

struct sbx_mcp_server {
    const struct sbx_mcp_config *config;
    struct sbx_mcp_port *port;
    const struct sbx_mcp_revision *revision; /* NULL: not initialised */
    struct sbx_mcp_lines lines;
    struct sbx_mcp_batch batches[SBX_MCP_BATCHES];
    struct sbx_mcp_job jobs[SBX_MCP_CHILDREN];
    struct sbx_mcp_outcome outcomes[SBX_MCP_OUTCOMES];
    uint64_t outcome_count; /* of all */
    bool is_broken;         /* the host no longer reads */
};

/* One request being answered. */
struct sbx_mcp_call {
    struct sbx_mcp_server *server;
    struct sbx_arena *arena; /* until the line is done */
    const struct sbx_mcp_id *id;
    struct sbx_mcp_batch *batch; /* NULL: not part of one */
    const struct sbx_value *params;
};

/* ---- server.c ---- */

/* One whole answer leaves, or joins its batch. An answer that did not fit becomes an error. */
void sbx_mcp_send(struct sbx_mcp_server *server, struct sbx_mcp_batch *batch,
                  const struct sbx_mcp_id *id, const struct sbx_buf *answer);
void sbx_mcp_fail(const struct sbx_mcp_call *call, enum sbx_mcp_fault fault, const char *text);

/* ---- tools.c ---- */

void sbx_mcp_tools_list(const struct sbx_mcp_call *call);
void sbx_mcp_tools_call(const struct sbx_mcp_call *call);

/* ---- arguments.c ---- */

/* The text as a C string in the arena; NULL when it is no text or has a NUL. */
const char *sbx_mcp_text(const struct sbx_mcp_call *call, const struct sbx_value *value);

/* Options that a model may choose, as words; NULL, or what is wrong with them. */
const char *sbx_mcp_options_read(const struct sbx_mcp_call *call, const struct sbx_value *arguments,
                                 struct sbx_mcp_words *out);
/* Is it one of them? */
bool sbx_mcp_option_is(struct sbx_str name);
/* Their part of a tool's schema: members of "properties". */
void sbx_mcp_options_schema(struct sbx_jsonw *json);
/* The same for one property. */
void sbx_mcp_property(struct sbx_jsonw *json, const char *name, const char *type,
                      const char *description);

/* The command to run; NULL, or what is wrong with it. */
const char *sbx_mcp_argv_read(const struct sbx_mcp_call *call, const struct sbx_value *value,
                              struct sbx_mcp_words *out);

/* ---- jobs.c ---- */

/* Output that a model gets of each stream. */
#define SBX_MCP_OUTPUT_DEFAULT ((size_t)32 << 10)
#define SBX_MCP_OUTPUT_MAX ((size_t)512 << 10)

struct sbx_mcp_order {
    enum sbx_mcp_job_kind kind;
    const struct sbx_mcp_words *words; /* after "sbx" */
    struct sbx_str input;
    size_t output_bytes;
    const char *label;
};

/* Starts a child; its answer comes when it ended. When it cannot be started that is the answer. */
void sbx_mcp_job_start(const struct sbx_mcp_call *call, const struct sbx_mcp_order *order);
void sbx_mcp_job_output(struct sbx_mcp_server *server, const struct sbx_mcp_event *event);
void sbx_mcp_job_ended(struct sbx_mcp_server *server, size_t child);
/* Ends the job of that request, which then has no answer. */
void sbx_mcp_job_cancel(struct sbx_mcp_server *server, const struct sbx_mcp_id *id);
/* Reports progress and ends what does not end itself; the time until it must be called again. */
uint32_t sbx_mcp_jobs_attend(struct sbx_mcp_server *server);
void sbx_mcp_jobs_release(struct sbx_mcp_server *server);

/* ---- answer.c ---- */

/* A tool's answer that is only a text. */
void sbx_mcp_answer_text(struct sbx_mcp_server *server, struct sbx_mcp_batch *batch,
                         const struct sbx_mcp_id *id, struct sbx_str text, bool is_error);
/* The answer of a job that ended. */
void sbx_mcp_answer_job(struct sbx_mcp_server *server, const struct sbx_mcp_job *job);

/* ---- resources.c ---- */

void sbx_mcp_resources_list(const struct sbx_mcp_call *call);
void sbx_mcp_resources_templates(const struct sbx_mcp_call *call);
void sbx_mcp_resources_read(const struct sbx_mcp_call *call);
void sbx_mcp_outcome_keep(struct sbx_mcp_server *server, const struct sbx_mcp_job *job);
void sbx_mcp_doctor_answer(struct sbx_mcp_server *server, const struct sbx_mcp_job *job);

#endif
