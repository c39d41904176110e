# Run by CPack when the files of a package are in its staging directory: for the .deb they are brought into Debian's order.
# The text files of Debian's own come from installer/linux/debian.
if(NOT CPACK_GENERATOR STREQUAL "DEB")
  return()
endif()
set(root ${CPACK_TEMPORARY_DIRECTORY})
set(doc ${root}/usr/share/doc/sbx)
set(debian ${CMAKE_CURRENT_LIST_DIR}/../installer/linux/debian)

# gzip -n: neither name nor time.
function(compress)
  execute_process(COMMAND gzip -9 -n -f -- ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# Settings are below /etc, and Debian has the licence already.
file(RENAME ${root}/usr/etc ${root}/etc)
file(REMOVE ${doc}/LICENSE)
file(COPY ${debian}/copyright DESTINATION ${doc})
file(RENAME ${doc}/CHANGELOG.md ${doc}/changelog)
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC) # of SOURCE_DATE_EPOCH
file(WRITE ${doc}/changelog.Debian
"sbx (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium

  * Version ${CPACK_PACKAGE_VERSION}: see changelog.gz.

 -- ${CPACK_DEBIAN_PACKAGE_MAINTAINER}  ${date}
")
compress(${doc}/changelog ${doc}/changelog.Debian)

file(GLOB pages ${root}/usr/share/man/man*/*)
compress(${pages})
# zsh of Debian looks here; /usr/share/zsh/site-functions is the administrator's.
file(RENAME ${root}/usr/share/zsh/site-functions ${root}/usr/share/zsh/vendor-completions)
file(COPY ${debian}/lintian-overrides DESTINATION ${root}/usr/share/lintian/overrides)
file(RENAME ${root}/usr/share/lintian/overrides/lintian-overrides ${root}/usr/share/lintian/overrides/sbx)
