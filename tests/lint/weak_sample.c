/* A program that is linked without any of our hardening: binary.py must refuse it on every count. */
#ifdef _WIN32
#include <windows.h>
#include <mmsystem.h> /* a library that is not on the list */

int main(void)
{
    return timeGetTime() == 0;
}
#else
/* A section that is writable and executable. */
__asm__(".section .weak,\"awx\"\n.byte 0\n.previous");

int main(void)
{
    return 0;
}
#endif
