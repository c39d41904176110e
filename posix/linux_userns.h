/* Settings of a Linux machine that forbid user namespaces. */
#ifndef SBX_POSIX_LINUX_USERNS_H
#define SBX_POSIX_LINUX_USERNS_H

#include <stdbool.h>

struct sbx_userns_obstacle {
    const char *file, *value; /* the setting, and what it holds then */
    bool holds_for_root;
    const char *what;
    const char *remedy;        /* where bwrap is to build the box */
    const char *native_remedy; /* where sbx is; NULL: the same */
};

/* The first that holds for the caller, static; NULL when none does. Whether one can really be made only
 * trying tells: a container or a security module may forbid it too. */
const struct sbx_userns_obstacle *sbx_userns_find_obstacle(void);

/* The same for a machine whose files are below `root` ("": this one) and a caller who is root there or not. */
const struct sbx_userns_obstacle *sbx_userns_obstacle_below(const char *root, bool is_root);

/* What is known when a box could not be built. */
struct sbx_userns_trouble {
    const char *said;                           /* whoever built it, in its own words; "": none */
    const struct sbx_userns_obstacle *obstacle; /* NULL: none */
    bool is_in_container;
    bool is_native; /* without bwrap */
};
struct sbx_userns_trouble sbx_userns_find_trouble(const char *said, bool is_native);

/* What to do about it, in one sentence; static text. */
const char *sbx_userns_remedy(const struct sbx_userns_trouble *trouble);

#endif
