/* Unit tests of common/base/sha256: vectors of FIPS 180-4 and NIST's CAVP. */
#include "common/base/sha256.h"

#include <string.h>

#include "tests/check.h"

#include "common/base/banned.h"

static void check_digest(const void *bytes, size_t len, const char *want)
{
    char hex[SBX_SHA256_HEX];
    sbx_sha256_hex(bytes, len, hex);
    CHECK_TEXT(hex, want);
}

static void the_published_vectors_hold(void)
{
    static const struct {
        const char *text;
        const char *digest;
    } vectors[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrl"
         "mnopqrsmnopqrstnopqrstu",
         "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
        {"\xd3", "28969cdfa74a12c82f3bad960b0b000aca2ac329deea5c2328ebc6f2ba9802c1"},
        {"\x11\xaf", "5ca7133fa735326081558ac312c620eeca9970d1e70a4b95533d956f072d1f98"},
        {"\xb4\x19\x0e", "dff2e73091f6c05e528896c4c831b9448653dc2ff043528f6769437bc7b975c2"},
        {"\x74\xba\x25\x21", "b16aa56be3880d18cd41e68384cf1ec8c17680c45a02b1575dc1518923ae8b0e"},
    };
    for (size_t i = 0; i < SBX_COUNT(vectors); i++) {
        check_digest(vectors[i].text, strlen(vectors[i].text), vectors[i].digest);
    }
}

static void a_million_times_a_holds(void)
{
    static const char want[] = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";
    static char text[1000000];
    memset(text, 'a', sizeof text);
    check_digest(text, sizeof text, want);

    /* The same in pieces of odd sizes. */
    struct sbx_sha256 hash;
    sbx_sha256_init(&hash);
    size_t piece = 1;
    for (size_t at = 0; at < sizeof text; at += piece) {
        piece = piece * 7 % 331 + 1;
        piece = piece < sizeof text - at ? piece : sizeof text - at;
        sbx_sha256_add(&hash, text + at, piece);
    }
    unsigned char got[SBX_SHA256_BYTES];
    unsigned char whole[SBX_SHA256_BYTES];
    sbx_sha256_end(&hash, got);
    sbx_sha256_add(&hash, text, sizeof text); /* the end leaves it ready for another text */
    sbx_sha256_end(&hash, whole);
    CHECK_MEM(got, sizeof got, whole, sizeof whole);
    CHECK_U64(got[0], 0xcd);
    CHECK_U64(got[31], 0xd0);
}

/* Zero bytes around every padding case; digests from another implementation (Python's hashlib). */
static void lengths_around_a_block_hold(void)
{
    static const struct {
        size_t len;
        const char *digest;
    } vectors[] = {
        {55, "02779466cdec163811d078815c633f21901413081449002f24aa3e80f0b88ef7"},
        {56, "d4817aa5497628e7c77e6b606107042bbba3130888c5f47a375e6179be789fbb"},
        {57, "65a16cb7861335d5ace3c60718b5052e44660726da4cd13bb745381b235a1785"},
        {63, "c7723fa1e0127975e49e62e753db53924c1bd84b8ac1ac08df78d09270f3d971"},
        {64, "f5a5fd42d16a20302798ef6ed309979b43003d2320d9f0e8ea9831a92759fb4b"},
        {65, "98ce42deef51d40269d542f5314bef2c7468d401ad5d85168bfab4c0108f75f7"},
        {1000, "541b3e9daa09b20bf85fa273e5cbd3e80185aa4ec298e765db87742b70138a53"},
    };
    static const char zeros[1000];
    for (size_t i = 0; i < SBX_COUNT(vectors); i++) {
        check_digest(zeros, vectors[i].len, vectors[i].digest);
    }
}

static void pieces_give_the_digest_of_the_whole(void)
{
    unsigned char text[200];
    unsigned wrong = 0;
    for (size_t i = 0; i < sizeof text; i++) {
        text[i] = (unsigned char)(i * 37);
    }
    for (size_t len = 0; len <= sizeof text; len++) {
        unsigned char whole[SBX_SHA256_BYTES];
        struct sbx_sha256 hash;
        sbx_sha256_init(&hash);
        sbx_sha256_add(&hash, text, len);
        sbx_sha256_end(&hash, whole);
        for (size_t cut = 0; cut <= len; cut++) {
            unsigned char parts[SBX_SHA256_BYTES];
            sbx_sha256_init(&hash);
            sbx_sha256_add(&hash, text, cut);
            sbx_sha256_add(&hash, NULL, 0);
            sbx_sha256_add(&hash, text + cut, len - cut);
            sbx_sha256_end(&hash, parts);
            wrong += memcmp(whole, parts, sizeof whole) != 0;
        }
    }
    CHECK_U64(wrong, 0);
}

static const struct sbx_test tests[] = {
    {"the published vectors hold", the_published_vectors_hold},
    {"a million times 'a' holds", a_million_times_a_holds},
    {"lengths around a block hold", lengths_around_a_block_hold},
    {"pieces give the digest of the whole", pieces_give_the_digest_of_the_whole},
};

SBX_TEST_MAIN("sha256", tests)
