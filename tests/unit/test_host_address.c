/* IPv4 and IPv6 literals: their classes and their one way of being written. */
#include <stdio.h>

#include "common/egress/host_parts.h"
#include "tests/check.h"

#include "common/base/banned.h"

static void an_address_is_judged_by_the_ipv4_address_inside_it(void)
{
    static const struct {
        const char *host;
        enum sbx_address_class want;
    } rows[] = {
        {"8.8.8.8", SBX_ADDRESS_PUBLIC},
        {"11.0.0.1", SBX_ADDRESS_PUBLIC},
        {"9.255.255.255", SBX_ADDRESS_PUBLIC},
        {"172.15.255.255", SBX_ADDRESS_PUBLIC},
        {"172.32.0.1", SBX_ADDRESS_PUBLIC},
        {"100.63.255.255", SBX_ADDRESS_PUBLIC},
        {"100.128.0.1", SBX_ADDRESS_PUBLIC},
        {"223.255.255.255", SBX_ADDRESS_PUBLIC},
        {"127.8.9.1", SBX_ADDRESS_LOOPBACK},
        {"10.0.0.5", SBX_ADDRESS_PRIVATE},
        {"172.31.255.255", SBX_ADDRESS_PRIVATE},
        {"192.168.1.10", SBX_ADDRESS_PRIVATE},
        {"100.127.255.254", SBX_ADDRESS_CARRIER},
        {"169.254.1.1", SBX_ADDRESS_LINK_LOCAL},
        {"0.0.0.0", SBX_ADDRESS_UNSPECIFIED},
        {"0.1.2.3", SBX_ADDRESS_UNSPECIFIED},
        {"224.0.0.1", SBX_ADDRESS_RESERVED},
        {"240.0.0.1", SBX_ADDRESS_RESERVED},
        {"255.255.255.255", SBX_ADDRESS_RESERVED},
        {"100.100.100.200", SBX_ADDRESS_METADATA},
        {"[2001:4860:4860::8888]", SBX_ADDRESS_PUBLIC},
        {"[::1]", SBX_ADDRESS_LOOPBACK},
        {"[::]", SBX_ADDRESS_UNSPECIFIED},
        {"[fc00::1]", SBX_ADDRESS_PRIVATE},
        {"[fdff::1]", SBX_ADDRESS_PRIVATE},
        {"[fe80::1]", SBX_ADDRESS_LINK_LOCAL},
        {"[febf::1]", SBX_ADDRESS_LINK_LOCAL},
        {"[fec0::1]", SBX_ADDRESS_RESERVED},
        {"[ff02::1]", SBX_ADDRESS_RESERVED},
        {"[100::1]", SBX_ADDRESS_RESERVED},
        {"[2001:0:1::1]", SBX_ADDRESS_RESERVED},
        {"[64:ff9b:1::a00:1]", SBX_ADDRESS_RESERVED},
        {"[fd00:ec2::254]", SBX_ADDRESS_METADATA},
        {"[::ffff:10.0.0.1]", SBX_ADDRESS_PRIVATE},
        {"[::ffff:127.0.0.1]", SBX_ADDRESS_LOOPBACK},
        {"[::ffff:8.8.8.8]", SBX_ADDRESS_PUBLIC},
        {"[::ffff:0:127.0.0.1]", SBX_ADDRESS_LOOPBACK},
        {"[::127.0.0.1]", SBX_ADDRESS_LOOPBACK},
        {"[::2]", SBX_ADDRESS_UNSPECIFIED},
        {"[::ffff:169.254.169.254]", SBX_ADDRESS_METADATA},
        {"[64:ff9b::a9fe:a9fe]", SBX_ADDRESS_METADATA},
        {"[2002:a9fe:a9fe::1]", SBX_ADDRESS_METADATA},
    };
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        struct sbx_host host = {0};
        bool held = CHECK_INT(sbx_host_read(sbx_str(rows[i].host), &host), SBX_FLAW_NONE);
        held = CHECK(host.is_address) && held;
        held = CHECK_INT(sbx_address_class(&host.address), rows[i].want) && held;
        if (!held) {
            printf("# address \"%s\"\n", rows[i].host);
        }
    }
}

static void an_ipv6_address_is_written_as_rfc_5952_says(void)
{
    static const char *const rows[][2] = {
        {"0:0:0:0:0:0:0:0", "::"},
        {"0:0:0:0:0:0:0:1", "::1"},
        {"1:0:0:0:0:0:0:0", "1::"},
        {"2001:db8:0:0:0:0:2:1", "2001:db8::2:1"},
        {"2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"},
        {"2001:0:0:1:0:0:0:1", "2001:0:0:1::1"},
        {"2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"},
        {"2001:DB8::00AB", "2001:db8::ab"},
        {"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
    };
    for (size_t i = 0; i < SBX_COUNT(rows); i++) {
        struct sbx_address address = {0};
        char text[SBX_ADDRESS_TEXT] = "";
        CHECK(sbx_address_read_v6(sbx_str(rows[i][0]), &address));
        sbx_address_write(&address, text);
        CHECK_TEXT(text, rows[i][1]);
    }
}

static const struct sbx_test tests[] = {
    {"an address is judged by the IPv4 address inside it",
     an_address_is_judged_by_the_ipv4_address_inside_it},
    {"an IPv6 address is written as RFC 5952 says", an_ipv6_address_is_written_as_rfc_5952_says},
};

SBX_TEST_MAIN("host address", tests)
