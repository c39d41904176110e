/* The two halves of the build tool make_filters: what a program has to say (make_filters.c), and its instructions
 * (make_filters_code.c). */
#ifndef SBX_POSIX_MAKE_FILTERS_H
#define SBX_POSIX_MAKE_FILTERS_H

#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>

#include "posix/linux_calls.h"

enum {
    FILTER_LAST_CALL = 1023, /* far above what any kernel has */
    FILTER_TABLES = 4,       /* of rules, at most; NULL ends them */
    FILTER_MOST_LINES = 4096 /* the kernel takes no more */
};

enum filter_families {
    FILTER_ANY_FAMILY,
    FILTER_FAMILIES,      /* those of sbx_call_families, but not AF_UNIX */
    FILTER_FAMILIES_UNIX, /* and that one */
};

struct filter_wanted {
    const struct sbx_call_rule *const *tables; /* the first row that holds answers */
    enum filter_families families;             /* asked before the rows */
    const uint32_t
        *defaults;      /* where no row holds, by number; behind them that of every higher one */
    uint32_t processor; /* AUDIT_ARCH_…; another one's calls end the process */
};

struct filter_code {
    struct sock_filter lines[FILTER_MOST_LINES];
    size_t count;
};

void filter_make(struct filter_code *out, const struct filter_wanted *wanted);

/* Below zero for a call that only other processors have. Ends the tool for a name nobody knows. */
int filter_call_number(const char *name);

/* Ends the tool. */
_Noreturn void filter_stop(const char *what);

#endif
