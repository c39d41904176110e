# CPack runs this over what it has staged, after it stripped the programs (CPACK_PRE_BUILD_SCRIPTS).
file(GLOB_RECURSE programs ${CPACK_TEMPORARY_DIRECTORY}/*.exe ${CPACK_TEMPORARY_DIRECTORY}/*.dll)
foreach(program IN LISTS programs)
  execute_process(COMMAND ${CMAKE_CURRENT_LIST_DIR}/../scripts/package.d/sign ${program} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
