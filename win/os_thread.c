/* The mutex of common/os.h. */
#include <windows.h>

#include "common/os.h"

#include "common/base/banned.h"

_Static_assert(sizeof(SRWLOCK) <= sizeof(struct sbx_os_mutex), "the lock does not fit");

/* All-zero storage is SRWLOCK_INIT. */
void sbx_os_lock(struct sbx_os_mutex *mutex)
{
    AcquireSRWLockExclusive((SRWLOCK *)(void *)mutex->storage);
}

void sbx_os_unlock(struct sbx_os_mutex *mutex)
{
    ReleaseSRWLockExclusive((SRWLOCK *)(void *)mutex->storage);
}
