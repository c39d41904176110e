/* The objects of the model: what a handle can mean, a process is made of, a file system holds. */
#ifndef SBX_TESTS_NTMODEL_NT_OBJECTS_H
#define SBX_TESTS_NTMODEL_NT_OBJECTS_H

#include <windows.h>

#include <winioctl.h>

#include "tests/ntmodel/nt_model.h"

enum {
    NT_PATH_MAX = 1024,
    NT_NAME_MAX = 256,
    NT_JOBS_MAX = 8,
    NT_STREAM_BYTES = 65536,
    NT_LETTERS = 26,
};

enum nt_kind {
    NT_EVENT,
    NT_MUTEX,
    NT_THREAD,
    NT_PROCESS,
    NT_JOB,
    NT_PORT,
    NT_TOKEN,
    NT_FILE,
    NT_FIND,
    NT_PIPE,   /* one end of an anonymous pipe */
    NT_DEVICE, /* NUL, the console */
    NT_STATION,
    NT_DESKTOP,
    NT_ANY
};

struct nt_object {
    enum nt_kind kind;
    unsigned references; /* of handles and of pointers */
    unsigned handles;    /* in all processes */
    struct nt_model *model;
    wchar_t *name;            /* of a named one */
    struct nt_object *sister; /* the next named one */
    unsigned char *descriptor;
    size_t descriptor_size;
};

struct nt_handle {
    struct nt_object *object;
    DWORD access;
    bool inherits;
    bool is_protected;
};

/* Values are 4, 8, 12 … and none is used twice, so that one that was closed is never another's. */
struct nt_handles {
    struct nt_handle *rows;
    size_t count;
    size_t room;
    size_t open;
};

struct nt_event {
    struct nt_object object;
    bool is_manual;
    bool is_set;
};

struct nt_thread {
    struct nt_object object;
    struct nt_process *process;
    DWORD id;
    LPTHREAD_START_ROUTINE start;
    void *argument;
    unsigned suspended;
    bool is_started;
    bool is_over;
    bool is_attached; /* a thread of the test, not ours to end */
    void **way_out;   /* of a thread of the pool: where nt_die goes on, see nt_thread.c */
    bool is_in_io;
    bool is_cancelled;
    struct nt_object *desktop;
};

struct nt_mutex {
    struct nt_object object;
    struct nt_thread *owner;
    unsigned depth;
    bool is_abandoned;
    struct nt_mutex *next; /* of all mutexes */
};

struct nt_token_object {
    struct nt_object object;
    struct nt_token token;
    uint64_t id;
    uint64_t parent; /* that it was restricted from */
};

struct nt_packet {
    DWORD bytes;
    ULONG_PTR key;
    LPOVERLAPPED overlapped;
};

struct nt_port {
    struct nt_object object;
    struct nt_packet *packets;
    size_t count;
    size_t room;
};

struct nt_job {
    struct nt_object object;
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits;
    JOBOBJECT_BASIC_ACCOUNTING_INFORMATION account;
    JOBOBJECT_CPU_RATE_CONTROL_INFORMATION cpu_rate;
    DWORD ui_limits;
    DWORD end_of_time; /* JOB_OBJECT_TERMINATE_AT_END_OF_JOB or _POST_ */
    uint64_t memory;
    uint64_t peak_memory;
    bool is_signalled;
    struct nt_port *port;
    ULONG_PTR key;
    struct nt_job *outer;
    DWORD session;
};

struct nt_process {
    struct nt_object object;
    struct nt_process *next;
    DWORD id;
    DWORD parent_id;
    bool is_launcher;
    bool is_ended;
    bool is_killed; /* a launcher, by the test */
    bool is_running;
    DWORD exit_code;
    FILETIME created;
    FILETIME ended;
    uint64_t user_ticks; /* of 100 ns */
    uint64_t memory;
    uint64_t peak_memory;
    unsigned threads; /* alive */
    struct nt_token_object *token;
    struct nt_handles handles;
    HANDLE std[3];
    struct nt_job *jobs[NT_JOBS_MAX]; /* outermost first */
    size_t job_count;
    struct nt_thread *main;
    nt_actor *actor;
    void *actor_state;
    wchar_t *image;
    wchar_t *command_line;
    wchar_t *environment;
    wchar_t *directory;
    struct nt_file *directory_file; /* held open, like Windows holds it */
    struct nt_object *station;
    HANDLE station_handle;
    HANDLE desktop_handle;
    wchar_t *desktop_name; /* "station\desktop" */
    const char *console;
    struct nt_pseudo *pseudo;
    size_t own_handles; /* how many were there before its first instruction */
    unsigned image_kind;
    DWORD birth_code; /* what the loader ends it with, 0: it runs */
    uint64_t mitigations[2];
    bool has_no_children; /* the child process policy */
};

/* ---- files ----------------------------------------------------------------------------------------- */

struct nt_bytes {
    unsigned char *data;
    size_t size;
    size_t room;
};

struct nt_stream {
    struct nt_stream *next;
    wchar_t *name; /* without colons */
    struct nt_bytes bytes;
};

struct nt_entry {
    unsigned references; /* the directory's one and those of open files */
    struct nt_node *parent;
    struct nt_node *node;
    wchar_t *name;
    wchar_t short_name[14]; /* "" when the name is short itself */
    unsigned opens;
    bool delete_pending; /* goes with the last open file of this name */
    bool is_gone;
};

/* A file or a directory; a file has as many entries as links. */
struct nt_node {
    unsigned references; /* entries and open files */
    struct nt_volume *volume;
    uint64_t id;
    DWORD attributes;
    DWORD tag;       /* of a reparse point */
    wchar_t *target; /* of a link: C:\… */
    unsigned image;
    unsigned char *descriptor; /* NULL where the volume keeps none */
    size_t descriptor_size;
    struct nt_entry **children; /* sorted by name, without case */
    size_t child_count;
    size_t child_room;
    struct nt_entry *entry; /* of a directory; NULL for a root */
    struct nt_bytes bytes;
    struct nt_bytes safe; /* what a loss of power leaves */
    bool is_dirty;
    struct nt_stream *streams;
    unsigned links;
    unsigned opens;       /* of this node */
    unsigned opens_below; /* of nodes below this directory */
    unsigned readers, writers, deleters, share_readers, share_writers, share_deleters, sharers;
    bool was_there;       /* when the test settled the model */
    uint64_t settled_acl; /* a digest of its descriptor then */
    LARGE_INTEGER created, written, changed;
};

struct nt_change {
    uint64_t id;
    uint64_t parent;
    DWORD reason;
    DWORD attributes;
    LARGE_INTEGER time;
    wchar_t name[NT_NAME_MAX];
};

struct nt_volume {
    struct nt_model *model;
    wchar_t letter;       /* of the first drive that shows it */
    const wchar_t *share; /* "server\share" of a network one */
    const wchar_t *label;
    const wchar_t *system; /* "NTFS" */
    const wchar_t *guid;
    const wchar_t *device; /* "\Device\HarddiskVolume3" */
    DWORD serial;
    UINT drive_type;
    bool has_acls;
    bool has_ids; /* of 128 bits */
    struct nt_node *root;
    uint64_t next_id;
    struct nt_change *changes; /* the journal */
    size_t change_count;
    size_t change_room;
};

struct nt_drive {
    struct nt_volume *volume;
    wchar_t target[NT_PATH_MAX]; /* of a substituted one: what follows the drive of the volume */
};

struct nt_file {
    struct nt_object object;
    struct nt_node *node;
    struct nt_entry *entry; /* by which it was opened; NULL for a root */
    struct nt_stream *stream;
    DWORD access;
    DWORD share;
    DWORD options; /* FILE_… of NtCreateFile */
    uint64_t position;
    bool deletes_on_close;
    bool deletes_posix; /* the name goes with this handle, not with the last */
    bool is_open;
    DWORD reasons; /* what the journal says when it is closed */
    size_t cursor; /* of an enumeration */
    bool is_overlapped;
    /* A watch: ReadDirectoryChangesW. */
    struct nt_file *next_watch;
    bool is_watch;
    bool watches_tree;
    DWORD filter;
    unsigned char *watch_out;
    DWORD watch_size;
    LPOVERLAPPED watch_overlapped;
    struct nt_process *watch_process;
    struct nt_bytes watched; /* changes that nobody has fetched */
    bool has_overflowed;
};

struct nt_find {
    struct nt_object object;
    WIN32_FIND_DATAW *rows;
    size_t count;
    size_t at;
};

struct nt_pipe_buffer {
    unsigned references;
    unsigned char *data;
    size_t size;  /* held now */
    size_t first; /* of them, in the ring */
    size_t room;
    unsigned readers, writers; /* open ends */
    bool is_endless;           /* what comes out of the launcher: nobody has to read it */
};

struct nt_pipe {
    struct nt_object object;
    struct nt_pipe_buffer *buffer;
    bool is_write;
    bool is_counted;
};

enum { NT_DEVICE_NULL, NT_DEVICE_CONIN, NT_DEVICE_CONOUT };

struct nt_device {
    struct nt_object object;
    int which; /* NT_DEVICE_… */
};

struct nt_desktop {
    struct nt_object object;
    struct nt_object *station;
};

/* A pseudo console: the ends that its host holds. */
struct nt_pseudo {
    struct nt_pseudo *next;
    struct nt_process *owner;
    struct nt_pipe *input;
    struct nt_pipe *output;
    COORD size;
};

struct nt_profile {
    struct nt_profile *next;
    wchar_t *name;
    struct nt_sid sid;
};

/* The attribute list of CreateProcess is the caller's memory; this is what lies in it. */
struct nt_attribute_list {
    DWORD magic;
    DWORD room;
    DWORD count;
    DWORD padding;
    struct {
        DWORD_PTR attribute;
        void *value;
        SIZE_T size;
    } rows[];
};

struct nt_local {
    void *memory;
    enum sbx_winapi_id by;
};

struct nt_model {
    SRWLOCK lock;
    CONDITION_VARIABLE changed;
    struct nt_world world;
    struct nt_process *processes; /* all, with one reference each while they live */
    struct nt_process *launcher;
    struct nt_thread *attached[8]; /* threads of the test */
    DWORD attached_ids[8];         /* what the system calls them */
    size_t attached_count;
    struct nt_object *named;
    struct nt_mutex *mutexes;
    struct nt_profile *profiles;
    struct nt_pseudo *pseudos;
    struct nt_file *watches;
    struct nt_object *first_station;
    struct nt_object *first_desktop;
    struct nt_object *pipes[8]; /* named ones that the test put */
    size_t pipe_count;
    struct nt_object *console_input, *console_output;
    struct nt_pipe_buffer *streams[3];
    struct nt_drive drives[NT_LETTERS];
    struct nt_volume *volumes[4];
    DWORD next_id;
    DWORD forced_id;
    uint64_t next_token;
    uint64_t clock; /* the last time told */
    ULONGLONG start_tick;
    uint64_t skipped_ms;         /* by jumps */
    unsigned running;            /* threads that time waits for, */
    unsigned sleeping;           /* and those of them that wait */
    unsigned epoch;              /* counts nt_wake */
    struct nt_sleeper *sleepers; /* on their stacks */
    uint64_t start_time;
    unsigned threads; /* alive, in all processes, without attached ones */
    unsigned counts[SBX_CALL_COUNT];
    unsigned calls;
    unsigned crash_at; /* a number of `calls`, 0: never */
    bool loses_power;
    unsigned bad_handles;
    unsigned not_modelled;
    nt_before *before;
    void *before_state;
    bool stalls[SBX_CALL_COUNT];
    bool lacks[SBX_CALL_COUNT];
    bool has_console;
    PHANDLER_ROUTINE handlers[4];
    size_t handler_count;
    struct nt_local *locals;
    size_t local_count;
    size_t local_room;
    char *report;
    size_t report_size;
    size_t report_room;
    char *outputs[3];
    bool is_building; /* the world is made: no journal, no check */
};

#endif
