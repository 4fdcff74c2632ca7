include(GNUInstallDirs)

# Several sources are compiled as one: most of a compiler's time goes into headers, so eight together take half as long
# as separately, or less. So names in unnamed namespaces must differ within a target; if two cannot, list one of the
# files in set_source_files_properties(... PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON). Off with -D ERIS_UNITY=OFF, for
# work on one file.
function(eris_unity target)
  if(ERIS_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
endfunction()

# Not optimised with the address sanitizer, where that takes half of the compiler's time: for code that waits for
# sockets, and tests whose time is spent in compiled libraries. Templates that a test instantiates become several
# times slower.
function(eris_brief target)
  if("address" IN_LIST ERIS_SANITIZE)
    target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O0>)
  endif()
endfunction()

# eris_cc_library(NAME memory HDRS a.h SRCS a.cc DEPS eris::base [BRIEF])
# One library per folder, linked by its eris:: name; the DEPS lists show the layers. BRIEF: see eris_brief.
# tools/dev/headers_alone.py checks that each header compiles alone.
function(eris_cc_library)
  cmake_parse_arguments(ARG "BRIEF" "NAME" "HDRS;SRCS;DEPS" ${ARGN})
  set(target eris_${ARG_NAME})
  if(ARG_SRCS)
    add_library(${target} STATIC ${ARG_SRCS} ${ARG_HDRS})
    eris_unity(${target})
    if(ARG_BRIEF)
      eris_brief(${target})
    endif()
    target_link_libraries(${target} PUBLIC ${ARG_DEPS} PRIVATE eris::flags)
    set(scope PUBLIC)
  else()
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE ${ARG_DEPS})
    set(scope INTERFACE)
  endif()
  target_include_directories(${target} ${scope}
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
  add_library(eris::${ARG_NAME} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${ARG_NAME})
endfunction()

# eris_cc_tests(NAME storage LABEL unit SRCS prefix_tree_test.cc storage_fixture.h ... DEPS ...
#               [THREADED file...] [OPTIMISED file...] [TIMEOUTS file seconds ...] [ALONE file...] [SEPARATE] [BRIEF] [PARTS])
# One program, <NAME>_tests, and a ctest entry for each source that ends in _test.cc: it runs that
# file's tests alone (--file=, tests/support/test_main.cc), so that a crash ends no other file's.
# THREADED: tests that start a second thread. They have the label `threads` and are all that the thread
# sanitizer's tree builds; tests/support/test_main.cc fails where the list is wrong.
# OPTIMISED: compiled like the libraries, for a test whose own code computes much.
# BRIEF: see eris_brief.
# ALONE: compiled by themselves, since names in them are those of others; SEPARATE: so are all.
# PARTS: the entries are added by the caller, with eris_cc_test_entry.
function(eris_cc_tests)
  cmake_parse_arguments(ARG "PARTS;SEPARATE;BRIEF" "NAME;LABEL" "SRCS;DEPS;THREADED;OPTIMISED;TIMEOUTS;ALONE" ${ARGN})
  foreach(source IN LISTS ARG_THREADED ARG_OPTIMISED)
    if(NOT source IN_LIST ARG_SRCS)
      message(FATAL_ERROR "${ARG_NAME}_tests: ${source} is not one of its sources")
    endif()
  endforeach()
  set(tests ${ARG_SRCS})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  if("thread" IN_LIST ERIS_SANITIZE)
    set(alone ${tests})
    list(REMOVE_ITEM alone ${ARG_THREADED} "")
    list(REMOVE_ITEM ARG_SRCS ${alone} "")
    set(tests ${ARG_THREADED})
    if(NOT tests)
      return()
    endif()
  endif()
  set(program ${ARG_NAME}_tests)
  add_executable(${program} ${ARG_SRCS})
  if(NOT ARG_SEPARATE)
    eris_unity(${program})
  endif()
  if(ARG_ALONE)
    set_source_files_properties(${ARG_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
  set_target_properties(${program} PROPERTIES ERIS_ONLY_CHECKS ON)
  target_link_libraries(${program} PRIVATE ${ARG_DEPS} eris_test_main eris::check_flags)
  target_include_directories(${program} PRIVATE ${PROJECT_SOURCE_DIR})
  if(ARG_BRIEF)
    eris_brief(${program})
  endif()
  if(ARG_OPTIMISED)
    # After the target's own flags: the last one counts.
    set(optimised -O2)
    if(ERIS_SANITIZE)
      set(optimised -O1)
    endif()
    set_source_files_properties(${ARG_OPTIMISED} PROPERTIES COMPILE_OPTIONS $<$<CONFIG:RelWithDebInfo>:${optimised}>)
  endif()
  if(ARG_PARTS)
    return()
  endif()
  foreach(source IN LISTS tests)
    cmake_path(GET source STEM name)
    set(timeout 120)
    list(FIND ARG_TIMEOUTS ${source} at)
    if(at GREATER -1)
      math(EXPR at "${at} + 1")
      list(GET ARG_TIMEOUTS ${at} timeout)
    endif()
    set(threads none)
    if(source IN_LIST ARG_THREADED)
      set(threads some)
    endif()
    eris_cc_test_entry(NAME ${ARG_NAME}_${name} PROGRAM ${program} LABEL ${ARG_LABEL} THREADS ${threads}
      TIMEOUT ${timeout} ARGS --file=${source})
  endforeach()
endfunction()

# eris_cc_test_entry(NAME storage_prefix_tree_test PROGRAM storage_tests LABEL unit THREADS none|some
#                    TIMEOUT seconds ARGS --file=prefix_tree_test.cc [ENVIRONMENT name=value...])
function(eris_cc_test_entry)
  cmake_parse_arguments(ARG "" "NAME;PROGRAM;LABEL;THREADS;TIMEOUT" "ARGS;ENVIRONMENT" ${ARGN})
  set(labels ${ARG_LABEL})
  if(ARG_THREADS STREQUAL some)
    list(APPEND labels threads)
  endif()
  add_test(NAME ${ARG_NAME} COMMAND ${ARG_PROGRAM} ${ARG_ARGS})
  set_tests_properties(${ARG_NAME} PROPERTIES LABELS "${labels}" TIMEOUT ${ARG_TIMEOUT}
    ENVIRONMENT "ERIS_TEST_NAME=${ARG_NAME};ERIS_TEST_THREADS=${ARG_THREADS};${ARG_ENVIRONMENT}")
endfunction()

# eris_planted_fault(NAME SOURCE path FOR server DEPS eris::server_rpc TEST Suite.Test)
# Shows that a test of <FOR>_tests finds a fault. SOURCE is compiled with ERIS_PLANTED_<NAME> and stands before the library's own, and then
# the test has to fail, or to be ended by a check whose text CHECK matches. The library must compile SOURCE by itself
# (SKIP_UNITY_BUILD_INCLUSION). Not in the thread sanitizer's tree, which has not all tests.
function(eris_planted_fault)
  cmake_parse_arguments(ARG "" "NAME;SOURCE;FOR;TEST;CHECK" "DEPS" ${ARGN})
  if("thread" IN_LIST ERIS_SANITIZE)
    return()
  endif()
  set(program planted_${ARG_NAME})
  add_library(${program}_fault OBJECT ${PROJECT_SOURCE_DIR}/${ARG_SOURCE})
  target_link_libraries(${program}_fault PRIVATE ${ARG_DEPS} eris::flags)
  string(TOUPPER ERIS_PLANTED_${ARG_NAME} definition)
  target_compile_definitions(${program}_fault PRIVATE ${definition})
  add_executable(${program} $<TARGET_OBJECTS:${program}_fault> $<TARGET_OBJECTS:${ARG_FOR}_tests>)
  target_link_libraries(${program} PRIVATE $<TARGET_PROPERTY:${ARG_FOR}_tests,LINK_LIBRARIES>)
  set_target_properties(${program} PROPERTIES ERIS_ONLY_CHECKS ON LINKER_LANGUAGE CXX)
  set(found "\\[  FAILED  \\] ${ARG_TEST}")
  if(ARG_CHECK)
    list(APPEND found "${ARG_CHECK}")
  endif()
  # By way of a shell: a program that a check has ended would count as failed, whatever it has printed.
  add_test(NAME finds_${ARG_NAME} COMMAND sh -c "\"$0\" \"$@\" || true" $<TARGET_FILE:${program}> --gtest_filter=${ARG_TEST})
  set_tests_properties(finds_${ARG_NAME} PROPERTIES LABELS unit TIMEOUT 120 ENVIRONMENT "GTEST_OUTPUT=;ERIS_TEST_REPORTS="
    PASS_REGULAR_EXPRESSION "${found}")
endfunction()

# eris_cc_bench(NAME prefix_tree_bench SRCS ... DEPS ...)
function(eris_cc_bench)
  cmake_parse_arguments(ARG "" "NAME" "SRCS;DEPS" ${ARGN})
  add_executable(${ARG_NAME} ${ARG_SRCS})
  target_link_libraries(${ARG_NAME} PRIVATE ${ARG_DEPS} eris::check_flags)
  target_include_directories(${ARG_NAME} PRIVATE ${PROJECT_SOURCE_DIR})
endfunction()
