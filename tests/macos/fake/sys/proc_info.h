/* Nothing: libproc.h beside it has all that is used. */
