# The .deb: what CPack writes into its control part. Its files are those of every package, brought into Debian's order by
# cmake/package_deb_files.cmake.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE amd64)
elseif(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
endif()
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "the developers of sbx <sbx@localhost>")
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
# Static programs: nothing has to be there. bubblewrap is a second way to build a box.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "bubblewrap, apparmor")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"Runs a command with the files, the network, the variables and the limits that
a manifest allows, and with nothing else: namespaces, Landlock, seccomp and
control groups, read back from the kernel before the command starts. Where no
sandbox can be had, nothing runs.")
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA
  ${PROJECT_SOURCE_DIR}/installer/linux/debian/postinst ${PROJECT_SOURCE_DIR}/installer/linux/debian/prerm
  ${PROJECT_SOURCE_DIR}/installer/linux/debian/postrm ${PROJECT_SOURCE_DIR}/installer/linux/debian/conffiles
  ${PROJECT_SOURCE_DIR}/installer/linux/debian/triggers)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/package_deb_files.cmake)
