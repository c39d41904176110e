# Toolchain: macOS on one processor, cross-built on Linux by clang and LLD. SBX_MACOS_SDK (environment or -D) is what
# scripts/macos-sdk prints, SBX_MACOS_ARCH arm64 or x86_64, SBX_CROSS_PREFIX the prefix that scripts/cross-deps filled.
# There is nothing here to run the result with: what is shown is that it compiles and links.
foreach(_sbx_name IN ITEMS SBX_MACOS_SDK SBX_MACOS_ARCH SBX_CROSS_PREFIX)
  if(DEFINED ENV{${_sbx_name}})
    # FORCE: an old build tree must follow.
    set(${_sbx_name} $ENV{${_sbx_name}} CACHE STRING "Of the cross-build for macOS" FORCE)
  endif()
endforeach()
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES SBX_MACOS_SDK SBX_MACOS_ARCH SBX_CROSS_PREFIX)

set(CMAKE_SYSTEM_NAME Darwin)
set(CMAKE_SYSTEM_PROCESSOR ${SBX_MACOS_ARCH})
set(CMAKE_OSX_SYSROOT ${SBX_MACOS_SDK})
set(CMAKE_OSX_DEPLOYMENT_TARGET 13.0 CACHE STRING "The oldest macOS" FORCE)

# The tools stand beside the compiler; only some have a name without a version in the path.
find_program(_sbx_clang clang REQUIRED)
file(REAL_PATH ${_sbx_clang} _sbx_clang)
cmake_path(GET _sbx_clang PARENT_PATH _sbx_llvm)
set(CMAKE_C_COMPILER ${_sbx_clang})
set(CMAKE_C_COMPILER_TARGET ${SBX_MACOS_ARCH}-apple-macos13.0)
set(CMAKE_AR ${_sbx_llvm}/llvm-ar CACHE FILEPATH "")
set(CMAKE_RANLIB ${_sbx_llvm}/llvm-ranlib CACHE FILEPATH "")
set(CMAKE_STRIP ${_sbx_llvm}/llvm-strip CACHE FILEPATH "")
set(CMAKE_INSTALL_NAME_TOOL ${_sbx_llvm}/llvm-install-name-tool CACHE FILEPATH "")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-fuse-ld=lld")
set(CMAKE_SHARED_LINKER_FLAGS "-fuse-ld=lld" CACHE STRING "Of libraries" FORCE)

set(CMAKE_FIND_ROOT_PATH ${SBX_CROSS_PREFIX})
include(${CMAKE_CURRENT_LIST_DIR}/cross_prefix.cmake)
