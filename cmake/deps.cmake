# One alias sbx::<dep> per library we use. A CMake package (vcpkg, source builds) is tried first, then
# pkg-config: Debian's -dev packages ship only .pc files.

# What was found in another prefix than today's is forgotten.
if(NOT "${sbx_found_below}" STREQUAL "${SBX_CROSS_PREFIX}")
  get_cmake_property(cached CACHE_VARIABLES)
  foreach(variable IN LISTS cached)
    if(variable MATCHES "^(sbx_|pkgcfg_|__pkg_config_checked_)|_DIR$"
       AND NOT variable MATCHES "^(CMAKE_|sbx_BINARY_|sbx_SOURCE_)")
      unset(${variable} CACHE)
    endif()
  endforeach()
endif()
set(sbx_found_below "${SBX_CROSS_PREFIX}" CACHE INTERNAL "")

# Nothing but the system's own DLLs next to sbx.exe: MSYS2 has import libraries beside the static ones.
if(MINGW)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
endif()

# sbx_dependency(<dep> PACKAGE <config package> TARGETS <its targets, best first> PKGCONFIG <module>)
function(sbx_dependency name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PACKAGE;PKGCONFIG" "TARGETS")
  find_package(${arg_PACKAGE} CONFIG QUIET)
  foreach(target IN LISTS arg_TARGETS)
    if(TARGET ${target})
      set_target_properties(${target} PROPERTIES IMPORTED_GLOBAL TRUE)
      add_library(sbx::${name} ALIAS ${target})
      return()
    endif()
  endforeach()
  find_package(PkgConfig REQUIRED)
  pkg_check_modules(sbx_${name} REQUIRED QUIET IMPORTED_TARGET GLOBAL ${arg_PKGCONFIG})
  add_library(sbx::${name} ALIAS PkgConfig::sbx_${name})
endfunction()

sbx_dependency(jansson PACKAGE jansson TARGETS jansson::jansson PKGCONFIG jansson)
sbx_dependency(libuv PACKAGE libuv TARGETS libuv::uv_a uv_a libuv::uv PKGCONFIG libuv-static)
if(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND NOT SBX_STATIC) # only tools of the build link it
  sbx_dependency(libseccomp PACKAGE libseccomp TARGETS libseccomp::libseccomp PKGCONFIG libseccomp)
endif()
if(BUILD_TESTING)
  sbx_dependency(cunit PACKAGE unofficial-cunit TARGETS unofficial::cunit::cunit PKGCONFIG cunit)
endif()
