# Helpers that declare the layers, programs, tests, fuzzers and benchmarks. Targets only: no global flags, no globs.

find_package(Threads REQUIRED)

# What every target of the tree must agree on: language, include folders, pass rule, sanitizers.
add_library(rain_usage INTERFACE)
target_compile_features(rain_usage INTERFACE cxx_std_20)
target_include_directories(rain_usage INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
if(RAIN_PASS_RULE)
  target_compile_definitions(rain_usage INTERFACE RAIN_PASS_RULE=1)
endif()
if(RAIN_SANITIZE)
  target_compile_options(rain_usage INTERFACE -fsanitize=${RAIN_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(rain_usage INTERFACE -fsanitize=${RAIN_SANITIZE})
endif()
if(RAIN_FUZZ)
  target_compile_options(rain_usage INTERFACE -fsanitize=fuzzer-no-link)
endif()

# How our own sources are compiled. Private to each target, so that users of the libraries keep their own warnings.
add_library(rain_options INTERFACE)
target_link_libraries(rain_options INTERFACE rain_usage)
target_compile_options(rain_options INTERFACE
  -Wall -Wextra -Wpedantic -Werror -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor -Woverloaded-virtual
  -Wimplicit-fallthrough -fno-omit-frame-pointer -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)

# Groups for building less than everything: what a user runs or links; what `./dev bench` and `./dev fuzz` run.
add_custom_target(programs)
add_custom_target(benchmarks)
add_custom_target(fuzzers)

# rain_layer(NAME [HEADERS_ONLY] [SOURCES ...] [DEPENDS layer-or-package ...])
# One folder under src/, linked only to the layers above it in the list of ARCHITECTURE.md.
function(rain_layer name)
  cmake_parse_arguments(ARG "HEADERS_ONLY" "" "SOURCES;DEPENDS" ${ARGN})
  if(ARG_HEADERS_ONLY)
    add_library(rain_${name} INTERFACE)
    target_compile_features(rain_${name} INTERFACE cxx_std_20)
    target_link_libraries(rain_${name} INTERFACE $<BUILD_INTERFACE:rain_usage> ${ARG_DEPENDS})
  else()
    add_library(rain_${name} STATIC ${ARG_SOURCES})
    target_compile_features(rain_${name} PUBLIC cxx_std_20)
    set_target_properties(rain_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_link_libraries(rain_${name} PUBLIC $<BUILD_INTERFACE:rain_usage> ${ARG_DEPENDS}
      PRIVATE $<BUILD_INTERFACE:rain_options>)
  endif()
  set_target_properties(rain_${name} PROPERTIES EXPORT_NAME ${name})
  add_library(rain::${name} ALIAS rain_${name})
endfunction()

# rain_program(NAME SOURCES ... DEPENDS ...): an executable that users run, built to <preset>/bin/NAME.
function(rain_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} rain_options)
  add_dependencies(programs ${name})
endfunction()

# rain_test(NAME SOURCES ... DEPENDS ...): one GoogleTest program per layer, its cases listed one by one to ctest.
function(rain_test name)
  if(NOT RAIN_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} rain_options GTest::gmock_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 300)
endfunction()

# rain_fuzzer(NAME SOURCES ... DEPENDS ...): a program around the two functions of tests/fuzz/fuzz.h. With RAIN_FUZZ it
# is driven by libFuzzer, in all other builds by a fixed number of mutations of its seeds, as the test `fuzz__NAME`.
function(rain_fuzzer name)
  cmake_parse_arguments(ARG "EXPECT_FAILURE" "" "SOURCES;DEPENDS" ${ARGN})
  set(target fuzz_${name})
  if(RAIN_FUZZ)
    add_executable(${target} ${ARG_SOURCES} ${PROJECT_SOURCE_DIR}/tests/fuzz/libfuzzer_main.cc)
    target_link_options(${target} PRIVATE -fsanitize=fuzzer)
  elseif(RAIN_TESTS)
    add_executable(${target} ${ARG_SOURCES} ${PROJECT_SOURCE_DIR}/tests/fuzz/smoke_main.cc)
    if(ARG_EXPECT_FAILURE)
      add_test(NAME fuzz__${name}_is_found COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:${target}>
        -P ${PROJECT_SOURCE_DIR}/cmake/ExpectFuzzFailure.cmake)
      set_tests_properties(fuzz__${name}_is_found PROPERTIES TIMEOUT 300)
    else()
      add_test(NAME fuzz__${name} COMMAND ${target})
      set_tests_properties(fuzz__${name} PROPERTIES TIMEOUT 300)
    endif()
  else()
    return()
  endif()
  add_dependencies(fuzzers ${target})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${target} PRIVATE ${ARG_DEPENDS} rain::base rain_options)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzz)
endfunction()

# rain_bench(NAME SOURCES ... DEPENDS ... [PLAIN]): a Google Benchmark program with its own BENCHMARK_MAIN(), or, with
# PLAIN, any program. `./dev bench` runs it without arguments. So that it cannot rot it is also the test `bench__NAME`:
# Google Benchmark is then told by its environment to measure almost nothing; a PLAIN program must look at
# RAIN_BENCH_SMOKE=1 itself. Both must print median and spread.
function(rain_bench name)
  cmake_parse_arguments(ARG "PLAIN" "" "SOURCES;DEPENDS" ${ARGN})
  if(NOT RAIN_BENCH)
    return()
  endif()
  add_executable(bench_${name} ${ARG_SOURCES})
  target_link_libraries(bench_${name} PRIVATE ${ARG_DEPENDS} rain_options)
  if(NOT ARG_PLAIN)
    target_link_libraries(bench_${name} PRIVATE benchmark::benchmark)
  endif()
  add_dependencies(benchmarks bench_${name})
  set_target_properties(bench_${name} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
  if(RAIN_TESTS)
    add_test(NAME bench__${name} COMMAND bench_${name})
    set_tests_properties(bench__${name} PROPERTIES TIMEOUT 300
      ENVIRONMENT "RAIN_BENCH_SMOKE=1;BENCHMARK_MIN_TIME=0.001;BENCHMARK_REPETITIONS=1")
  endif()
endfunction()
