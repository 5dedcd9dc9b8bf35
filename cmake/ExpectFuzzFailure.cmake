# Runs a fuzzer that holds a planted bug and fails unless the bug was found and the message says how to replay it: a
# fuzzing set-up that cannot fail would pass every decoder.
execute_process(COMMAND ${PROGRAM} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(status EQUAL 0)
  message(FATAL_ERROR "the planted bug was not found:\n${output}")
endif()
if(NOT output MATCHES "replay: ")
  message(FATAL_ERROR "the bug was found, but the output does not say how to replay it:\n${output}")
endif()
message(STATUS "found, as it must be (${status})")
