# The kinds of things a CMakeLists.txt of this project declares: a room, a program, a unit test, a test
# of a program's command line, a fuzz target. SOURCES are relative to the caller, DEPS are targets.

# sbx_room(NAME base SOURCES a.c b.c DEPS sbx_x sbx::jansson)
# A room is one static library, sbx_<NAME>; whoever links it gets the room's own DEPS too.
function(sbx_room)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME" "SOURCES;DEPS")
  sbx_refuse_unparsed("sbx_room(${arg_NAME})" "${arg_UNPARSED_ARGUMENTS}")
  add_library(sbx_${arg_NAME} STATIC ${arg_SOURCES})
  target_link_libraries(sbx_${arg_NAME} PRIVATE sbx_flags PUBLIC ${arg_DEPS})
endfunction()

# sbx_program(NAME sbx SOURCES main_sbx.c DEPS sbx_cli)
# A program users get: it is installed and packaged. What else is shipped and built joins the target `shipped`.
function(sbx_program)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME" "SOURCES;DEPS")
  sbx_refuse_unparsed("sbx_program(${arg_NAME})" "${arg_UNPARSED_ARGUMENTS}")
  add_executable(${arg_NAME} ${arg_SOURCES})
  target_link_libraries(${arg_NAME} PRIVATE ${arg_DEPS} sbx_flags)
  # All programs land in <build>/bin, so that tests and scripts know where.
  set_target_properties(${arg_NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  install(TARGETS ${arg_NAME} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  if(CMAKE_SYSTEM_NAME STREQUAL "Linux" OR MINGW)
    # Which archives are linked in: the SBOM is made from it.
    target_link_options(${arg_NAME} PRIVATE "$<$<CONFIG:Release>:LINKER:-Map=$<TARGET_FILE:${arg_NAME}>.map>")
  endif()
  sbx_shipped(${arg_NAME})
endfunction()

# sbx_shipped(sbx ...): targets whose files are installed; packages are made after the target `shipped`.
function(sbx_shipped)
  if(NOT TARGET shipped)
    add_custom_target(shipped)
  endif()
  add_dependencies(shipped ${ARGN})
endfunction()

# sbx_unit_test(test_arena SOURCES test_arena.c DEPS sbx_base [ARGS a b] [TIMEOUT 60])
# One CUnit program (see tests/check.h) and one ctest entry. Cross-built programs run through the
# toolchain's emulator. Data is found by its name relative to the source root.
function(sbx_unit_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "SOURCES;DEPS;ARGS")
  sbx_refuse_unparsed("sbx_unit_test(${name})" "${arg_UNPARSED_ARGUMENTS}")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE sbx_check ${arg_DEPS} sbx_flags)
  sbx_test_directory(directory)
  add_test(NAME ${name} COMMAND ${name} ${arg_ARGS} WORKING_DIRECTORY ${directory})
  set_tests_properties(${name} PROPERTIES LABELS unit TIMEOUT ${arg_TIMEOUT} SKIP_RETURN_CODE 77)
endfunction()

# The program as it is shipped (build/linux-static), where a lane has built it: boxes are tried with it.
set(SBX_SHIPPED "" CACHE FILEPATH "An sbx for the tests of boxes instead of the one that is built here")

# sbx_cli_test(cli_help SCRIPT help.py [ARGS a b] [TIMEOUT 60] [SHIPPED])
# A Python script that runs the built sbx, or the shipped one, and prints TAP. It finds in its environment SBX (the program),
# SBX_RUNNER (what runs it: empty, or Wine for a cross-build) and SBX_PLATFORM (linux, darwin, windows).
function(sbx_cli_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "SHIPPED" "SCRIPT;TIMEOUT" "ARGS")
  sbx_refuse_unparsed("sbx_cli_test(${name})" "${arg_UNPARSED_ARGUMENTS}")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  find_package(Python3 COMPONENTS Interpreter REQUIRED)
  string(TOLOWER ${CMAKE_SYSTEM_NAME} platform)
  set(program $<TARGET_FILE:sbx>)
  if(arg_SHIPPED AND SBX_SHIPPED)
    set(program ${SBX_SHIPPED})
  endif()
  # -B: no __pycache__ in the source tree.
  add_test(NAME ${name}
           COMMAND ${Python3_EXECUTABLE} -B ${CMAKE_CURRENT_SOURCE_DIR}/${arg_SCRIPT} ${arg_ARGS}
           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS cli TIMEOUT ${arg_TIMEOUT} SKIP_RETURN_CODE 77
    ENVIRONMENT "SBX=${program};SBX_RUNNER=${CMAKE_CROSSCOMPILING_EMULATOR};SBX_PLATFORM=${platform}")
endfunction()

# sbx_fuzz(fuzz_toml SOURCES fuzz_toml.c DEPS sbx_policy CORPUS corpus/toml)
# With SBX_FUZZ: a libFuzzer program that ctest (label fuzz) runs for SBX_FUZZ_SECONDS; what it
# learns stays in the build tree, the kept corpus is only read. Without: the same target linked with
# tests/replay.c, which feeds it every kept file once (label unit), on every platform.
function(sbx_fuzz name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "CORPUS" "SOURCES;DEPS")
  sbx_refuse_unparsed("sbx_fuzz(${name})" "${arg_UNPARSED_ARGUMENTS}")
  set(corpus ${CMAKE_CURRENT_SOURCE_DIR}/${arg_CORPUS})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_DEPS} sbx_flags)
  if(NOT TARGET fuzz-targets)
    add_custom_target(fuzz-targets)
  endif()
  add_dependencies(fuzz-targets ${name})
  if(SBX_FUZZ)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    set(learned ${CMAKE_CURRENT_BINARY_DIR}/${name}.learned)
    set(crashes ${CMAKE_CURRENT_BINARY_DIR}/${name}.crashes)
    file(MAKE_DIRECTORY ${learned} ${crashes})
    add_test(NAME ${name}
             COMMAND ${name} -max_total_time=${SBX_FUZZ_SECONDS} -timeout=10 -rss_limit_mb=2048
                     -print_final_stats=1 -artifact_prefix=${crashes}/ ${learned} ${corpus})
    math(EXPR limit "${SBX_FUZZ_SECONDS} + 120")
    set_tests_properties(${name} PROPERTIES LABELS fuzz TIMEOUT ${limit})
  else()
    target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/replay.c)
    add_test(NAME ${name}_replay COMMAND ${name} ${corpus})
    set_tests_properties(${name}_replay PROPERTIES LABELS unit TIMEOUT 300)
  endif()
endfunction()

# Where unit tests run: the source root; for cross-built ones a copy of their data in the build tree.
# Wine has deleted a current directory for a test whose own clean-up went wrong.
function(sbx_test_directory out)
  set(directory ${PROJECT_SOURCE_DIR})
  if(CMAKE_CROSSCOMPILING)
    set(directory ${PROJECT_BINARY_DIR}/cwd)
    file(MAKE_DIRECTORY ${directory}/tests/golden)
    file(GLOB data CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/golden/*)
    file(COPY ${data} DESTINATION ${directory}/tests/golden)
  endif()
  set(${out} ${directory} PARENT_SCOPE)
endfunction()

# A misspelt keyword must not be dropped silently.
function(sbx_refuse_unparsed where rest)
  if(rest)
    message(FATAL_ERROR "${where}: unknown arguments: ${rest}")
  endif()
endfunction()
