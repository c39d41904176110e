/* Attacks on the network and on sockets of the host. */
#include "tests/probe/probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/base/banned.h"

#define WAIT_MS 1000
/* TEST-NET-1: no such host anywhere. The control has a namespace in which it is an own address. */
#define PUBLIC "192.0.2.1"

static int ipv4(int type, const char *address, long port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    if (inet_pton(AF_INET, address, &to.sin_addr) != 1) probe_broken("address");
    int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    return connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0 ? fd : -1;
}

/* A server of the suite answers whoever says something with a secret. */
__attribute__((noreturn)) static void secret_from(int fd, const char *what)
{
    if (fd < 0) {
        if (errno == ECONNREFUSED) probe_absent("%s: nobody listens there", what);
        probe_settle(-1, what);
    }
    if (send(fd, "hello\n", 6, MSG_NOSIGNAL) != 6) probe_settle(-1, what);
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    char text[100] = {0};
    if (poll(&wait, 1, WAIT_MS) != 1 || recv(fd, text, sizeof(text) - 1, 0) <= 0) {
        probe_absent("%s: no answer", what);
    }
    if (strncmp(text, PROBE_MARK, strlen(PROBE_MARK)) != 0) probe_absent("%s: another", what);
    probe_done("%s: got the secret", what);
}

static void public_tcp(void)
{
    int fd = ipv4(SOCK_STREAM, PUBLIC, 9);
    /* A refusal comes from the address itself: it was reached. */
    if (fd >= 0 || errno == ECONNREFUSED) probe_done("the address was reached");
    probe_denied("connect");
}

static void public_udp(void)
{
    int fd = ipv4(SOCK_DGRAM, PUBLIC, 9);
    if (fd < 0) probe_denied("connect");
    probe_settle(send(fd, "x", 1, MSG_NOSIGNAL), "sent a datagram");
}

static void loopback_tcp(void)
{
    secret_from(ipv4(SOCK_STREAM, "127.0.0.1", probe_number("tcp")), "host loopback");
}

static void loopback_udp(void)
{
    secret_from(ipv4(SOCK_DGRAM, "127.0.0.1", probe_number("udp")), "host loopback");
}

static void loopback_ipv6(void)
{
    struct sockaddr_in6 to = {.sin6_family = AF_INET6,
                              .sin6_port = htons((uint16_t)probe_number("tcp6")),
                              .sin6_addr = in6addr_loopback};
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0) fd = -1;
    secret_from(fd, "host loopback");
}

/* TCP fast open sends data without a connect call. */
static void loopback_fast_open(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)probe_number("tcp")),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && sendto(fd, "hello\n", 6, MSG_FASTOPEN | MSG_NOSIGNAL, (struct sockaddr *)&to,
                          sizeof(to)) < 0) {
        fd = -1;
    }
    secret_from(fd, "fast open");
}

static void listen_here(void)
{
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_ANY)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&own, sizeof(own)) != 0) probe_settle(-1, "bind");
    probe_settle(listen(fd, 1), "listens");
}

static void raw(void)
{
    probe_settle(socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP), "raw socket");
}

static void packet(void)
{
    probe_settle(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0), "packet socket");
}

static void vsock(void)
{
    probe_settle(socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0), "vsock socket");
}

static int unix_name(int type, const char *name, size_t length)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    if (length > sizeof(to.sun_path)) probe_broken("the name is too long");
    memcpy(to.sun_path, name, length);
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    return connect(fd, (struct sockaddr *)&to, size) == 0 ? fd : -1;
}

static void abstract(void)
{
    char name[100] = {0};
    const char *given = probe_place("abstract");
    size_t length = strlen(given);
    if (length + 1 > sizeof(name)) probe_broken("the name is too long");
    memcpy(name + 1, given, length);
    secret_from(unix_name(SOCK_STREAM, name, length + 1), "abstract socket");
}

static void path_in(const char *place)
{
    const char *path = probe_path(place, "socket");
    secret_from(unix_name(SOCK_STREAM, path, strlen(path)), "unix socket");
}

static void path_read_only(void)
{
    path_in("ro");
}

static void path_writable(void)
{
    path_in("work");
}

/* The datagram server keeps what it gets; the runner looks there. An accepted datagram is enough. */
static int datagram_socket(struct sockaddr_un *to)
{
    *to = (struct sockaddr_un){.sun_family = AF_UNIX};
    (void)snprintf(to->sun_path, sizeof(to->sun_path), "%s", probe_path("ro", "datagram"));
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0) return fd;
    int pair[2];
    int error = errno;
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0) return pair[0];
    errno = error;
    probe_settle(-1, "socket");
}

static void datagram_sendto(void)
{
    struct sockaddr_un to;
    int fd = datagram_socket(&to);
    probe_settle(sendto(fd, "x", 1, 0, (struct sockaddr *)&to, sizeof(to)), "sendto");
}

static void datagram_sendmsg(void)
{
    struct sockaddr_un to;
    int fd = datagram_socket(&to);
    char byte = 'x';
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {
        .msg_name = &to, .msg_namelen = sizeof(to), .msg_iov = &part, .msg_iovlen = 1};
    probe_settle(sendmsg(fd, &message, 0), "sendmsg");
}

static void datagram_sendmmsg(void)
{
    struct sockaddr_un to;
    int fd = datagram_socket(&to);
    char byte = 'x';
    struct iovec part = {.iov_base = &byte, .iov_len = 1};
    struct mmsghdr message = {
        .msg_hdr = {.msg_name = &to, .msg_namelen = sizeof(to), .msg_iov = &part, .msg_iovlen = 1}};
    probe_settle(sendmmsg(fd, &message, 1, 0), "sendmmsg");
}

static void datagram_connect(void)
{
    struct sockaddr_un to;
    int fd = datagram_socket(&to);
    if (connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0) probe_settle(-1, "connect");
    probe_settle(send(fd, "x", 1, MSG_NOSIGNAL), "connected a socket that came from a pair");
}

static void families(void)
{
    static const int allowed[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_PACKET, AF_VSOCK};
    static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET, SOCK_RAW};
    int last = EAFNOSUPPORT;
    for (int family = 1; family < 48; family++) {
        bool skip = false;
        for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++) {
            skip = skip || family == allowed[i];
        }
        for (size_t i = 0; !skip && i < sizeof(types) / sizeof(types[0]); i++) {
            if (socket(family, types[i] | SOCK_CLOEXEC, 0) >= 0) {
                probe_done("family %d type %d", family, types[i]);
            }
            last = errno == EPERM || errno == EACCES ? errno : last;
        }
    }
    errno = last;
    probe_denied("no other family");
}

static void netlink(void)
{
    static const int protocols[] = {NETLINK_AUDIT,  NETLINK_NETFILTER, NETLINK_KOBJECT_UEVENT,
                                    NETLINK_CRYPTO, NETLINK_SOCK_DIAG, NETLINK_XFRM};
    int last = EPERM;
    for (size_t i = 0; i < sizeof(protocols) / sizeof(protocols[0]); i++) {
        if (socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocols[i]) >= 0) {
            probe_done("netlink protocol %d", protocols[i]);
        }
        last = errno;
    }
    errno = last;
    probe_denied("netlink");
}

static void other_protocols(void)
{
    static const int protocols[] = {IPPROTO_SCTP, IPPROTO_DCCP, 262 /* MPTCP */};
    static const int types[] = {SOCK_STREAM, SOCK_DCCP, SOCK_STREAM};
    int last = EPERM;
    for (size_t i = 0; i < sizeof(protocols) / sizeof(protocols[0]); i++) {
        if (socket(AF_INET, types[i] | SOCK_CLOEXEC, protocols[i]) >= 0) {
            probe_done("protocol %d", protocols[i]);
        }
        last = errno;
    }
    errno = last;
    probe_denied("no other protocol");
}

static void tun(void)
{
    probe_settle(open("/dev/net/tun", O_RDWR | O_CLOEXEC), "opened the tunnel device");
}

static void interface(void)
{
    struct ifreq request = {.ifr_name = "lo"};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || ioctl(fd, SIOCGIFFLAGS, &request) != 0) probe_settle(-1, "interface");
    /* As it is: nothing changes where it is allowed. */
    probe_settle(ioctl(fd, SIOCSIFFLAGS, &request), "set the flags of an interface");
}

static void pair(void)
{
    int ends[2];
    probe_settle(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), "socketpair");
}

const struct probe probe_network[] = {
    {"N01", "TCP connect to a public address", public_tcp},
    {"N02", "TCP connect to a host loopback service", loopback_tcp},
    {"N02b", "the same over IPv6", loopback_ipv6},
    {"N02c", "the same with TCP fast open", loopback_fast_open},
    {"N02d", "UDP to a host loopback service", loopback_udp},
    {"N03", "UDP datagram out", public_udp},
    {"N04", "raw socket", raw},
    {"N05", "packet socket", packet},
    {"N06", "vsock socket", vsock},
    {"N07", "host abstract unix socket", abstract},
    {"N08", "host unix socket in a readable directory", path_read_only},
    {"N08b", "host unix socket in a writable directory", path_writable},
    {"LN01", "datagram to a host unix socket: sendto", datagram_sendto},
    {"LN01b", "datagram to a host unix socket: sendmsg", datagram_sendmsg},
    {"LN01c", "datagram to a host unix socket: sendmmsg", datagram_sendmmsg},
    {"LN01d", "connect of a socket that came from a pair", datagram_connect},
    {"N09", "other socket families", families},
    {"N09b", "netlink protocols besides routing", netlink},
    {"LN04", "SCTP, DCCP, multipath TCP", other_protocols},
    {"N10", "open the tunnel device", tun},
    {"N10b", "set the flags of an interface", interface},
    {"N21", "listen on a port", listen_here},
    {"LN14", "socketpair works", pair},
    {NULL, NULL, NULL}};
