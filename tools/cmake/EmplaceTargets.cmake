# emplace_library(NAME SOURCES ... [DEPS ...] [PRIVATE_DEPS ...])   a static library and its alias emplace::<rest of NAME>
# emplace_executable(NAME SOURCES ... [DEPS ...])                   a binary in build/bin/, which tests and developers call
# emplace_program(NAME SOURCES ... [DEPS ...])                      the same, which users call: the target `programs` builds it
# emplace_bench(NAME SOURCES ... [DEPS ...])                        a program over the harness of tools/bench, in build/bin/
# emplace_test(NAME SOURCES ... [DEPS ...] [LABEL ...])            one GoogleTest binary, one ctest entry per case
#   TORCH, after the name of any of these: its files include LibTorch
# emplace_script_test(NAME COMMAND ... [LABEL ...] [SERIAL] [LONG] [BUILDS])
#                                                                   one ctest entry: a script; exit code 77 means skipped; SERIAL:
#                                                                   nothing else runs beside it; LONG: it is begun before others;
#                                                                   BUILDS: it configures, builds or installs in the build folder,
#                                                                   as one test at a time may
# emplace_fuzz(NAME [FRAMES] [DEPS ...])                            NAME_fuzz.cc as a ctest entry that replays its committed
#                                                                   inputs, and in the preset `asan` as a libFuzzer program
#
# A test has one label, which says what it needs and so when it runs (tests/README.md): fast (nothing; the default), threads
# (nothing; it runs under the thread sanitizer too), torch, process (programs in build/bin), cluster (minutes, often root).

add_library(emplace_warnings INTERFACE)
target_compile_options(emplace_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast -Wnon-virtual-dtor
  -Woverloaded-virtual -Wcast-align -Wdouble-promotion -Wformat=2 $<$<BOOL:${EMPLACE_WERROR}>:-Werror>)
# g++ 12 reports these inside the standard library at -O2 (GCC bugs 105562, 105651).
target_compile_options(emplace_warnings INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict -Wno-maybe-uninitialized>)
# clang takes for slips: a comparison of constants where a template's two parameters are one type, and a list of one output, {8}.
target_compile_options(emplace_warnings INTERFACE $<$<CXX_COMPILER_ID:Clang>:-Wno-tautological-compare;-Wno-braced-scalar-init>)
# It checks what common/threads/mutex.h annotates: which mutex a member needs.
target_compile_options(emplace_warnings INTERFACE $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>)

# Where a sanitizer is at work, only what takes most of a test's time is worth the optimizer's: it is slow on such code. And what
# tests are made of is not to count among what a fuzz target has reached.
function(emplace_compile_for_sanitizer name)
  if(EMPLACE_SANITIZER AND NOT CMAKE_CURRENT_SOURCE_DIR MATCHES "/(common|simulator|policy|tests/support)$|/(policy|simulator)/")
    target_compile_options(${name} PRIVATE -O0)
  endif()
  if(EMPLACE_SANITIZER STREQUAL "address" AND CMAKE_CURRENT_SOURCE_DIR MATCHES "/tests/")
    target_compile_options(${name} PRIVATE -fno-sanitize=fuzzer-no-link)
  endif()
endfunction()

function(emplace_mark_torch name)
  set_target_properties(${name} PROPERTIES JOB_POOL_COMPILE torch)
endfunction()

function(emplace_library name)
  cmake_parse_arguments(ARG "TORCH" "" "SOURCES;DEPS;PRIVATE_DEPS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  string(REPLACE "emplace_" "emplace::" alias ${name})
  add_library(${alias} ALIAS ${name})
  # Includes start at the repository root.
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${ARG_DEPS} PRIVATE ${ARG_PRIVATE_DEPS} emplace_warnings)
  emplace_compile_for_sanitizer(${name})
  if(ARG_TORCH)
    emplace_mark_torch(${name})
  endif()
endfunction()

# Also what emplace_program, emplace_bench and emplace_test have in common: `ARGN` is theirs, without what only a test has.
function(emplace_executable name)
  cmake_parse_arguments(ARG "TORCH" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} emplace_warnings)
  if(ARG_TORCH)
    emplace_mark_torch(${name})
  endif()
endfunction()

function(emplace_program name)
  emplace_executable(${name} ${ARGN})
  add_dependencies(programs ${name})
endfunction()

function(emplace_bench name)
  emplace_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE emplace::bench_harness)
endfunction()

# Variables that the sanitizers want of a test, as the value of its property ENVIRONMENT; empty: none.
set(EMPLACE_TEST_ENVIRONMENT "")
if(EMPLACE_SANITIZER STREQUAL "thread")
  # libzmq and libstdc++ are not instrumented: their own synchronization would be reported as missing.
  set(EMPLACE_TEST_ENVIRONMENT TSAN_OPTIONS=ignore_noninstrumented_modules=1)
endif()

# What `tests/run.sh` builds of the programs, for --quick, and for the thread sanitizer.
add_custom_target(programs)
add_custom_target(fast_tests)
add_custom_target(thread_tests)

# Sets `properties` of a test with this label in the caller's scope.
function(emplace_test_properties label)
  # An empty value would drop out and shift the pairs after it, so what has none is left out.
  set(properties TIMEOUT 900 LABELS ${label})
  if(EMPLACE_TEST_ENVIRONMENT)
    list(APPEND properties ENVIRONMENT ${EMPLACE_TEST_ENVIRONMENT})
  endif()
  set(properties ${properties} PARENT_SCOPE)
endfunction()

function(emplace_test name)
  cmake_parse_arguments(ARG "TORCH" "LABEL" "" ${ARGN})
  if(ARG_TORCH)
    list(APPEND ARG_UNPARSED_ARGUMENTS TORCH)
    set(ARG_LABEL torch)
  elseif(NOT ARG_LABEL)
    set(ARG_LABEL fast)
  endif()
  emplace_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE GTest::gtest GTest::gmock GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  emplace_compile_for_sanitizer(${name})
  if(NOT EMPLACE_SANITIZER)
    # Tests' own code runs for moments: the optimizer would take longer than it saves. What is left to do for a compiler
    # is mostly to read headers, so it does that for more files at once.
    target_compile_options(${name} PRIVATE -O0)
    set_target_properties(${name} PROPERTIES UNITY_BUILD_BATCH_SIZE 24)
  endif()
  emplace_test_properties(${ARG_LABEL})
  if(ARG_LABEL MATCHES "fast|threads")
    add_dependencies(fast_tests ${name})
  endif()
  if(ARG_LABEL STREQUAL threads)
    add_dependencies(thread_tests ${name})
  endif()
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 120 PROPERTIES ${properties})
endfunction()

function(emplace_add_test name label)
  add_test(NAME ${name} COMMAND ${ARGN})
  emplace_test_properties(${label})
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 ${properties})
endfunction()

# A script is the same under a sanitizer, so it runs without one.
function(emplace_script_test name)
  cmake_parse_arguments(ARG "SERIAL;LONG;BUILDS" "LABEL" "COMMAND" ${ARGN})
  if(NOT ARG_LABEL)
    set(ARG_LABEL fast)
  endif()
  if(NOT EMPLACE_SANITIZER)
    emplace_add_test(${name} ${ARG_LABEL} ${ARG_COMMAND})
    set_tests_properties(${name} PROPERTIES RUN_SERIAL ${ARG_SERIAL})
    if(ARG_LONG)
      set_tests_properties(${name} PROPERTIES COST 1000)
    endif()
    if(ARG_BUILDS)
      set_tests_properties(${name} PROPERTIES RESOURCE_LOCK build_folder)
    endif()
  endif()
endfunction()

function(emplace_fuzz name)
  cmake_parse_arguments(ARG "FRAMES" "" "DEPS" ${ARGN})
  set(program ${name}_fuzz)
  set(folders ${CMAKE_CURRENT_SOURCE_DIR}/corpus/${name})
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/regressions/${name})
    list(APPEND folders ${CMAKE_CURRENT_SOURCE_DIR}/regressions/${name})
  endif()
  add_executable(${program} ${program}.cc)
  target_link_libraries(${program} PRIVATE emplace::fuzz_support ${ARG_DEPS} emplace_warnings)
  set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzz)
  if(EMPLACE_SANITIZER STREQUAL "address")
    if(ARG_FRAMES)
      target_sources(${program} PRIVATE frame_mutator.cc)
    endif()
    target_link_options(${program} PRIVATE -fsanitize=fuzzer)
    add_dependencies(fuzz_targets ${program})
    set(replay ${program} -runs=0 ${folders})
  else()
    target_sources(${program} PRIVATE replay_main.cc)
    add_dependencies(fast_tests ${program})
    set(replay ${program} ${folders})
  endif()
  emplace_add_test(FuzzReplay.${name} fast ${replay})
endfunction()
