/* What sbx and sbx-init, the first process of a box, say to each other: one sealed block of memory that says
 * what to do, one pipe of orders, one of reports. Shared by both programs, so only fixed-width types.
 *
 * An sbx-init that builds the box is started before there is a block, with one argument: "USER GROUP NETWORK", the only
 * identities that are mapped, and 1 for a network of its own. It does what takes no more than that, then waits for
 * SBX_ORDER_BUILD. */
#ifndef SBX_POSIX_INIT_PLAN_H
#define SBX_POSIX_INIT_PLAN_H

#include <stdint.h>

#define SBX_INIT_MAGIC UINT32_C(0x31584253) /* "SBX1" */
#define SBX_INIT_MAX_BYTES (UINT32_C(4) << 20)

/* Descriptors that sbx-init is started with, besides 0, 1 and 2. */
enum {
    SBX_INIT_FD_IMAGE = 3,   /* its own program */
    SBX_INIT_FD_PLAN = 4,    /* the block */
    SBX_INIT_FD_REPORTS = 5, /* write end; the held process has it too, under the same number */
    SBX_INIT_FD_ORDERS = 6,  /* read end */
    /* They become 1 and 2. Until then those are where the helper complains; a helper that saw the
     * caller's terminal there would put it into the box (bwrap's /dev/console). */
    SBX_INIT_FD_STDOUT = 7,
    SBX_INIT_FD_STDERR = 8,
    SBX_INIT_FD_HOLD =
        9, /* read end, for the held process: one byte lets it go. With SBX_INIT_WAITS a socket, and
                             one message brings the command */
    SBX_INIT_FD_RULESET = 10, /* only with SBX_INIT_HAS_RULESET */
    SBX_INIT_FD_RESULT = 10,  /* only with SBX_INIT_WAITS, write end: one struct sbx_init_result */
    SBX_INIT_FD_FIRST_FREE = 11,
};

enum {
    SBX_INIT_IS_FIRST = 1u << 0,     /* it must be pid 1: its end is the end of the box */
    SBX_INIT_HAS_TERMINAL = 1u << 1, /* descriptor 0 becomes the command's controlling terminal */
    SBX_INIT_HAS_RULESET = 1u << 2,  /* a ready Landlock ruleset instead of rules */
    SBX_INIT_NO_LANDLOCK = 1u << 3,  /* this kernel has none */
    SBX_INIT_BUILDS = 1u << 4,       /* it was born in new namespaces and builds the box itself */
    SBX_INIT_HOST_ROOT = 1u << 5, /* to build: the first mount is the host's root, kept in place */
    SBX_INIT_WAITS = 1u << 6,     /* the command comes later: the block says nothing about it */
};

/* Arrays of the block: where they start (from the block's first byte, 8-byte aligned) and how many
 * elements they have. Texts are offsets of NUL-terminated bytes. */
struct sbx_init_array {
    uint32_t at, count;
};

struct sbx_init_rlimit {
    uint32_t resource;
    uint32_t unused;
    uint64_t soft, hard;
};

struct sbx_init_rule {
    uint64_t access;
    uint64_t path;
};

/* A TCP port rule of Landlock. */
struct sbx_init_port {
    uint64_t access, port;
};

struct sbx_init_filter {
    uint32_t at;    /* of the first struct sock_filter */
    uint32_t count; /* instructions */
};

/* A path that decides about creation below it; the longest that contains a name counts. */
enum {
    SBX_PLACE_WRITABLE,
    SBX_PLACE_FREE,   /* private, or read-only by its mount: the kernel answers */
    SBX_PLACE_CLOSED, /* nothing is made there, whether it exists or was moved away */
    SBX_PLACE_PINNED, /* closed, and no directory above it may be moved away either */
    SBX_PLACE_PRIVATE, /* free, and no directory above it may be moved away: what is made there then is not private */
};
struct sbx_init_place {
    uint64_t path;
    uint64_t kind;
};

enum {
    SBX_PATTERN_FILE_ONLY = 1u << 0, /* a directory of that name may be made */
    SBX_PATTERN_ANCHORED = 1u << 1,  /* from the root of the file system, not at any depth */
};
struct sbx_init_pattern {
    uint64_t text; /* components, '*' and '?' within one, "**" any number */
    uint64_t flags;
};

/* A mount to build. */
enum {
    SBX_BUILD_WRITE, /* the host's */
    SBX_BUILD_READ,
    SBX_BUILD_TMPFS,
    SBX_BUILD_MASK,
    SBX_BUILD_MASK_FILE,
    SBX_BUILD_LINK,
    SBX_BUILD_PROC,
    SBX_BUILD_DEV,
};
enum {
    SBX_BUILD_IS_DIRECTORY = 1u << 0,
    SBX_BUILD_IS_REOPENED = 1u << 1, /* of a mask: something is mounted below it */
    SBX_BUILD_EARLY = 1u << 2,       /* its source must be held before anything is covered */
    SBX_BUILD_IN_PRIVATE = 1u << 3,  /* its place may be made, behind `private_bytes` of the path */
};
struct sbx_init_mount {
    uint32_t kind, flags;
    uint64_t path; /* text */
    uint64_t text; /* text: of a link, where it leads; of a file system, its size */
    uint64_t inode;
    uint32_t device_major, device_minor; /* of the source, with the inode */
    uint32_t private_bytes;
    int32_t fd; /* sbx-init's own */
};

struct sbx_init_plan {
    uint32_t magic, bytes; /* of the whole block */
    uint32_t flags;
    uint32_t probe;              /* text: a path that only Landlock refuses to open for writing */
    uint32_t program, directory; /* texts */
    struct sbx_init_array argv;  /* of uint64_t offsets; pointers once sbx-init has turned them */
    struct sbx_init_array env;   /* likewise; both end with 0, which is not counted */
    struct sbx_init_array rlimits;
    struct sbx_init_array rules;
    struct sbx_init_array ports;
    struct sbx_init_array filters; /* in the order they are loaded, before the command is born */
    struct sbx_init_array places;
    struct sbx_init_array patterns;
    struct sbx_init_filter names;                    /* count 0: creation is not watched */
    uint64_t handled_files, handled_network, scoped; /* of the Landlock ruleset */
    struct sbx_init_array mounts;                    /* to build, parents first */
    uint32_t most_seconds; /* the box ends then, even if nobody says so; 0: it may stay */
    uint32_t unused;
};

/* A box that waits: the held process gets one message, a block with the three streams (SCM_RIGHTS). Of the block only
 * program, directory, argv and env count. */
enum { SBX_COMMAND_STREAMS = 3, SBX_COMMAND_MAX_BYTES = 64 << 10 };

/* What the processes that have ended took. */
struct sbx_init_usage {
    uint64_t cpu_ns;
    uint64_t peak_memory_bytes;
};

/* How its command ended: every other process of the box has ended by then too, and sbx-init waits for its own end. A
 * command that did not start is told as any failure, in a report. */
struct sbx_init_result {
    int32_t status; /* as of wait(2) */
    uint32_t unused;
    struct sbx_init_usage usage; /* of the command and of what it waited for */
};

/* Orders, one byte each: a signal number for the command, with SBX_ORDER_GROUP for its process group, or one
 * of these. */
enum {
    SBX_ORDER_GROUP = 128,
    SBX_ORDER_BUILD = 250, /* the block is sealed; the first of all orders where sbx-init builds */
    SBX_ORDER_STOP = 251,  /* every process of the box */
    SBX_ORDER_CONTINUE = 252, /* likewise */
    SBX_ORDER_ASK_ALL = 254,  /* TERM and CONT to every process of the box */
    SBX_ORDER_END = 255,      /* end the box now */
};

enum {
    SBX_SAID_FAILED, /* value: step, raw: errno, text: path, if it is about one */
    SBX_SAID_BUILT,  /* the box stands, with all its mounts; nothing is confined yet */
    SBX_SAID_HELD, /* by the held process, with SBX_INIT_WAITS by the first. value: its number in the box, raw: errno of the probe */
    SBX_SAID_WATCHING, /* without SBX_INIT_WAITS: the first process can answer the command from now on */
    SBX_SAID_STOPPED, /* value: signal */
    SBX_SAID_CONTINUED,
    SBX_SAID_ENDED, /* value: status as of wait(2); text: struct sbx_init_usage. Of a box that is a namespace every
                         other process has ended too */
    SBX_SAID_REFUSED, /* value: what was tried, raw: errno, text: path */
};

/* Steps that can fail before the command runs. */
enum {
    SBX_INIT_STEP_PLAN,
    SBX_INIT_STEP_HARDEN,
    SBX_INIT_STEP_RLIMIT,
    SBX_INIT_STEP_LANDLOCK,
    SBX_INIT_STEP_SECCOMP,
    SBX_INIT_STEP_FORK,
    SBX_INIT_STEP_NAMES,
    SBX_INIT_STEP_TERMINAL,
    SBX_INIT_STEP_DIRECTORY,
    SBX_INIT_STEP_EXEC,
    SBX_INIT_STEP_GROUP,
    SBX_INIT_STEP_IDS,
    SBX_INIT_STEP_ROOT,
    SBX_INIT_STEP_SOURCE, /* this one and the next two: of a path, which comes as text */
    SBX_INIT_STEP_PLACE,
    SBX_INIT_STEP_MOUNT,
    SBX_INIT_STEP_PROC,
    SBX_INIT_STEP_USERNS,
    SBX_INIT_STEP_DEVICES,
    SBX_INIT_STEP_NETWORK,
};

/* What a creating call wants. */
enum {
    SBX_MAKES_FILE,
    SBX_MAKES_DIRECTORY,
    SBX_MAKES_NODE,
    SBX_MAKES_SYMLINK,
    SBX_MAKES_LINK,
    SBX_MAKES_RENAME,
    SBX_CHANGES_MODE,
    SBX_CHANGES_TIMES,
    SBX_CHANGES_OWNER,
};

#define SBX_SAID_TEXT 1000

/* Written whole: it is smaller than PIPE_BUF. `length` bytes of text follow; only these are sent. */
struct sbx_said {
    uint32_t kind;
    int32_t value, raw;
    uint32_t length;
    char text[SBX_SAID_TEXT];
};
#define SBX_SAID_HEAD 16

#endif
