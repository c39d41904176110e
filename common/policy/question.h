/* Questions to a policy: may the box do this, and what decides? */
#ifndef SBX_POLICY_QUESTION_H
#define SBX_POLICY_QUESTION_H

#include "common/policy/policy.h"

enum sbx_question_kind {
    SBX_ASK_PATH,     /* `path`, to write it or to read it */
    SBX_ASK_SOCKET,   /* to connect to the host's socket at `path` (NULL text: any) */
    SBX_ASK_HOST,     /* a request to `host` and `port` */
    SBX_ASK_VARIABLE, /* the caller's variable `name` */
    SBX_ASK_CALLS,    /* system calls beyond the strict set */
};

struct sbx_question {
    enum sbx_question_kind kind;
    struct sbx_path path;
    bool is_write;
    struct sbx_str host;
    uint16_t port;
    const char *name;
};

/* Appends what decides to `rule`: "/ = read  mode workspace-write". */
bool sbx_question_allowed(struct sbx_arena *arena, const struct sbx_policy *policy,
                          const struct sbx_question *question, struct sbx_buf *rule);

/* Is there a file of the host that a private directory of the box hides? */
bool sbx_policy_hides(const struct sbx_policy *policy, const struct sbx_decision *decision,
                      struct sbx_path path);

#endif
