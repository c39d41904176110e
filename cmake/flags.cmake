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
set(CMAKE_C_FLAGS_DEBUG "-Og -g3")
set(CMAKE_C_FLAGS_RELEASE "-O2 -g")
if(SBX_COVERAGE)
  set(CMAKE_C_FLAGS_DEBUG "-O0 -g") # lines as they are written
endif()
if(SBX_SANITIZE OR SBX_COVERAGE OR SBX_FUZZ)
  set(sbx_instrumented TRUE)
else()
  set(sbx_instrumented FALSE)
endif()

# ---- warnings -----------------------------------------------------------------------------------
target_compile_options(sbx_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wformat=2 -Wundef -Wvla
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
if(MINGW)
  target_compile_definitions(sbx_flags INTERFACE __USE_MINGW_ANSI_STDIO=1)
  # Nothing but the system's own DLLs next to sbx.exe.
  target_link_options(sbx_flags INTERFACE -static)
endif()

# ---- hardening ----------------------------------------------------------------------------------
target_compile_options(sbx_flags INTERFACE
  -fstack-protector-strong -fno-delete-null-pointer-checks -fno-strict-overflow -fno-common
  -ftrivial-auto-var-init=zero)
if(CMAKE_C_COMPILER_ID MATCHES "Clang" AND CMAKE_C_COMPILER_VERSION VERSION_LESS 16)
  # Before 16 clang wants a second flag to say one really means zero.
  target_compile_options(sbx_flags INTERFACE
    -enable-trivial-auto-var-init-zero-knowing-it-will-be-removed-from-clang)
endif()
if(NOT APPLE AND NOT WIN32)
  # Windows probes large frames by itself (__chkstk), and GCC 12 crashes on the two together.
  target_compile_options(sbx_flags INTERFACE -fstack-clash-protection)
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$" AND NOT APPLE)
  target_compile_options(sbx_flags INTERFACE -fcf-protection=full)
endif()
if(NOT sbx_instrumented)
  # The sanitizers have their own interceptors for what _FORTIFY_SOURCE replaces. Some distributions
  # predefine a lower level, hence -U.
  target_compile_options(sbx_flags INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
endif()
if(MINGW)
  # On the link line -fstack-protector-strong brings libssp, which has __strcpy_chk and friends too.
  # The three PE flags are ld's default since 2.40; older ones need to be told.
  target_link_options(sbx_flags INTERFACE -fstack-protector-strong
    LINKER:--dynamicbase,--nxcompat,--high-entropy-va)
elseif(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  target_link_options(sbx_flags INTERFACE
    LINKER:-z,relro,-z,now,-z,noexecstack,-z,separate-code LINKER:--as-needed)
endif()

# ---- size and reproducibility -------------------------------------------------------------------
target_compile_options(sbx_flags INTERFACE -ffunction-sections -fdata-sections)
if(NOT SBX_COVERAGE)
  # The build directory usually lies inside the source tree, and the compilers take the last map that
  # matches. gcovr needs the true names.
  target_compile_options(sbx_flags INTERFACE
    -ffile-prefix-map=${PROJECT_SOURCE_DIR}/= -ffile-prefix-map=${PROJECT_BINARY_DIR}/=)
endif()
if(APPLE)
  target_link_options(sbx_flags INTERFACE LINKER:-dead_strip)
else()
  target_link_options(sbx_flags INTERFACE LINKER:--gc-sections)
endif()
if(MINGW)
  target_link_options(sbx_flags INTERFACE LINKER:--no-insert-timestamp)
endif()
# No link-time optimisation: with GCC 12 its result depends on the directory it is built in.

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
  list(APPEND sbx_sanitize --coverage)
endif()
if(sbx_sanitize)
  target_compile_options(sbx_flags INTERFACE ${sbx_sanitize})
  target_link_options(sbx_flags INTERFACE ${sbx_sanitize})
endif()
