/* Sockets for the self-test. Winsock is loaded only here: sbx itself has no use for it. */
#include <winsock2.h>
#include <ws2tcpip.h>

#include <stdio.h>

#include "win/selftest.h"

#include "common/base/banned.h"

#define LATE(name) SBX_LATE(L"ws2_32.dll", name)
#define BACKLOG 64

/* Once per process, for good. */
static int begin(void)
{
    static bool has_begun;
    WSADATA data;
    if (LATE(WSAStartup) == NULL) {
        return ERROR_MOD_NOT_FOUND;
    }
    int raw = has_begun ? 0 : LATE(WSAStartup)(MAKEWORD(2, 2), &data);
    has_begun |= raw == 0;
    return raw;
}

static struct sockaddr_in loopback(uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    address.sin_port = LATE(htons)(port);
    address.sin_addr.s_addr = LATE(htonl)(INADDR_LOOPBACK);
    return address;
}

static void close_one(SOCKET *one)
{
    if (*one != INVALID_SOCKET) {
        (void)LATE(closesocket)(*one);
    }
}

int sbx_socket_listen(uint64_t *listener, uint16_t *port)
{
    int raw = begin();
    if (raw != 0) {
        return raw;
    }
    struct sockaddr_in address = loopback(0);
    int size = (int)sizeof address;
    SOCKET made = LATE(socket)(AF_INET, SOCK_STREAM, IPPROTO_TCP);
    if (made == INVALID_SOCKET || LATE(bind)(made, (const struct sockaddr *)&address, size) != 0 ||
        LATE(listen)(made, BACKLOG) != 0 ||
        LATE(getsockname)(made, (struct sockaddr *)&address, &size) != 0) {
        raw = LATE(WSAGetLastError)();
        close_one(&made);
        return raw;
    }
    (void)SetHandleInformation((HANDLE)(uintptr_t)made, HANDLE_FLAG_INHERIT, 0);
    *listener = (uint64_t)made;
    *port = LATE(ntohs)(address.sin_port);
    return 0;
}

/* Waits until it can be read, or written: 0, or why not. */
static int wait_for(SOCKET one, bool is_write, unsigned timeout_ms)
{
    fd_set wanted = {.fd_count = 1, .fd_array = {one}};
    fd_set failed = wanted;
    struct timeval timeout = {(long)(timeout_ms / 1000), (long)(timeout_ms % 1000) * 1000};
    int got =
        LATE(select)(0, is_write ? NULL : &wanted, is_write ? &wanted : NULL, &failed, &timeout);
    if (got == 0) {
        return WSAETIMEDOUT;
    }
    if (got < 0) {
        return LATE(WSAGetLastError)();
    }
    int raw = 0;
    int size = (int)sizeof raw;
    (void)LATE(getsockopt)(one, SOL_SOCKET, SO_ERROR, (char *)&raw, &size);
    return raw;
}

int sbx_socket_accept(uint64_t listener, unsigned timeout_ms)
{
    int raw = wait_for((SOCKET)listener, false, timeout_ms);
    if (raw != 0) {
        return raw;
    }
    SOCKET made = LATE(accept)((SOCKET)listener, NULL, NULL);
    raw = made == INVALID_SOCKET ? LATE(WSAGetLastError)() : 0;
    close_one(&made);
    return raw;
}

static int connect_address(const struct sockaddr *address, int size, unsigned timeout_ms)
{
    SBX_CLEANUP(close_one)
    SOCKET made = LATE(socket)(address->sa_family, SOCK_STREAM, IPPROTO_TCP);
    u_long is_on = 1;
    if (made == INVALID_SOCKET || LATE(ioctlsocket)(made, (long)FIONBIO, &is_on) != 0) {
        return LATE(WSAGetLastError)();
    }
    if (LATE(connect)(made, address, size) == 0) {
        return 0;
    }
    int raw = LATE(WSAGetLastError)();
    return raw == WSAEWOULDBLOCK ? wait_for(made, true, timeout_ms) : raw;
}

int sbx_socket_connect(uint16_t port, unsigned timeout_ms)
{
    int raw = begin();
    if (raw != 0) {
        return raw;
    }
    struct sockaddr_in address = loopback(port);
    return connect_address((const struct sockaddr *)&address, (int)sizeof address, timeout_ms);
}

static int look_up(const char *host, const char *service, struct addrinfo **out)
{
    struct addrinfo wish = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    int raw = begin();
    return raw != 0 ? raw : LATE(getaddrinfo)(host, service, &wish, out);
}

int sbx_socket_resolve(const char *host, char *address, size_t size)
{
    struct addrinfo *found = NULL;
    int raw = look_up(host, NULL, &found);
    if (raw != 0) {
        return raw;
    }
    raw = LATE(getnameinfo)(found->ai_addr, (socklen_t)found->ai_addrlen, address, (DWORD)size,
                            NULL, 0, NI_NUMERICHOST);
    LATE(freeaddrinfo)(found);
    return raw;
}

int sbx_socket_connect_to(const char *host, uint16_t port, unsigned timeout_ms)
{
    char service[8];
    struct addrinfo *found = NULL;
    (void)snprintf(service, sizeof service, "%u", (unsigned)port);
    int raw = look_up(host, service, &found);
    if (raw != 0) {
        return raw;
    }
    raw = connect_address(found->ai_addr, (int)found->ai_addrlen, timeout_ms);
    LATE(freeaddrinfo)(found);
    return raw;
}

void sbx_socket_close(uint64_t listener)
{
    SOCKET one = (SOCKET)listener;
    if (listener != SBX_NO_SOCKET) {
        close_one(&one);
    }
}
