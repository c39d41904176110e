# sbx_flags: what every source of ours is compiled and linked with. Third-party code never sees it.
# The lists are by compiler instead of probed: a flag that silently vanishes is a hole.
include(CheckPIESupported)

add_library(sbx_flags INTERFACE)
target_include_directories(sbx_flags INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_definitions(sbx_flags INTERFACE SBX_VERSION="${PROJECT_VERSION}")

set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT WIN32)
  check_pie_supported(LANGUAGES C)
endif()

# No -DNDEBUG: an assertion that does not hold in the field had better stop us there too.
if(MSVC) # clang-cl: the names of cl's flags
  set(CMAKE_C_FLAGS_DEBUG "/Od /Z7")
  set(CMAKE_C_FLAGS_RELEASE "/O2 /Z7")
else()
  set(CMAKE_C_FLAGS_DEBUG "-Og -g3")
  set(CMAKE_C_FLAGS_RELEASE "-O2 -g")
endif()
if(SBX_COVERAGE)
  set(CMAKE_C_FLAGS_DEBUG "-O0 -g") # lines as they are written
endif()
if(SBX_SANITIZE OR SBX_COVERAGE OR SBX_FUZZ)
  set(sbx_instrumented TRUE)
else()
  set(sbx_instrumented FALSE)
endif()

# ---- warnings -----------------------------------------------------------------------------------
if(MSVC)
  target_compile_options(sbx_flags INTERFACE /W4) # what the others call -Wall -Wextra; its -Wall is everything
else()
  target_compile_options(sbx_flags INTERFACE -Wall -Wextra)
endif()
target_compile_options(sbx_flags INTERFACE
  -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wformat=2 -Wundef -Wvla
  -Wstrict-prototypes -Wmissing-prototypes -Wwrite-strings -Wimplicit-fallthrough
  -Wdouble-promotion -Wcast-qual -Wswitch-enum)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  # GCC jumps over a variable with a cleanup attribute without a word.
  target_compile_options(sbx_flags INTERFACE -Wjump-misses-init)
endif()
if(NOT sbx_instrumented)
  # Instrumentation inserts paths on which GCC sees null pointers that are not there.
  target_compile_options(sbx_flags INTERFACE -Wnull-dereference)
endif()
if(SBX_WERROR)
  target_compile_options(sbx_flags INTERFACE -Werror)
endif()

# ---- platform -----------------------------------------------------------------------------------
if(WIN32)
  # Windows 10 1809 is the oldest system; the narrow APIs and the CRT's own printf are not used.
  target_compile_definitions(sbx_flags INTERFACE
    _WIN32_WINNT=0x0A00 NTDDI_VERSION=0x0A000006 UNICODE _UNICODE WIN32_LEAN_AND_MEAN)
else()
  target_compile_definitions(sbx_flags INTERFACE _GNU_SOURCE)
endif()
if(MSVC)
  if(NOT CMAKE_C_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "cl.exe is not supported: use clang-cl (the preset windows-clang-cl)")
  endif()
  # The names of the C standard are not deprecated, whatever the headers say.
  target_compile_definitions(sbx_flags INTERFACE _CRT_SECURE_NO_WARNINGS _CRT_NONSTDC_NO_WARNINGS)
endif()
if(MINGW)
  target_compile_definitions(sbx_flags INTERFACE __USE_MINGW_ANSI_STDIO=1)
  # Nothing but the system's own DLLs next to sbx.exe.
  target_link_options(sbx_flags INTERFACE -static)
endif()

# ---- hardening ----------------------------------------------------------------------------------
if(MSVC)
  include(cmake/flags_msvc.cmake)
else()
  include(cmake/flags_gnu.cmake)
endif()

# ---- instrumentation ----------------------------------------------------------------------------
if(SBX_SANITIZE)
  set(sbx_sanitize -fsanitize=${SBX_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
endif()
if(SBX_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "SBX_FUZZ needs clang (CMAKE_C_COMPILER=clang): libFuzzer is part of it")
  endif()
  list(APPEND sbx_sanitize -fsanitize=fuzzer-no-link)
endif()
if(SBX_COVERAGE)
  # Threads count too, and a lost update may leave a count below zero.
  list(APPEND sbx_sanitize --coverage -fprofile-update=atomic)
endif()
if(sbx_sanitize)
  target_compile_options(sbx_flags INTERFACE ${sbx_sanitize})
  target_link_options(sbx_flags INTERFACE ${sbx_sanitize})
endif()
