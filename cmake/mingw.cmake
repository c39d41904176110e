# Toolchain: 64-bit Windows with MinGW-w64, tests run under Wine. SBX_CROSS_PREFIX (environment or
# -D) names the prefix that scripts/cross-deps filled with our cross-built libraries.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(_sbx_triple x86_64-w64-mingw32)

# Debian has two thread models; the posix one has C11 threads and is what the libraries are built with.
find_program(_sbx_posix ${_sbx_triple}-gcc-posix)
if(_sbx_posix)
  set(CMAKE_C_COMPILER ${_sbx_triple}-gcc-posix)
else()
  set(CMAKE_C_COMPILER ${_sbx_triple}-gcc)
endif()
set(CMAKE_RC_COMPILER ${_sbx_triple}-windres)

if(DEFINED ENV{SBX_CROSS_PREFIX})
  # FORCE: the prefix gets another name when a library is added, and an old build tree must follow.
  set(SBX_CROSS_PREFIX $ENV{SBX_CROSS_PREFIX} CACHE PATH "Cross-built libraries" FORCE)
endif()
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES SBX_CROSS_PREFIX)
set(CMAKE_FIND_ROOT_PATH /usr/${_sbx_triple} ${SBX_CROSS_PREFIX})
include(${CMAKE_CURRENT_LIST_DIR}/cross_prefix.cmake)

find_program(_sbx_wine NAMES wine wine64)
if(_sbx_wine)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${_sbx_wine})
endif()
