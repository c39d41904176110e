/* System calls as data: the refusals, and the answers of single layers. linux_calls_strict.c has what a
 * strict box may call. */
#include "posix/linux_calls.h"

#include <errno.h>
#include <stddef.h>

#include "common/base/names.h"

#include "common/base/banned.h"

#define LOW UINT64_C(0xffffffff) /* the bits of an int */

#define IS(argument, mask, value)                                                                  \
    {                                                                                              \
        argument, SBX_IS, mask, value                                                              \
    }
#define IS_NOT(argument, value)                                                                    \
    {                                                                                              \
        argument, SBX_IS_NOT, UINT64_MAX, value                                                    \
    }
#define NO_TEST                                                                                    \
    {                                                                                              \
        0, SBX_IS, 0, 0                                                                            \
    }
#define RULE(name, answer, why)                                                                    \
    {                                                                                              \
        name, answer, 0, {NO_TEST, NO_TEST}, NULL, why                                             \
    }
#define RULE_WHEN(name, answer, test, when, why)                                                   \
    {                                                                                              \
        name, answer, 1, {test, NO_TEST}, when, why                                                \
    }
#define RULE_BOTH(name, answer, one, two, when, why)                                               \
    {                                                                                              \
        name, answer, 2, {one, two}, when, why                                                     \
    }
#define END RULE(NULL, 0, NULL)

#define NEVER(name, why) RULE(name, EPERM, why)
#define NO_SUCH(name, why) RULE(name, ENOSYS, why)

/* Flags of clone and unshare that make a namespace (linux/sched.h). */
#define NEW_TIME 0x00000080U
#define NEW_MOUNT 0x00020000U
#define NEW_CGROUP 0x02000000U
#define NEW_UTS 0x04000000U
#define NEW_IPC 0x08000000U
#define NEW_USER 0x10000000U
#define NEW_PID 0x20000000U
#define NEW_NETWORK 0x40000000U

#define NEW_RIGHTS "in a namespace of its own it has rights again"
#define NAMESPACE(name, flag)                                                                      \
    RULE_WHEN(name, EPERM, IS(0, flag, flag), "the flags ask for a new namespace", NEW_RIGHTS)
#define NAMESPACES(name)                                                                           \
    NAMESPACE(name, NEW_MOUNT), NAMESPACE(name, NEW_CGROUP), NAMESPACE(name, NEW_UTS),             \
        NAMESPACE(name, NEW_IPC), NAMESPACE(name, NEW_USER), NAMESPACE(name, NEW_PID),             \
        NAMESPACE(name, NEW_NETWORK)

/* Modes and flags of files are the same numbers on every processor this is built for. */
#define SET_USER_ID 04000U
#define SET_GROUP_ID 02000U
#define TYPE_OF_NODE 0170000U
#define CHARACTER_DEVICE 0020000U
#define BLOCK_DEVICE 0060000U
#define CREATES 0100U          /* O_CREAT */
#define ONLY_A_PATH 010000000U /* O_PATH: the kernel makes nothing then */
#define NAMELESS 020000000U    /* the bit of O_TMPFILE that nothing else has */

#define SET_ID "leaves a file on the host that lends its owner's rights"
#define WITH_SET_ID "the mode has the set-user-ID or set-group-ID bit"
#define SETS_ID(name, mode)                                                                        \
    RULE_WHEN(name, EPERM, IS(mode, SET_USER_ID, SET_USER_ID), WITH_SET_ID, SET_ID),               \
        RULE_WHEN(name, EPERM, IS(mode, SET_GROUP_ID, SET_GROUP_ID), WITH_SET_ID, SET_ID)
#define OPENS_SET_ID(name, flags, flag, mode, bit)                                                 \
    RULE_BOTH(name, EPERM, IS(flags, flag, flag), IS(mode, bit, bit),                              \
              "it makes a file, and " WITH_SET_ID, SET_ID)
#define CREATES_SET_ID(name, flags, mode)                                                          \
    OPENS_SET_ID(name, flags, CREATES, mode, SET_USER_ID),                                         \
        OPENS_SET_ID(name, flags, CREATES, mode, SET_GROUP_ID),                                    \
        OPENS_SET_ID(name, flags, NAMELESS, mode, SET_USER_ID),                                    \
        OPENS_SET_ID(name, flags, NAMELESS, mode, SET_GROUP_ID)

#define DEVICE(name, mode, type)                                                                   \
    RULE_WHEN(name, EPERM, IS(mode, TYPE_OF_NODE, type), "the node is a device",                   \
              "a device is a way past every file rule")
#define DEVICES(name, mode) DEVICE(name, mode, CHARACTER_DEVICE), DEVICE(name, mode, BLOCK_DEVICE)

#define TERMINAL(command, text)                                                                    \
    RULE_WHEN("ioctl", EPERM, IS(1, LOW, command), text, "reaches the host through its terminal")

/* The low four bits of a socket's type; flags stand above them. */
#define KIND UINT64_C(0xf)
#define KIND_DATAGRAM 2
#define KIND_RAW 3
#define KIND_PACKET 10
#define FAMILY_UNIX 1
#define FAMILY_INET 2
#define FAMILY_INET6 10
/* A family with high bits is refused as one, so they need not be looked through here. */
#define SOCKET_KIND(family, kind, when, why)                                                       \
    RULE_BOTH("socket", EPERM, IS(0, UINT64_MAX, family), IS(1, KIND, kind), when, why)

#define OTHERS "reads or changes other processes"
#define MOUNTS "changes what is mounted"
#define KERNEL "changes the kernel or the machine"
#define HANDLES "names files past every path"
#define KEYS "keyrings are shared with the host"
#define CLOCK "changes the clock of the host"
#define RING "does file and network work that no filter sees"
#define OLD "nothing needs it, and it has had bugs"
#define IN_MEMORY "what it asks for is in memory, where a filter cannot look; callers fall back"
#define NEWER "the newer form of a call that the layers know; callers fall back"

/* Programs that ask for them fall back to what every machine has. */
#define OTHER_PROTOCOL(family, protocol, name)                                                     \
    RULE_BOTH("socket", EPROTONOSUPPORT, IS(0, UINT64_MAX, family), IS(2, LOW, protocol), name,    \
              "rarely used, and a source of kernel bugs")

const struct sbx_call_rule sbx_call_refusals[] = {
    NEVER("ptrace", OTHERS),
    NEVER("process_vm_readv", OTHERS),
    NEVER("process_vm_writev", OTHERS),
    NEVER("process_madvise", OTHERS),
    NEVER("process_mrelease", OTHERS),
    NEVER("pidfd_getfd", OTHERS),
    NEVER("kcmp", OTHERS),
    NEVER("move_pages", OTHERS),
    NEVER("migrate_pages", OTHERS),
    NEVER("mount", MOUNTS),
    NEVER("umount2", MOUNTS),
    NEVER("pivot_root", MOUNTS),
    NEVER("chroot", MOUNTS),
    NEVER("open_tree", MOUNTS),
    NEVER("open_tree_attr", MOUNTS),
    NEVER("move_mount", MOUNTS),
    NEVER("fsopen", MOUNTS),
    NEVER("fsconfig", MOUNTS),
    NEVER("fsmount", MOUNTS),
    NEVER("fspick", MOUNTS),
    NEVER("mount_setattr", MOUNTS),
    NO_SUCH("statmount", "shows the host's mounts; callers fall back"),
    NO_SUCH("listmount", "shows the host's mounts; callers fall back"),
    NEVER("setns", "enters another namespace"),
    NO_SUCH("listns", "shows namespaces of the host"),
    NAMESPACES("unshare"),
    NAMESPACE("unshare", NEW_TIME),
    NAMESPACES("clone"),
    NO_SUCH("clone3", IN_MEMORY),
    NO_SUCH("openat2", IN_MEMORY),
    NEVER("bpf", KERNEL),
    NEVER("perf_event_open", "watches the kernel and other processes"),
    NEVER("userfaultfd", "stops the kernel at chosen moments; a part of many exploits"),
    NEVER("fanotify_init", "watches files of the whole machine"),
    NEVER("keyctl", KEYS),
    NEVER("add_key", KEYS),
    NEVER("request_key", KEYS),
    NEVER("kexec_load", KERNEL),
    NEVER("kexec_file_load", KERNEL),
    NEVER("init_module", KERNEL),
    NEVER("finit_module", KERNEL),
    NEVER("delete_module", KERNEL),
    NEVER("create_module", KERNEL),
    NEVER("get_kernel_syms", KERNEL),
    NEVER("query_module", KERNEL),
    NEVER("reboot", KERNEL),
    NEVER("swapon", KERNEL),
    NEVER("swapoff", KERNEL),
    NEVER("acct", KERNEL),
    NEVER("quotactl", KERNEL),
    NEVER("quotactl_fd", KERNEL),
    NEVER("syslog", "reads the kernel's log"),
    NEVER("iopl", KERNEL),
    NEVER("ioperm", KERNEL),
    NEVER("modify_ldt", OLD),
    NEVER("lookup_dcookie", OLD),
    NEVER("nfsservctl", OLD),
    NEVER("_sysctl", OLD),
    NEVER("sysfs", OLD),
    NEVER("uselib", OLD),
    NEVER("ustat", OLD),
    NEVER("vhangup", "hangs up the host's terminal"),
    NEVER("open_by_handle_at", HANDLES),
    NEVER("name_to_handle_at", HANDLES),
    NEVER("settimeofday", CLOCK),
    NEVER("clock_settime", CLOCK),
    NEVER("clock_adjtime", CLOCK),
    NEVER("adjtimex", CLOCK),
    NEVER("sethostname", KERNEL),
    NEVER("setdomainname", KERNEL),
    NO_SUCH("lsm_set_self_attr", "changes what security modules think of the process"),
    NO_SUCH("lsm_get_self_attr", "shows what security modules the host has"),
    NO_SUCH("lsm_list_modules", "shows what security modules the host has"),
    RULE_WHEN("personality", EPERM, IS_NOT(0, LOW), "it is not the question 0xffffffff",
              "turns protections of the process off"),
    NEVER("io_uring_setup", RING),
    NEVER("io_uring_enter", RING),
    NEVER("io_uring_register", RING),
    TERMINAL(0x5412, "TIOCSTI: typing into a terminal"),
    TERMINAL(0x541c, "TIOCLINUX: pasting into a console"),
    TERMINAL(0x5423, "TIOCSETD: loading a line discipline"),
    SETS_ID("chmod", 1),
    SETS_ID("fchmod", 1),
    SETS_ID("fchmodat", 2),
    SETS_ID("fchmodat2", 2),
    SETS_ID("creat", 1),
    SETS_ID("mkdir", 1),
    SETS_ID("mkdirat", 2),
    SETS_ID("mknod", 1),
    SETS_ID("mknodat", 2),
    CREATES_SET_ID("open", 1, 2),
    CREATES_SET_ID("openat", 2, 3),
    DEVICES("mknod", 1),
    DEVICES("mknodat", 2),
    NO_SUCH("setxattrat", NEWER),
    NO_SUCH("removexattrat", NEWER),
    NO_SUCH("file_setattr", NEWER),
    SOCKET_KIND(FAMILY_INET, KIND_RAW, "a raw internet socket", "sees and forges packets"),
    SOCKET_KIND(FAMILY_INET6, KIND_RAW, "a raw internet socket", "sees and forges packets"),
    SOCKET_KIND(FAMILY_INET, KIND_PACKET, "SOCK_PACKET: the kernel makes it AF_PACKET",
                "sees and forges packets"),
    OTHER_PROTOCOL(FAMILY_INET, 33, "DCCP"),
    OTHER_PROTOCOL(FAMILY_INET6, 33, "DCCP"),
    OTHER_PROTOCOL(FAMILY_INET, 132, "SCTP"),
    OTHER_PROTOCOL(FAMILY_INET6, 132, "SCTP"),
    OTHER_PROTOCOL(FAMILY_INET, 136, "UDP-Lite"),
    OTHER_PROTOCOL(FAMILY_INET6, 136, "UDP-Lite"),
    OTHER_PROTOCOL(FAMILY_INET, 262, "multipath TCP"),
    OTHER_PROTOCOL(FAMILY_INET6, 262, "multipath TCP"),
    RULE_WHEN("socketpair", EAFNOSUPPORT, IS_NOT(0, FAMILY_UNIX), "the family is not AF_UNIX",
              "makes sockets of, and loads modules for, families that `socket` refuses"),
    END};

#define REACHES "a pair of datagram sockets can send to any socket file"
#define DATAGRAM_PAIR(kind)                                                                        \
    RULE_WHEN("socketpair", EAFNOSUPPORT, IS(1, KIND, kind), "the sockets are for datagrams",      \
              REACHES)

const struct sbx_call_rule sbx_call_no_unix[] = {
    DATAGRAM_PAIR(KIND_DATAGRAM), DATAGRAM_PAIR(KIND_RAW) /* AF_UNIX takes it for datagrams */,
    END};

#define ENTRY "makes a directory entry"
#define ASKS(name) RULE(name, SBX_ANSWER_NOTIFY, ENTRY)
#define ASKS_WHEN(name, flags)                                                                     \
    RULE_WHEN(name, SBX_ANSWER_NOTIFY, IS(flags, CREATES | ONLY_A_PATH, CREATES),                  \
              "the flags have O_CREAT and not O_PATH", ENTRY)

const struct sbx_call_rule sbx_call_creating[] = {
    ASKS_WHEN("open", 1), ASKS_WHEN("openat", 2), ASKS("creat"),
    ASKS("mkdir"),        ASKS("mkdirat"),        ASKS("mknod"),
    ASKS("mknodat"),      ASKS("link"),           ASKS("linkat"),
    ASKS("symlink"),      ASKS("symlinkat"),      ASKS("rename"),
    ASKS("renameat"),     ASKS("renameat2"),      END};

#define MODE "changes the mode of a file"
#define OWNER "changes the owner of a file"
#define TIMES "changes the times of a file"
#define ATTRIBUTES "changes attributes of a file"
#define FLAGS(command, text) RULE_WHEN("ioctl", EPERM, IS(1, LOW, command), text, ATTRIBUTES)

/* The commands of ioctl carry the size of their argument: a long has two. */
#define CHANGES(name, why) RULE(name, SBX_ANSWER_NOTIFY, why)

const struct sbx_call_rule sbx_call_changing[] = {
    CHANGES("chmod", MODE),      CHANGES("fchmod", MODE),    CHANGES("fchmodat", MODE),
    CHANGES("utime", TIMES),     CHANGES("utimes", TIMES),   CHANGES("futimesat", TIMES),
    CHANGES("utimensat", TIMES), CHANGES("chown", OWNER),    CHANGES("fchown", OWNER),
    CHANGES("lchown", OWNER),    CHANGES("fchownat", OWNER), END};

const struct sbx_call_rule sbx_call_metadata[] = {

    NO_SUCH("fchmodat2", MODE),

    RULE("setxattr", EOPNOTSUPP, ATTRIBUTES),
    RULE("lsetxattr", EOPNOTSUPP, ATTRIBUTES),
    RULE("fsetxattr", EOPNOTSUPP, ATTRIBUTES),
    RULE("setxattrat", EOPNOTSUPP, ATTRIBUTES),
    RULE("removexattr", EOPNOTSUPP, ATTRIBUTES),
    RULE("lremovexattr", EOPNOTSUPP, ATTRIBUTES),
    RULE("fremovexattr", EOPNOTSUPP, ATTRIBUTES),
    RULE("removexattrat", EOPNOTSUPP, ATTRIBUTES),
    RULE("file_setattr", EOPNOTSUPP, ATTRIBUTES),
    FLAGS(0x40086602, "FS_IOC_SETFLAGS"),
    FLAGS(0x40046602, "FS_IOC_SETFLAGS"),
    FLAGS(0x401c5820, "FS_IOC_FSSETXATTR"),
    FLAGS(0x40087602, "FS_IOC_SETVERSION"),
    FLAGS(0x40047602, "FS_IOC_SETVERSION"),
    FLAGS(0x40806685, "FS_IOC_ENABLE_VERITY"),
    FLAGS(0x800c6613, "FS_IOC_SET_ENCRYPTION_POLICY"),
    END};

#define UNAVAILABLE                                                                                \
    "answers as a kernel whose Landlock is switched off, so programs go on without it"

const struct sbx_call_rule sbx_call_landlock[] = {
    RULE("landlock_create_ruleset", EOPNOTSUPP, UNAVAILABLE),
    RULE("landlock_add_rule", EOPNOTSUPP, UNAVAILABLE),
    RULE("landlock_restrict_self", EOPNOTSUPP, UNAVAILABLE), END};

#define SHARED "shared with the user's other processes where there is no ipc namespace"
#define OTHERS_SCHEDULING "changes another process of the user"
#define OF_ANOTHER "it names a process or thread by its number"

const struct sbx_call_rule sbx_call_neighbours[] = {
    NEVER("shmget", SHARED),
    NEVER("shmat", SHARED),
    NEVER("shmctl", SHARED),
    NEVER("semget", SHARED),
    NEVER("semop", SHARED),
    NEVER("semtimedop", SHARED),
    NEVER("semctl", SHARED),
    NEVER("msgget", SHARED),
    NEVER("msgsnd", SHARED),
    NEVER("msgrcv", SHARED),
    NEVER("msgctl", SHARED),
    NEVER("mq_open", SHARED),
    NEVER("mq_unlink", SHARED),
    RULE_BOTH("prlimit64", EPERM, IS_NOT(0, 0), IS_NOT(2, 0),
              "it sets a limit of a numbered process", OTHERS_SCHEDULING),
    RULE_WHEN("setpriority", EPERM, IS_NOT(1, 0), OF_ANOTHER, OTHERS_SCHEDULING),
    RULE_WHEN("ioprio_set", EPERM, IS_NOT(1, 0), OF_ANOTHER, OTHERS_SCHEDULING),
    RULE_WHEN("sched_setaffinity", EPERM, IS_NOT(0, 0), OF_ANOTHER, OTHERS_SCHEDULING),
    RULE_WHEN("sched_setparam", EPERM, IS_NOT(0, 0), OF_ANOTHER, OTHERS_SCHEDULING),
    RULE_WHEN("sched_setscheduler", EPERM, IS_NOT(0, 0), OF_ANOTHER, OTHERS_SCHEDULING),
    RULE_WHEN("sched_setattr", EPERM, IS_NOT(0, 0), OF_ANOTHER, OTHERS_SCHEDULING),
    END};

#define NO_NETWORK "there is no network namespace to keep it in"

const struct sbx_call_rule sbx_call_networks[] = {
    RULE_WHEN("socket", EAFNOSUPPORT, IS(0, LOW, FAMILY_INET), "AF_INET", NO_NETWORK),
    RULE_WHEN("socket", EAFNOSUPPORT, IS(0, LOW, FAMILY_INET6), "AF_INET6", NO_NETWORK), END};

const struct sbx_call_family sbx_call_families[] = {
    {"AF_UNIX", FAMILY_UNIX, SBX_FAMILY_UNIX,
     "a read-only mount does not stop `connect` to a socket of the host"},
    {"AF_INET", FAMILY_INET, SBX_FAMILY_ALWAYS, "the network policy decides what it reaches"},
    {"AF_INET6", FAMILY_INET6, SBX_FAMILY_ALWAYS, "the network policy decides what it reaches"},
    {"AF_NETLINK", 16, SBX_FAMILY_ROUTE_ONLY, "`getifaddrs` lists interfaces with it"},
    {NULL, 0, SBX_FAMILY_ALWAYS, NULL}};

const struct sbx_call_number sbx_call_numbers[] = {{"process_mrelease", 448},
                                                   {"set_mempolicy_home_node", 450},
                                                   {"cachestat", 451},
                                                   {"fchmodat2", 452},
                                                   {"map_shadow_stack", 453},
                                                   {"futex_wake", 454},
                                                   {"futex_wait", 455},
                                                   {"futex_requeue", 456},
                                                   {"statmount", 457},
                                                   {"listmount", 458},
                                                   {"lsm_get_self_attr", 459},
                                                   {"lsm_set_self_attr", 460},
                                                   {"lsm_list_modules", 461},
                                                   {"mseal", 462},
                                                   {"setxattrat", 463},
                                                   {"getxattrat", 464},
                                                   {"listxattrat", 465},
                                                   {"removexattrat", 466},
                                                   {"open_tree_attr", 467},
                                                   {"file_getattr", 468},
                                                   {"file_setattr", 469},
                                                   {"listns", 470},
                                                   {NULL, 0}};

const char *sbx_call_answer_text(int answer)
{
    static const struct sbx_name names[] = {{EPERM, "EPERM"},
                                            {ENOSYS, "ENOSYS"},
                                            {EAFNOSUPPORT, "EAFNOSUPPORT"},
                                            {EPROTONOSUPPORT, "EPROTONOSUPPORT"},
                                            {EOPNOTSUPP, "EOPNOTSUPP"},
                                            {SBX_ANSWER_NOTIFY, "listener"},
                                            {0, NULL}};
    return sbx_name_text(names, answer);
}
