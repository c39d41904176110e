# Hardening, size and reproducibility for GCC, MinGW-w64 and clang (cmake/flags.cmake).

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
