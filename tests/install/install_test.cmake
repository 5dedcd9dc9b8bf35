# WAY=cmake or pkg_config: installs BUILD below FOLDER, moves the result, builds CONSUMER against it in that way, runs it.

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    string(REPLACE ";" " " command "${ARGN}")
    message(FATAL_ERROR "${command}\nfailed (${status}):\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

set(prefix ${FOLDER}/prefix)
file(REMOVE_RECURSE ${FOLDER})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${FOLDER}/elsewhere)
file(RENAME ${FOLDER}/elsewhere ${prefix})

# Nothing but the public headers and what they include.
file(GLOB_RECURSE headers RELATIVE ${prefix}/include ${prefix}/include/*)
list(SORT headers)
set(expected rain/base/drop_reasons.h rain/base/endpoint.h rain/base/ids.h rain/base/time.h
  rain/client.h rain/rpc.h rain/worker.h)
if(NOT headers STREQUAL expected)
  message(FATAL_ERROR "installed headers: ${headers}")
endif()

if(WAY STREQUAL "cmake")
  run(${CMAKE_COMMAND} -S ${CONSUMER} -B ${FOLDER}/build -G Ninja -DCMAKE_PREFIX_PATH=${prefix}
    -DCMAKE_CXX_COMPILER=${COMPILER} -DRAIN_VERSION=${VERSION})
  run(${CMAKE_COMMAND} --build ${FOLDER}/build)
  run(${FOLDER}/build/consumer)
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${CONSUMER} -B ${FOLDER}/refused -G Ninja
    -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_CXX_COMPILER=${COMPILER} -DRAIN_VERSION=99.0
    RESULT_VARIABLE status OUTPUT_QUIET ERROR_VARIABLE output)
  if(status EQUAL 0 OR NOT output MATCHES "99.0")
    message(FATAL_ERROR "version 99.0 was not refused: ${output}")
  endif()
else()
  set(ENV{PKG_CONFIG_PATH} ${prefix}/${LIBDIR}/pkgconfig)
  run(${PKG_CONFIG} --exact-version=${VERSION} rain)
  run(${PKG_CONFIG} --cflags --libs rain)
  separate_arguments(flags UNIX_COMMAND "${output}")
  run(${COMPILER} -std=c++20 ${CONSUMER}/consumer.cc ${flags} -o ${FOLDER}/consumer)
  run(${FOLDER}/consumer)
endif()
