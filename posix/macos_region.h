/* Regions of file rules as filters of Seatbelt: below a path, but what others decide about. */
#ifndef SBX_POSIX_MACOS_REGION_H
#define SBX_POSIX_MACOS_REGION_H

#include "posix/macos_rules.h"
#include "posix/macos_sbpl.h"

enum sbx_region {
    SBX_REGION_READ,    /* what may be read, with what may be written */
    SBX_REGION_WAY,     /* directories on the way to all of it, by name */
    SBX_REGION_SOCKET,  /* sockets of the host that may be connected to */
    SBX_REGION_SCRATCH, /* the box's private directory */
};

struct sbx_macos_regions {
    struct sbx_arena *arena;
    const struct sbx_policy *policy;
    const struct sbx_macos_rules *rules;
    struct sbx_path scratch;
    bool has_no_memory; /* set by writing */
};

/* Is it a place that no grant of a directory above means? */
bool sbx_macos_is_never(struct sbx_path path);

/* Writes filters of which any may match. */
void sbx_macos_regions_write(struct sbx_macos_regions *regions, struct sbx_sbpl *sbpl,
                             enum sbx_region which);

/* Is all of the disk readable, but what other rules take back? */
bool sbx_macos_regions_reads_root(const struct sbx_macos_regions *regions);

/* Is there any socket? A rule without a filter would mean everything. */
bool sbx_macos_regions_has_socket(const struct sbx_macos_regions *regions);

/* The rules for writing, whole, region by region. With `has_sockets` sockets may be made and reached there too. */
void sbx_macos_regions_write_rules(struct sbx_macos_regions *regions, struct sbx_sbpl *sbpl,
                                   bool has_sockets);

#endif
