# What is installed next to the programs, and the archives `make package` writes. Same sources, same
# bytes: scripts/package sets SOURCE_DATE_EPOCH.
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES README.md CHANGELOG.md SECURITY.md CONTRIBUTING.md
        DESTINATION ${CMAKE_INSTALL_DOCDIR})
# With their folders, so that the links between them hold.
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN man EXCLUDE)

if(NOT WIN32)
  foreach(section IN ITEMS 1 5 8)
    file(GLOB pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/man/*.${section})
    install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
  endforeach()
endif()
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  # Where AppArmor lets only named programs make user namespaces; it does nothing elsewhere.
  install(FILES installer/linux/apparmor/sbx DESTINATION ${CMAKE_INSTALL_SYSCONFDIR}/apparmor.d)
  # Units of the service: those of the system, and in "user" those of a user's own. None is switched on.
  file(GLOB units CONFIGURE_DEPENDS installer/linux/systemd/*.service installer/linux/systemd/*.socket)
  file(GLOB user_units CONFIGURE_DEPENDS installer/linux/systemd/user/*.service installer/linux/systemd/user/*.socket)
  install(FILES ${units} DESTINATION lib/systemd/system)
  install(FILES ${user_units} DESTINATION lib/systemd/user)
endif()

# The completions are what the program itself prints, so they cannot differ from its option table.
if(TARGET sbx AND NOT CMAKE_CROSSCOMPILING)
  set(completions ${PROJECT_BINARY_DIR}/completions)
  file(MAKE_DIRECTORY ${completions})
  foreach(pair IN ITEMS "bash:sbx:bash-completion/completions" "zsh:_sbx:zsh/site-functions"
                        "fish:sbx.fish:fish/vendor_completions.d")
    string(REPLACE ":" ";" pair "${pair}")
    list(GET pair 0 shell)
    list(GET pair 1 name)
    list(GET pair 2 place)
    add_custom_command(OUTPUT ${completions}/${shell}/${name}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${completions}/${shell}
      COMMAND $<TARGET_FILE:sbx> completion ${shell} > ${completions}/${shell}/${name}
      DEPENDS sbx VERBATIM)
    list(APPEND completion_files ${completions}/${shell}/${name})
    install(FILES ${completions}/${shell}/${name} DESTINATION ${CMAKE_INSTALL_DATADIR}/${place})
  endforeach()
  add_custom_target(sbx_completions ALL DEPENDS ${completion_files})
  sbx_shipped(sbx_completions)
endif()

# What is linked into the programs is read from the linker's own list by scripts/package.d/sbom.
set(CPACK_PACKAGE_NAME sbx)
set(CPACK_PACKAGE_VENDOR sbx)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_THREADS 1)
# The programs and their papers; what belongs to a component of its own (dev) is not among them.
set(CPACK_INSTALL_CMAKE_PROJECTS "${PROJECT_BINARY_DIR};sbx;Unspecified;/")
string(TOLOWER "${CMAKE_SYSTEM_NAME}" system)
set(CPACK_PACKAGE_FILE_NAME sbx-${PROJECT_VERSION}-${system}-${CMAKE_SYSTEM_PROCESSOR})
if(WIN32)
  set(CPACK_GENERATOR ZIP)
  set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/package_sign.cmake)
elseif(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  set(CPACK_GENERATOR TGZ DEB)
  include(cmake/package_deb.cmake)
else()
  set(CPACK_GENERATOR TGZ)
endif()
include(CPack)
