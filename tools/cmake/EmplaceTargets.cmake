# emplace_library(NAME SOURCES ... [DEPS ...] [PRIVATE_DEPS ...])   a static library and its alias emplace::<rest of NAME>
# emplace_program(NAME SOURCES ... [DEPS ...])                      a binary in build/bin/
# emplace_bench(NAME SOURCES ... [DEPS ...])                        a program over the harness of tools/bench, in build/bin/
# emplace_test(NAME SOURCES ... [DEPS ...] [LABELS ...])            one GoogleTest binary, one ctest entry per case
# emplace_fuzz(NAME [FRAMES] [DEPS ...])                            NAME_fuzz.cc as a libFuzzer program, or as a ctest entry
#                                                                   that replays its committed inputs (tests/fuzz)

add_library(emplace_warnings INTERFACE)
target_compile_options(emplace_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast -Wnon-virtual-dtor
  -Woverloaded-virtual -Wcast-align -Wdouble-promotion -Wformat=2 -Werror)
# g++ 12 reports these inside the standard library at -O2 (GCC bugs 105562, 105651).
target_compile_options(emplace_warnings INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict -Wno-maybe-uninitialized>)
# Where a template's two parameters are one type, clang takes the comparison of their constants for a slip.
target_compile_options(emplace_warnings INTERFACE $<$<CXX_COMPILER_ID:Clang>:-Wno-tautological-compare>)

function(emplace_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;PRIVATE_DEPS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  string(REPLACE "emplace_" "emplace::" alias ${name})
  add_library(${alias} ALIAS ${name})
  # Includes start at the repository root.
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${ARG_DEPS} PRIVATE ${ARG_PRIVATE_DEPS} emplace_warnings)
endfunction()

function(emplace_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} emplace_warnings)
endfunction()

function(emplace_bench name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  emplace_program(${name} SOURCES ${ARG_SOURCES} DEPS ${ARG_DEPS} emplace::bench_harness)
endfunction()

# Variables that the sanitizers want of a test, as the value of its property ENVIRONMENT; empty: none.
set(EMPLACE_TEST_ENVIRONMENT "")
if(EMPLACE_SANITIZER STREQUAL "thread")
  # libzmq and libstdc++ are not instrumented: their own synchronization would be reported as missing.
  set(EMPLACE_TEST_ENVIRONMENT TSAN_OPTIONS=ignore_noninstrumented_modules=1)
endif()

function(emplace_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} emplace_warnings GTest::gtest GTest::gmock GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  # An empty value would drop out and shift the pairs after it, so what has none is left out.
  set(properties TIMEOUT 600)
  if(ARG_LABELS)
    list(APPEND properties LABELS "${ARG_LABELS}")
  endif()
  if(EMPLACE_TEST_ENVIRONMENT)
    list(APPEND properties ENVIRONMENT ${EMPLACE_TEST_ENVIRONMENT})
  endif()
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 120 PROPERTIES ${properties})
endfunction()

function(emplace_fuzz name)
  cmake_parse_arguments(ARG "FRAMES" "" "DEPS" ${ARGN})
  set(program ${name}_fuzz)
  add_executable(${program} ${program}.cc)
  target_link_libraries(${program} PRIVATE emplace::fuzz_support ${ARG_DEPS} emplace_warnings)
  set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzz)
  if(EMPLACE_FUZZ)
    if(ARG_FRAMES)
      target_sources(${program} PRIVATE frame_mutator.cc)
    endif()
    target_link_options(${program} PRIVATE -fsanitize=fuzzer)
    add_dependencies(fuzz_targets ${program})
  else()
    target_sources(${program} PRIVATE replay_main.cc)
    set(folders ${CMAKE_CURRENT_SOURCE_DIR}/corpus/${name})
    if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/regressions/${name})
      list(APPEND folders ${CMAKE_CURRENT_SOURCE_DIR}/regressions/${name})
    endif()
    add_test(NAME FuzzReplay.${name} COMMAND ${program} ${folders})
    set_tests_properties(FuzzReplay.${name} PROPERTIES TIMEOUT 600)
    if(EMPLACE_TEST_ENVIRONMENT)
      set_tests_properties(FuzzReplay.${name} PROPERTIES ENVIRONMENT ${EMPLACE_TEST_ENVIRONMENT})
    endif()
  endif()
endfunction()
