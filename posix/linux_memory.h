/* Memory of this process and the children it forks. */
#ifndef SBX_POSIX_LINUX_MEMORY_H
#define SBX_POSIX_LINUX_MEMORY_H

/* A fork leaves every page shared until one of the two writes to it, and each such write then takes a page fault and a
 * copy. This makes the copies of what the caller uses at once, where nobody waits, instead of one by one where somebody
 * does. Kernels before 5.14 cannot: then nothing happens. Only for programs with little memory. */
void sbx_memory_claim(void);

#endif
