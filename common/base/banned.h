/* Functions sbx does not use, each with its reason. Included last in every .c file (the lint test
 * checks that, and the names too), after every system header. */
#ifndef SBX_BASE_BANNED_H
#define SBX_BASE_BANNED_H

#define SBX_BANNED(name) sbx_banned_function_##name

/* No bound on what they write. */
#undef strcpy
#define strcpy(...) SBX_BANNED(strcpy)
#undef strcat
#define strcat(...) SBX_BANNED(strcat)
#undef sprintf
#define sprintf(...) SBX_BANNED(sprintf)
#undef vsprintf
#define vsprintf(...) SBX_BANNED(vsprintf)
#undef gets
#define gets(...) SBX_BANNED(gets)
#undef scanf
#define scanf(...) SBX_BANNED(scanf)
#undef sscanf
#define sscanf(...) SBX_BANNED(sscanf)
#undef alloca
#define alloca(...) SBX_BANNED(alloca)

/* A bound that leaves the result without its NUL, or pads it. */
#undef strncpy
#define strncpy(...) SBX_BANNED(strncpy)
#undef strncat
#define strncat(...) SBX_BANNED(strncat)

/* Hidden state. */
#undef strtok
#define strtok(...) SBX_BANNED(strtok)
#undef setlocale
#define setlocale(...) SBX_BANNED(setlocale)
#undef asctime
#define asctime(...) SBX_BANNED(asctime)
#undef ctime
#define ctime(...) SBX_BANNED(ctime)
#undef gmtime
#define gmtime(...) SBX_BANNED(gmtime)
#undef localtime
#define localtime(...) SBX_BANNED(localtime)
#undef rand
#define rand(...) SBX_BANNED(rand)

/* No way to tell an error from a number. */
#undef atoi
#define atoi(...) SBX_BANNED(atoi)
#undef atol
#define atol(...) SBX_BANNED(atol)
#undef atof
#define atof(...) SBX_BANNED(atof)

/* A name another process can take first; a shell nobody asked for. */
#undef mktemp
#define mktemp(...) SBX_BANNED(mktemp)
#undef tmpnam
#define tmpnam(...) SBX_BANNED(tmpnam)
#undef system
#define system(...) SBX_BANNED(system)
#undef popen
#define popen(...) SBX_BANNED(popen)

#endif
