# Shared by the toolchains: libraries are looked for below CMAKE_FIND_ROOT_PATH and nowhere else, programs on this machine.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
# LIBDIR, not PATH: the machine's own libraries must never be found.
set(ENV{PKG_CONFIG_LIBDIR} ${SBX_CROSS_PREFIX}/lib/pkgconfig)
