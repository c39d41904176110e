/* The mutex of common/os.h. */
#include <pthread.h>

#include "common/os.h"

#include "common/base/banned.h"

_Static_assert(sizeof(pthread_mutex_t) <= sizeof(struct sbx_os_mutex), "the mutex does not fit");

/* All-zero storage is PTHREAD_MUTEX_INITIALIZER in glibc, musl and the BSDs' libraries. */
void sbx_os_lock(struct sbx_os_mutex *mutex)
{
    (void)pthread_mutex_lock((pthread_mutex_t *)(void *)mutex->storage);
}

void sbx_os_unlock(struct sbx_os_mutex *mutex)
{
    (void)pthread_mutex_unlock((pthread_mutex_t *)(void *)mutex->storage);
}
