"""System calls as questions to a Seatbelt profile, and what is asked of every profile."""

import sbpl

HOME = "/Users/user"
PROJECT = f"{HOME}/project"
SCRATCH = "/private/tmp/sbx-0000000000000001"
MARK = "sbx.job.00000000000000ff"
PROXY = 8123
TYPE_INTO = 0x80017472
ASK_SIZE = 0x40087468
FILE, DIRECTORY, LINK, DEVICE = "REGULAR-FILE", "DIRECTORY", "SYMLINK", "CHARACTER-DEVICE"


def at(operation, path, kind=FILE, **more):
    return operation, {"path": sbpl.canonical(path), "type": kind, **more}


def unix(operation, path):
    return operation, {"path": sbpl.canonical(path), "type": "SOCKET"}


# What a call asks of the kernel. Renaming is removing one name and making another (as other users of Seatbelt found).
CALLS = {
    "read": lambda path: [at("file-read-data", path)],
    "list": lambda path: [at("file-read-data", path, DIRECTORY)],
    "stat": lambda path: [at("file-read-metadata", path, DIRECTORY)],
    "lstat": lambda path: [("file-read-metadata", {"path": path, "type": LINK}),
                           ("file-test-existence", {"path": path, "type": LINK})],
    "exists": lambda path: [at("file-test-existence", path)],
    "exec": lambda path: [at("process-exec*", path), at("file-read-data", path)],
    "map": lambda path: [at("file-map-executable", path)],
    "clone": lambda path, new: [at("file-clone", path), at("file-write-create", new)],
    "write": lambda path: [at("file-write-data", path)],
    "create": lambda path: [at("file-write-create", path), at("file-write-data", path)],
    "mkdir": lambda path: [at("file-write-create", path, DIRECTORY)],
    "symlink": lambda path: [at("file-write-create", path, LINK)],
    "fifo": lambda path: [at("file-write-create", path, "FIFO")],
    "mknod": lambda path: [at("file-mknod", path, DEVICE)],
    "unlink": lambda path: [at("file-write-unlink", path)],
    "rmdir": lambda path: [at("file-write-unlink", path, DIRECTORY)],
    "rename": lambda old, new: [at("file-write-unlink", old), at("file-write-create", new)],
    "rename-dir": lambda old, new: [at("file-write-unlink", old, DIRECTORY), at("file-write-create", new, DIRECTORY)],
    "swap-dir": lambda one, other: [at("file-write-unlink", one, DIRECTORY), at("file-write-unlink", other, DIRECTORY)],
    "link": lambda old, new: [at("file-link", old), at("file-write-create", new)],
    "chmod": lambda path: [at("file-write-mode", path)],
    "chmod-dir": lambda path: [at("file-write-mode", path, DIRECTORY)],
    "setuid": lambda path: [at("file-write-mode", path), at("file-write-setugid", path)],
    "chown": lambda path: [at("file-write-owner", path)],
    "utimes": lambda path: [at("file-write-times", path)],
    "xattr": lambda path: [at("file-write-xattr", path)],
    "chflags": lambda path: [at("file-write-flags", path)],
    "acl": lambda path: [at("file-write-acl", path)],
    "mount": lambda path: [at("file-mount", path, DIRECTORY)],
    "ioctl": lambda path, command=ASK_SIZE: [at("file-ioctl", path, DEVICE, ioctl=command)],
    "open-tty": lambda path: [at("file-read-data", path, DEVICE), at("file-write-data", path, DEVICE)],
    "open-own-pty": lambda path: [("file-read-data", {"path": path, "type": DEVICE, "extensions": ["com.apple.sandbox.pty"]})],
    "openpty": lambda: [("pseudo-tty", {}), at("file-read-data", "/dev/ptmx", DEVICE),
                        at("file-write-data", "/dev/ptmx", DEVICE), at("file-ioctl", "/dev/ptmx", DEVICE)],
    "fork": lambda: [("process-fork", {})],
    "kill": lambda who: [("signal", {"target": who})],
    "proc-info": lambda who: [("process-info-pidinfo", {"target": who})],
    "proc-list": lambda: [("process-info-listpids", {"target": "others"})],
    "task": lambda who: [("mach-priv-task-port", {"target": who})],
    "service": lambda name: [("mach-lookup", {"service": name})],
    "register": lambda name: [("mach-register", {"service": name})],
    "sysctl": lambda name: [("sysctl-read", {"sysctl": name})],
    "sysctl-set": lambda name: [("sysctl-write", {"sysctl": name})],
    "semaphore": lambda name: [("ipc-posix-sem-create", {"ipc": name})],
    "shm": lambda name: [("ipc-posix-shm-write-create", {"ipc": name})],
    "sysv": lambda kind: [(f"ipc-sysv-{kind}", {})],
    "connect": lambda host, port: [("system-socket", {"domain": "AF_INET6" if ":" in host else "AF_INET"}),
                                   ("network-outbound", {"remote": (host, port)})],
    "socket": lambda domain: [("system-socket", {"domain": domain})],
    "bind": lambda host, port: [("network-bind", {"local": (host, port)})],
    "listen": lambda host, port: [("network-bind", {"local": (host, port)}), ("network-inbound", {"local": (host, port)})],
    "connect-unix": lambda path: [("system-socket", {"domain": "AF_UNIX"}), unix("network-outbound", path)],
    "bind-unix": lambda path: [unix("network-bind", path), at("file-write-create", path, "SOCKET")],
    "any": lambda operation: [(operation, {})],
}


def parts_of(call):
    name, *arguments = call
    return CALLS[name](*arguments)


ALWAYS = {
    "allow": [
        ("fork",), ("kill", "same-sandbox"), ("proc-info", "same-sandbox"), ("service", MARK),
        *(("service", f"com.apple.{name}") for name in (
            "system.opendirectoryd.libinfo", "system.opendirectoryd.membership", "system.notification_center",
            "system.logger", "logd", "bsd.dirhelper", "FSEvents")),
        *(("sysctl", name) for name in (
            "hw.ncpu", "hw.model", "machdep.cpu.brand_string", "machdep.ptrauth_enabled", "vm.loadavg", "vm.swapusage",
            "sysctl.name2oid", "sysctl.proc_cputype", "sysctl.proc_translated", "security.mac.lockdown_mode_state",
            "kern.osrelease", "kern.sysv.semmns")),
        ("sysctl-set", "kern.grade_cputype"), ("sysctl-set", "kern.tcsm_enable"),
        ("semaphore", "/mp-a1b2"), ("semaphore", "/loky-12-ab"), ("shm", "/psm_1a2b"), ("shm", "/__KMP_REGISTERED_LIB_12"),
        *(("read", f"/dev/{name}") for name in ("null", "zero", "random", "urandom", "dtracehelper", "fd", "stdin",
                                                "stdout", "stderr", "fd/0")),
        *(("exists", f"/dev/{name}") for name in ("null", "zero", "random", "urandom", "dtracehelper", "fd", "stdin",
                                                  "stdout", "stderr", "fd/0")),
        *(("write", f"/dev/{name}") for name in ("null", "zero", "dtracehelper", "stdout", "stderr", "fd/1")),
        ("ioctl", "/dev/dtracehelper"), ("list", "/"), ("exists", "/"), ("map", "/usr/lib/libSystem.B.dylib"),
        *(("lstat", path) for path in ("/tmp", "/var", "/etc", "/dev")),
        *(("list", path) for path in ("/usr", "/bin", "/sbin", "/Library", "/System", "/private/etc", "/private/var/select",
                                      "/private/var/db/dyld")),
        *(("stat", path) for path in ("/private", "/private/tmp", "/private/var")),
        ("exec", "/bin/zsh"), ("exec", "/usr/bin/git"), ("exec", "/sbin/md5"), ("read", "/etc/hosts"),
        ("read", "/System/Library/CoreServices/SystemVersion.plist"), ("read", "/Library/Developer/CommandLineTools/x"),
        ("read", "/private/var/select/sh"), ("read", "/private/var/db/dyld/x"), ("exists", "/usr/bin/git"),
        ("clone", "/usr/share/x", f"{SCRATCH}/x"), ("openpty",), ("open-own-pty", "/dev/ttys009"),
        ("create", f"{SCRATCH}/x"), ("mkdir", f"{SCRATCH}/d"), ("unlink", f"{SCRATCH}/x"), ("chmod", f"{SCRATCH}/x"),
        ("chown", f"{SCRATCH}/x"), ("utimes", f"{SCRATCH}/x"), ("xattr", f"{SCRATCH}/x"), ("read", f"{SCRATCH}/x"),
        ("link", f"{SCRATCH}/a", f"{SCRATCH}/b"), ("exec", f"{SCRATCH}/a.out"), ("create", "/tmp/sbx-0000000000000001/x"),
        ("bind-unix", f"{SCRATCH}/s"), ("connect-unix", f"{SCRATCH}/s"), ("chmod-dir", SCRATCH), ("list", SCRATCH),
    ],
    "deny": [
        ("kill", "others"), ("proc-info", "others"), ("proc-list",), ("task", "others"), ("task", "same-sandbox"),
        ("service", "sbx.job.none"), ("service", "sbx.job.00000000000000fe"),
        *(("service", f"com.apple.{name}") for name in (
            "coreservices.launchservicesd", "lsd.open", "lsd.mapdb", "SecurityServer", "securityd", "securityd.xpc", "secd",
            "cfprefsd.agent", "cfprefsd.daemon", "pasteboard.1", "windowserver.active", "tccd", "diagnosticd",
            "distributed_notifications@Uv3", "xpcd", "system.opendirectoryd.api")),
        *(("any", name) for name in ("lsopen", "appleevent-send", "job-creation", "nvram*", "iokit-open", "user-preference-read",
                                     "user-preference-write", "mach-priv-host-port", "device-camera", "load-unsigned-code",
                                     "authorization-right-obtain", "distributed-notification-post", "system-fsctl",
                                     "fs-snapshot-create", "mach-issue-extension", "file-issue-extension")),
        ("register", "org.example.x"), ("sysctl", "kern.procargs2"), ("sysctl", "kern.procargs"), ("sysctl", "kern.proc.all"),
        ("sysctl", "net.inet.tcp.pcblist"), ("sysctl-set", "kern.hostname"), ("semaphore", "/other"), ("shm", "/other"),
        ("sysv", "shm"), ("sysv", "msg"), ("sysv", "sem"),
        ("create", "/x"), ("create", "/tmp/other"), ("create", "/private/var/tmp/x"), ("create", "/usr/local/bin/x"),
        ("create", f"{HOME}/.zshrc"), ("create", f"{HOME}/Library/LaunchAgents/x.plist"), ("write", "/etc/hosts"),
        ("read", "/etc/master.passwd"), ("read", "/private/etc/sudoers"), ("read", "/private/etc/sudoers.d/x"),
        ("read", "/private/etc/ssh/ssh_host_rsa_key"), ("read", "/private/etc/Master.Passwd"), ("clone", "/etc/sudoers", f"{SCRATCH}/x"),
        ("exists", "/private/etc/sudoers"), ("map", "/private/etc/sudoers"), ("read", "/System/Volumes/Data/secret"),
        ("exists", "/System/Volumes/Data/secret"), ("map", "/System/Volumes/Data/secret"),
        ("setuid", f"{SCRATCH}/x"), ("chflags", f"{SCRATCH}/x"), ("acl", f"{SCRATCH}/x"), ("mknod", f"{SCRATCH}/x"),
        ("mount", SCRATCH), ("rename-dir", SCRATCH, f"{SCRATCH}-2"), ("rmdir", SCRATCH), ("mkdir", SCRATCH),
        ("link", "/usr/bin/git", f"{SCRATCH}/x"), ("link", f"{HOME}/.zshrc", f"{SCRATCH}/x"),
        ("open-tty", "/dev/ttys003"), ("open-tty", "/dev/console"), ("read", "/dev/disk0"), ("write", "/dev/bpf0"),
        ("ioctl", "/dev/ttys003"), ("ioctl", "/dev/ttys001", TYPE_INTO), ("ioctl", "/dev/ttys007", TYPE_INTO),
        ("connect-unix", "/var/run/docker.sock"), ("connect-unix", "/private/var/run/com.apple.launchd.x/Listeners"),
        ("connect-unix", f"{HOME}/.docker/run/docker.sock"),
    ],
}

NETWORK_SERVICES = ("trustd", "trustd.agent", "SystemConfiguration.configd", "SystemConfiguration.DNSConfiguration", "dnssd.service")
NETWORK = {
    "deny": {"allow": [], "deny": [
        ("connect", "127.0.0.1", 22), ("connect", "::1", 22), ("connect", "192.0.2.1", 443), ("connect", "127.0.0.1", PROXY),
        ("bind", "127.0.0.1", 3000), ("listen", "0.0.0.0", 3000), ("socket", "AF_INET"), ("socket", "AF_SYSTEM"),
        ("connect-unix", "/private/var/run/mDNSResponder"), *(("service", f"com.apple.{name}") for name in NETWORK_SERVICES)]},
    "allow_hosts": {"allow": [("connect", "127.0.0.1", PROXY), ("connect", "::1", PROXY), ("socket", "AF_INET"), ("socket", "AF_INET6")],
                    "deny": [
        ("connect", "127.0.0.1", 22), ("connect", "192.0.2.1", PROXY), ("connect", "192.0.2.1", 443),
        ("connect", "::ffff:127.0.0.1", PROXY), ("bind", "127.0.0.1", 3000), ("listen", "0.0.0.0", 3000), ("socket", "AF_SYSTEM"),
        ("connect-unix", "/private/var/run/mDNSResponder"), *(("service", f"com.apple.{name}") for name in NETWORK_SERVICES)]},
    "inherit": {"allow": [
        ("connect", "127.0.0.1", 22), ("connect", "::1", 22), ("connect", "192.0.2.1", 443), ("bind", "127.0.0.1", 3000),
        ("listen", "0.0.0.0", 3000), ("socket", "AF_INET"), ("socket", "AF_INET6"), ("socket", "AF_ROUTE"), ("socket", "AF_SYSTEM"),
        ("connect-unix", "/private/var/run/mDNSResponder"), *(("service", f"com.apple.{name}") for name in NETWORK_SERVICES)],
        "deny": []},
}

LENT = {"allow": [("ioctl", "/dev/ttys001")], "deny": [("open-tty", "/dev/ttys001"), ("open-tty", "/dev/tty"), ("ioctl", "/dev/tty"),
                                                         ("ioctl", "/dev/ttys007")]}
OWN = {"allow": [("open-tty", "/dev/ttys007"), ("open-tty", "/dev/tty"), ("ioctl", "/dev/ttys007"), ("ioctl", "/dev/tty")],
       "deny": [("ioctl", "/dev/ttys001"), ("ioctl", "/dev/tty", TYPE_INTO), ("open-tty", "/dev/ttys001")]}
