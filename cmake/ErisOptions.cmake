# Compile flags, each with its reason.
option(ERIS_DCHECKS "Compile ERIS_DCHECK in (hot-path invariants)" ON)

add_library(eris_flags INTERFACE)
add_library(eris::flags ALIAS eris_flags)
target_compile_options(eris_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor
  -Werror=switch  # a new value of an enum stops the build where it has no case
  -fno-omit-frame-pointer)  # profiles and sanitizer reports need whole stacks
if(ERIS_DCHECKS)
  target_compile_definitions(eris_flags INTERFACE ERIS_DCHECKS=1)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # g++ ignores the annotations, so this build is the one that checks them.
  target_compile_options(eris_flags INTERFACE -Wthread-safety -Werror=thread-safety)
endif()
# Flags for targets that only check or measure: half of a build's time goes into the tests' own code, which runs only
# for seconds. For measurements there is the release build, to which this adds nothing.
add_library(eris_check_flags INTERFACE)
add_library(eris::check_flags ALIAS eris_check_flags)
target_link_libraries(eris_check_flags INTERFACE eris::flags)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(eris_check_flags INTERFACE $<$<CONFIG:RelWithDebInfo>:-Og> $<$<CONFIG:RelWithDebInfo>:-g1>)
endif()
foreach(sanitizer IN LISTS ERIS_SANITIZE)
  target_compile_options(eris_flags INTERFACE -fsanitize=${sanitizer})
  # g++ and clang indicate in different ways which sanitizer is in use.
  if(sanitizer STREQUAL "address")
    target_compile_definitions(eris_flags INTERFACE ERIS_ASAN=1)
  elseif(sanitizer STREQUAL "thread")
    target_compile_definitions(eris_flags INTERFACE ERIS_TSAN=1)
  endif()
  target_link_options(eris_flags INTERFACE -fsanitize=${sanitizer})
  if(sanitizer STREQUAL "undefined")
    # A report must fail the test, not only be printed.
    target_compile_options(eris_flags INTERFACE -fno-sanitize-recover=undefined)
    # Checks of every pointer nearly double the tests' compile time; the code that tests call has them.
    target_compile_options(eris_flags INTERFACE
      $<$<BOOL:$<TARGET_PROPERTY:ERIS_ONLY_CHECKS>>:-fno-sanitize=null,alignment,vptr,pointer-overflow>)
  endif()
endforeach()
if(ERIS_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "ERIS_FUZZ needs clang: g++ has no libFuzzer")
  endif()
  # All code counts what it runs, so that the fuzzer sees which inputs lead to new code. It does not count comparisons:
  # that doubles the time, and inputs are commands, not texts with words to guess.
  # What a test runs itself is no news to the fuzzer.
  target_compile_options(eris_flags INTERFACE
    $<$<NOT:$<BOOL:$<TARGET_PROPERTY:ERIS_ONLY_CHECKS>>>:-fsanitize-coverage=inline-8bit-counters,pc-table>)
endif()

find_program(ERIS_CCACHE ccache)
if(ERIS_CCACHE)
  # Relative to the tree, and without the compile folder: another clone finds the same objects.
  set(ERIS_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}
    CCACHE_NOHASHDIR=1 ${ERIS_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${ERIS_COMPILER_LAUNCHER})
  set(CMAKE_C_COMPILER_LAUNCHER ${ERIS_COMPILER_LAUNCHER})
endif()
