/* sbx as a tool of an agent's host: the Model Context Protocol over standard input and output, one JSON
 * object per line. Commands are run by children that are sbx itself, so that a host can cancel, ping and
 * start others meanwhile. What boxes may do is decided by who started `sbx mcp`: a model can only ask for
 * less. */
#ifndef SBX_MCP_SERVER_H
#define SBX_MCP_SERVER_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/arena.h"
#include "common/base/buf.h"
#include "common/base/err.h"

/* Words of a command line, in an arena. */
struct sbx_mcp_words {
    const char **items;
    size_t count, capacity;
    bool failed; /* no memory */
};
void sbx_mcp_words_add(struct sbx_arena *arena, struct sbx_mcp_words *words, const char *word);

struct sbx_mcp_config {
    const char *version; /* of sbx */
    const char *program; /* sbx itself, absolute */
    const char *allowed; /* a few lines for a model: what boxes may do */

    /* The options of a run: the user's, and those a model asks for besides ("--flag=value" each). The array and
     * what is made for it live in `arena`. False with the reasons in *why when they allow more than the
     * user's alone. */
    bool (*options)(void *state, struct sbx_arena *arena, const char *const *more, size_t count,
                    struct sbx_mcp_words *out, struct sbx_buf *why);
    void *state;
};

/* Serves until the input ends; commands that still run are ended then. */
enum sbx_code sbx_mcp_serve(const struct sbx_mcp_config *config, struct sbx_err *err) SBX_MUST_USE;

#endif
