/* What a program complains about in one line of its standard error: which error of the system, of what, and
 * while doing what. Purely textual: whether the plan forbids it is asked elsewhere. */
#ifndef SBX_RUN_COMPLAINT_H
#define SBX_RUN_COMPLAINT_H

#include "common/base/path.h"
#include "common/run/record.h"

/* Which error text the line has; the first that fits counts. */
enum sbx_complaint_class {
    SBX_COMPLAINT_NONE,
    SBX_COMPLAINT_READ_ONLY, /* EROFS */
    SBX_COMPLAINT_ACCESS,    /* EACCES, EPERM, ERROR_ACCESS_DENIED */
    SBX_COMPLAINT_MISSING,   /* ENOENT */
    SBX_COMPLAINT_NETWORK,   /* ENETUNREACH, a name that cannot be resolved */
    SBX_COMPLAINT_FAMILY,    /* EAFNOSUPPORT */
    SBX_COMPLAINT_CALL,      /* SIGSYS as a shell tells it */
    SBX_COMPLAINT_NO_CALL,   /* ENOSYS */
};

/* What it was doing, as far as its words tell. */
enum sbx_intent { SBX_INTENT_UNKNOWN, SBX_INTENT_READ, SBX_INTENT_WRITE };

/* How much a name looks like the path that the error is about. */
enum sbx_name_trust {
    SBX_NAME_SURE,       /* absolute, or starts with "./" or "../" */
    SBX_NAME_LIKELY,     /* relative, and where the path stands in such a message */
    SBX_NAME_MUST_EXIST, /* may be just a word */
};

struct sbx_complaint_name {
    struct sbx_str text; /* into the line */
    enum sbx_name_trust trust;
};

#define SBX_COMPLAINT_NAMES_MAX 16
#define SBX_COMPLAINT_LINE_MAX 8192

struct sbx_complaint {
    enum sbx_complaint_class class;
    struct sbx_str error; /* the error's text in the line */
    enum sbx_intent intent;
    bool has_verb;                /* a word says so, and not only the error */
    enum sbx_operation operation; /* of an intent that is known */
    struct sbx_complaint_name names[SBX_COMPLAINT_NAMES_MAX]; /* nearest to the error first */
    size_t name_count;
    struct sbx_str host; /* that the network or a family is asked for; empty when none is named */
    uint16_t port;       /* 443 when none is named */
};

/* Takes the next line off *rest, without terminal sequences, into `line` (which has room for
 * SBX_COMPLAINT_LINE_MAX bytes); *len is 0 for an empty line and one that is longer: that is data and not
 * a message. False at the end. */
bool sbx_complaint_line(struct sbx_str *rest, char *line, size_t *len);

/* False when the line has no error text. Views point into the line. */
bool sbx_complaint_read(enum sbx_path_rules rules, struct sbx_str line, struct sbx_complaint *out);

/* The host of a network complaint: in `text`, after a phrase that announces one (complaint_host.c). */
bool sbx_complaint_host(struct sbx_str text, struct sbx_str *host, uint16_t *port);

/* Where `word` starts in `text`, not inside a longer word and in any case; text.len when it is not there. '-',
 * '_', '.' and '/' belong to words, so that names of files say nothing. */
size_t sbx_complaint_find(struct sbx_str text, const char *word);

#endif
