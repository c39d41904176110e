/* What the command's process tells sbx-init before exec; exec closes the pipe. */
#ifndef SBX_INIT_CHILD_H
#define SBX_INIT_CHILD_H

#include <stdint.h>

enum { INIT_BIRTH_READY = -1 };

struct init_birth {
    int32_t step; /* INIT_BIRTH_READY, or the step that failed */
    int32_t raw;
    int32_t listener_fd;
    int32_t
        is_killable; /* a call that was received is interrupted by nothing but the process' end */
    int32_t probe;   /* errno of the access that Landlock must refuse */
};

/* As read(2). */
long init_read_birth(int fd, struct init_birth *out);

#endif
