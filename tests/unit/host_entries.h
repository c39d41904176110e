/* Entries of `network.hosts` and `network.local`, accepted and refused, for test_hosts.c. */
#ifndef SBX_TESTS_HOST_ENTRIES_H
#define SBX_TESTS_HOST_ENTRIES_H

#include <stddef.h>

#include "common/egress/hosts.h"

struct accepted {
    const char *entry;
    const char *text; /* NULL: as written */
    enum sbx_host_form form;
};

static const struct accepted hosts_accepted[] = {
    {"api.example.com", NULL, SBX_HOST_EXACT},
    {"API.Example.COM", "api.example.com", SBX_HOST_EXACT},
    {"example.com.", "example.com", SBX_HOST_EXACT},
    {"example.com.:443", "example.com:443", SBX_HOST_EXACT},
    {"example.com:1", NULL, SBX_HOST_EXACT},
    {"example.com:65535", NULL, SBX_HOST_EXACT},
    {"xn--bcher-kva.example", NULL, SBX_HOST_EXACT},
    {"r3---sn-4g5e6nls.example.com", NULL, SBX_HOST_EXACT},
    {"1.2.3.example", NULL, SBX_HOST_EXACT},
    {"3com.example", NULL, SBX_HOST_EXACT},
    {"example.x0x", NULL, SBX_HOST_EXACT},
    {"github.com", NULL, SBX_HOST_EXACT},
    {"googleapis.com", NULL, SBX_HOST_EXACT},
    {"user.github.io", NULL, SBX_HOST_EXACT},
    {"api.github.com", NULL, SBX_HOST_EXACT},
    {"bedrock-runtime.us-east-1.amazonaws.com:443", NULL, SBX_HOST_EXACT},
    {"*.example.com", NULL, SBX_HOST_WILDCARD},
    {"*.Example.com.:8443", "*.example.com:8443", SBX_HOST_WILDCARD},
    {"*.notworkers.dev", NULL, SBX_HOST_WILDCARD},
    {"8.8.8.8", NULL, SBX_HOST_ADDRESS},
    {"8.8.8.8.", "8.8.8.8", SBX_HOST_ADDRESS},
    {"172.32.0.1:22", NULL, SBX_HOST_ADDRESS},
    {"100.128.0.1", NULL, SBX_HOST_ADDRESS},
    {"[2001:4860:4860::8888]", NULL, SBX_HOST_ADDRESS},
    {"[2001:DB8:0:0:1:0:0:1]:443", "[2001:db8::1:0:0:1]:443", SBX_HOST_ADDRESS},
    {"[2001:0db8:0:1:1:1:1:1]", "[2001:db8:0:1:1:1:1:1]", SBX_HOST_ADDRESS},
    {"[2001:db8:1:2:3:4:5::]", "[2001:db8:1:2:3:4:5:0]", SBX_HOST_ADDRESS},
    {"[2001:db8::192.0.2.1]", "[2001:db8::c000:201]", SBX_HOST_ADDRESS},
    {"@llm", NULL, SBX_HOST_GROUP},
    {"@LLM", "@llm", SBX_HOST_GROUP},
    {"@git:22", NULL, SBX_HOST_GROUP},
    {"@registries", NULL, SBX_HOST_GROUP},
};

static const struct accepted local_accepted[] = {
    {"localhost:8080", NULL, SBX_HOST_EXACT},
    {"LocalHost.:8080", "localhost:8080", SBX_HOST_EXACT},
    {"app.localhost:3000", NULL, SBX_HOST_EXACT},
    {"localhost.localdomain:80", NULL, SBX_HOST_EXACT},
    {"127.0.0.1:5432", NULL, SBX_HOST_ADDRESS},
    {"127.255.255.254:1", NULL, SBX_HOST_ADDRESS},
    {"10.0.0.5:443", NULL, SBX_HOST_ADDRESS},
    {"172.16.0.1:80", NULL, SBX_HOST_ADDRESS},
    {"172.31.255.255:80", NULL, SBX_HOST_ADDRESS},
    {"192.168.1.10:65535", NULL, SBX_HOST_ADDRESS},
    {"100.64.0.1:80", NULL, SBX_HOST_ADDRESS},
    {"100.127.255.254:80", NULL, SBX_HOST_ADDRESS},
    {"169.254.1.1:80", NULL, SBX_HOST_ADDRESS},
    {"[::1]:8080", NULL, SBX_HOST_ADDRESS},
    {"[0:0:0:0:0:0:0:1]:8080", "[::1]:8080", SBX_HOST_ADDRESS},
    {"[FE80::1]:80", "[fe80::1]:80", SBX_HOST_ADDRESS},
    {"[fdff::1]:80", NULL, SBX_HOST_ADDRESS},
};

struct refused {
    const char *entry;
    enum sbx_host_problem problem;
    const char *why; /* a part of it */
};

static const struct refused hosts_refused[] = {
    {"", SBX_HOST_INVALID, "is empty; "},
    {".", SBX_HOST_INVALID, "is empty; "},
    {":443", SBX_HOST_INVALID, "is empty; "},
    {"example..com", SBX_HOST_INVALID, "empty label"},
    {"example.com..", SBX_HOST_INVALID, "empty label"},
    {".example.com", SBX_HOST_INVALID, "write \"*\" before it"},
    {"-bad.org", SBX_HOST_INVALID, "starts or ends with a hyphen"},
    {"bad-.org", SBX_HOST_INVALID, "starts or ends with a hyphen"},
    {"my_host.example.com", SBX_HOST_INVALID, "underscore"},
    {"b\xc3\xbc"
     "cher.example",
     SBX_HOST_INVALID, "punycode (\"xn--"},
    {"\xff.example", SBX_HOST_INVALID, "punycode"},
    {"exa mple.org", SBX_HOST_INVALID, "white space"},
    {"example.org\t", SBX_HOST_INVALID, "white space"},
    {"example.org\n", SBX_HOST_INVALID, "control character"},
    {"a%00.example.com", SBX_HOST_INVALID, "only letters, digits, hyphens and dots"},
    {"a,b.example.com", SBX_HOST_INVALID, "only letters, digits, hyphens and dots"},
    {"evil.com\\@example.com", SBX_HOST_INVALID, "only letters, digits, hyphens and dots"},
    /* other spellings of IPv4 */
    {"2130706433", SBX_HOST_INVALID, "write \"127.0.0.1\""},
    {"0x7f.1", SBX_HOST_INVALID, "write \"127.0.0.1\""},
    {"0X7F000001", SBX_HOST_INVALID, "write \"127.0.0.1\""},
    {"0177.0.0.1", SBX_HOST_INVALID, "write \"127.0.0.1\""},
    {"127.1", SBX_HOST_INVALID, "write \"127.0.0.1\""},
    {"127.1.", SBX_HOST_INVALID, "write \"127.0.0.1\""},
    {"8.8.2056:443", SBX_HOST_INVALID, "write \"8.8.8.8\""},
    {"008.8.8.8", SBX_HOST_INVALID, "is not an IPv4 address"},
    {"1.2.3.4.5", SBX_HOST_INVALID, "is not an IPv4 address"},
    {"256.1.1.1", SBX_HOST_INVALID, "is not an IPv4 address"},
    {"4294967296", SBX_HOST_INVALID, "is not an IPv4 address"},
    {"example.123", SBX_HOST_INVALID, "is not an IPv4 address"},
    {"example.0xg", SBX_HOST_INVALID, "is not an IPv4 address"},
    /* IPv6 */
    {"2001:db8::1", SBX_HOST_INVALID, "write \"[2001:db8::1]\""},
    {"::1", SBX_HOST_INVALID, "write \"[::1]\""},
    {"example.com:80:90", SBX_HOST_INVALID, "more than one colon"},
    {"[::1", SBX_HOST_INVALID, "is not an IPv6 address"},
    {"[]", SBX_HOST_INVALID, "is not an IPv6 address"},
    {"[example.com]", SBX_HOST_INVALID, "is not an IPv6 address"},
    {"[1.2.3.4]", SBX_HOST_INVALID, "is not an IPv6 address"},
    {"[fe80::1%eth0]", SBX_HOST_INVALID, "without a zone"},
    {"[1::2::3]", SBX_HOST_INVALID, "is not an IPv6 address"},
    {"[1:::2]", SBX_HOST_INVALID, "is not an IPv6 address"},
    {"[1:2:3:4:5:6:7]", SBX_HOST_INVALID, "is not an IPv6 address"},
    {"[1:2:3:4:5:6:7:8:9]", SBX_HOST_INVALID, "is not an IPv6 address"},
    {"[1:2:3:4:5:6:7::8]", SBX_HOST_INVALID, "is not an IPv6 address"},
    {"[2001:db8::g]", SBX_HOST_INVALID, "is not an IPv6 address"},
    {"[2001:db8::12345]", SBX_HOST_INVALID, "is not an IPv6 address"},
    {"[2001:db8::1.2.3.04]", SBX_HOST_INVALID, "is not an IPv6 address"},
    {"[1.2.3.4::1]", SBX_HOST_INVALID, "is not an IPv6 address"},
    {"[::ffff:8.8.8.8]", SBX_HOST_INVALID, "write \"8.8.8.8\""},
    {"[::ffff:0:808:808]", SBX_HOST_INVALID, "write \"8.8.8.8\""},
    {"[::8.8.8.8]", SBX_HOST_INVALID, "write \"8.8.8.8\""},
    {"[64:ff9b::808:808]", SBX_HOST_INVALID, "write \"8.8.8.8\""},
    {"[2002:808:808::1]", SBX_HOST_INVALID, "write \"8.8.8.8\""},
    /* more than a host */
    {"https://api.example.com/v1?x#y", SBX_HOST_INVALID,
     "is a URL; write only the host, as in "
     "\"api.example.com\""},
    {"https://u:p@API.example.com:8443", SBX_HOST_INVALID, "\"api.example.com:8443\""},
    {"http://[2001:db8:0::1]/", SBX_HOST_INVALID, "\"[2001:db8::1]\""},
    {"https://b\xc3\xbc"
     "cher.example/",
     SBX_HOST_INVALID, "as in \"api.example.com\""},
    {"://", SBX_HOST_INVALID, "is a URL"},
    {"git@github.com", SBX_HOST_INVALID,
     "has a user name; write only the host, as in "
     "\"github.com\""},
    {"example.com/path", SBX_HOST_INVALID,
     "has a path; write only the host, as in "
     "\"example.com\""},
    {"example.com?q", SBX_HOST_INVALID, "\"example.com\""},
    {"example.com#f", SBX_HOST_INVALID, "\"example.com\""},
    {"10.0.0.0/8", SBX_HOST_INVALID, "range of addresses"},
    {"fc00::/7", SBX_HOST_INVALID, "range of addresses"},
    /* ports */
    {"example.com:", SBX_HOST_INVALID, "a number from 1 to 65535"},
    {"example.com:0", SBX_HOST_INVALID, "a number from 1 to 65535"},
    {"example.com:65536", SBX_HOST_INVALID, "a number from 1 to 65535"},
    {"example.com:0443", SBX_HOST_INVALID, "a number from 1 to 65535"},
    {"example.com:+443", SBX_HOST_INVALID, "a number from 1 to 65535"},
    {"example.com:*", SBX_HOST_INVALID, "a number from 1 to 65535"},
    {"example.com:https", SBX_HOST_INVALID, "a number from 1 to 65535"},
    {"[2001:db8::1]443", SBX_HOST_INVALID, "a number from 1 to 65535"},
    {"[2001:db8::1]:", SBX_HOST_INVALID, "a number from 1 to 65535"},
    {"@git:0", SBX_HOST_INVALID, "a number from 1 to 65535"},
    /* wildcards */
    {"*", SBX_HOST_INVALID, "allows every host"},
    {"*:443", SBX_HOST_INVALID, "allows every host"},
    {"*.", SBX_HOST_INVALID, "is empty"},
    {"*.com", SBX_HOST_INVALID, "whole top-level domain"},
    {"com", SBX_HOST_INVALID, "whole top-level domain"},
    {"a.*.com", SBX_HOST_INVALID, "not the whole first label"},
    {"*x.com", SBX_HOST_INVALID, "not the whole first label"},
    {"*.*.com", SBX_HOST_INVALID, "not the whole first label"},
    {"**.example.com", SBX_HOST_INVALID, "not the whole first label"},
    {"*.my_host.com", SBX_HOST_INVALID, "underscore"},
    {"*.1.2.3.4", SBX_HOST_INVALID, "a star before an address"},
    {"*.1.2.3", SBX_HOST_INVALID, "write \"1.2.0.3\""},
    /* local targets */
    {"localhost", SBX_HOST_INVALID, "network.local"},
    {"localhost:8080", SBX_HOST_INVALID, "network.local"},
    {"app.localhost", SBX_HOST_INVALID, "network.local"},
    {"*.localhost", SBX_HOST_INVALID, "network.local"},
    {"127.0.0.1:8080", SBX_HOST_INVALID, "network.local"},
    {"10.0.0.5", SBX_HOST_INVALID, "network.local"},
    {"172.16.0.1", SBX_HOST_INVALID, "network.local"},
    {"192.168.1.10", SBX_HOST_INVALID, "network.local"},
    {"100.64.0.1", SBX_HOST_INVALID, "network.local"},
    {"169.254.1.1", SBX_HOST_INVALID, "network.local"},
    {"[::1]:80", SBX_HOST_INVALID, "network.local"},
    {"[fc00::1]", SBX_HOST_INVALID, "network.local"},
    {"[fe80::1]", SBX_HOST_INVALID, "network.local"},
    /* neither public nor local */
    {"0.0.0.0", SBX_HOST_INVALID, "is not an address of a public host"},
    {"224.0.0.1", SBX_HOST_INVALID, "is not an address of a public host"},
    {"255.255.255.255", SBX_HOST_INVALID, "is not an address of a public host"},
    {"[::]", SBX_HOST_INVALID, "is not an address of a public host"},
    {"[ff02::1]", SBX_HOST_INVALID, "is not an address of a public host"},
    {"[2001:0:1::1]", SBX_HOST_INVALID, "is not an address of a public host"},
    {"[64:ff9b:1::a00:1]", SBX_HOST_INVALID, "is not an address of a public host"},
    {"[fec0::1]", SBX_HOST_INVALID, "is not an address of a public host"},
    /* groups */
    {"@", SBX_HOST_UNKNOWN_GROUP, "write one of \"@git\", \"@llm\", \"@registries\""},
    {"@lm", SBX_HOST_UNKNOWN_GROUP, "write one of \"@git\", \"@llm\", \"@registries\""},
    {"@llm/x", SBX_HOST_UNKNOWN_GROUP, "write one of"},
    /* shared platforms; every row is covered below */
    {"AmazonAWS.com.", SBX_HOST_SHARED_PLATFORM, "\"amazonaws.com\" (object-storage)"},
    {"*.us-east-1.amazonaws.com", SBX_HOST_SHARED_PLATFORM, "one tenant's exact host"},
    {"*.github.com", SBX_HOST_SHARED_PLATFORM, "write \"github.com\", which leaves it out"},
    {"*.googleapis.com", SBX_HOST_SHARED_PLATFORM, "covers the shared platform"},
};

static const struct refused local_refused[] = {
    {"localhost", SBX_HOST_INVALID, "has no port"},
    {"127.0.0.1", SBX_HOST_INVALID, "has no port"},
    {"[::1]", SBX_HOST_INVALID, "has no port"},
    {"*.localhost:80", SBX_HOST_INVALID, "more than one target"},
    {"@llm:80", SBX_HOST_INVALID, "more than one target"},
    {"http://localhost:8080", SBX_HOST_INVALID, "\"localhost:8080\""},
    {"127.1:80", SBX_HOST_INVALID, "write \"127.0.0.1\""},
    {"10.0.0.0/8", SBX_HOST_INVALID, "range of addresses"},
    {"[::ffff:10.0.0.1]:80", SBX_HOST_INVALID, "write \"10.0.0.1\""},
    {"example.com:443", SBX_HOST_NOT_LOCAL, "is not localhost"},
    {"printer.local:631", SBX_HOST_NOT_LOCAL, "the local target's address"},
    {"notlocalhost:80", SBX_HOST_NOT_LOCAL, "is not localhost"},
    {"8.8.8.8:53", SBX_HOST_NOT_LOCAL, "network.hosts"},
    {"[2001:db8::1]:443", SBX_HOST_NOT_LOCAL, "network.hosts"},
    {"172.32.0.1:80", SBX_HOST_NOT_LOCAL, "network.hosts"},
    {"100.128.0.1:80", SBX_HOST_NOT_LOCAL, "network.hosts"},
    {"0.0.0.0:80", SBX_HOST_NOT_LOCAL, "write \"127.0.0.1\""},
    {"[::]:80", SBX_HOST_NOT_LOCAL, "write \"127.0.0.1\""},
    {"224.0.0.1:80", SBX_HOST_NOT_LOCAL, "not a loopback or private"},
};

#endif
