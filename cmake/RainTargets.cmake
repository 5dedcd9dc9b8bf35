# Helpers that declare the layers, tests, fuzzers and benchmarks. Targets only: no global flags, no globs.

add_library(rain_options INTERFACE)
target_compile_features(rain_options INTERFACE cxx_std_20)
target_include_directories(rain_options INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
target_compile_options(rain_options INTERFACE
  -Wall -Wextra -Wpedantic -Werror -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor -Woverloaded-virtual
  -Wimplicit-fallthrough -fno-omit-frame-pointer)
if(RAIN_PASS_RULE)
  target_compile_definitions(rain_options INTERFACE RAIN_PASS_RULE=1)
endif()
if(RAIN_SANITIZE)
  target_compile_options(rain_options INTERFACE -fsanitize=${RAIN_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(rain_options INTERFACE -fsanitize=${RAIN_SANITIZE})
endif()
if(RAIN_FUZZ)
  target_compile_options(rain_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
find_package(Threads REQUIRED)

# rain_layer(NAME [HEADERS_ONLY] [SOURCES ...] [DEPENDS layer-or-package ...])
# One folder under src/, linked only to the layers above it in the list of ARCHITECTURE.md.
function(rain_layer name)
  cmake_parse_arguments(ARG "HEADERS_ONLY" "" "SOURCES;DEPENDS" ${ARGN})
  if(ARG_HEADERS_ONLY)
    add_library(rain_${name} INTERFACE)
    target_link_libraries(rain_${name} INTERFACE rain_options ${ARG_DEPENDS})
  else()
    add_library(rain_${name} STATIC ${ARG_SOURCES})
    set_target_properties(rain_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_link_libraries(rain_${name} PUBLIC rain_options ${ARG_DEPENDS})
  endif()
  add_library(rain::${name} ALIAS rain_${name})
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
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 300)
endfunction()
