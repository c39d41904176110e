/* What a client of the pool's driver and its server say to each other, over a socket of packets: the words of the
 * command, each with a NUL behind it, with the three streams; then one answer. */
#ifndef SBX_TESTS_POOL_REQUEST_H
#define SBX_TESTS_POOL_REQUEST_H

#include <stddef.h>
#include <stdint.h>

enum { REQUEST_BYTES = 60000, REQUEST_FDS = 3, ANSWER_TEXT = 500 };

struct answer {
    int32_t status;         /* as a shell tells it; 125: sbx failed */
    uint32_t length;        /* of what is to be said */
    char text[ANSWER_TEXT]; /* only this much is sent */
};
#define ANSWER_HEAD offsetof(struct answer, text)

#endif
