/* For tests that ask malloc for too much: the sanitizers look for these functions, and then let such
 * a call return NULL instead of ending the program. */
#ifndef SBX_TESTS_UNIT_MALLOC_MAY_FAIL_H
#define SBX_TESTS_UNIT_MALLOC_MAY_FAIL_H

/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): the names are theirs. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "allocator_may_return_null=1";
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

#endif
