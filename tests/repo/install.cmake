# SPDX-License-Identifier: Apache-2.0
# cmake -DSOURCE_DIR=... -DBINARY_DIR=... -DCXX=... -P install.cmake: builds a project against the
# installed Tartan and runs a model with it.
cmake_policy(VERSION 3.22)
set(scratch ${BINARY_DIR}/install-test)
file(REMOVE_RECURSE ${scratch})

function(run what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_VARIABLE errors)
  if(failed)
    message(FATAL_ERROR "${what} failed (${failed}):\n${output}${errors}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

run("Installing" ${CMAKE_COMMAND} --install ${BINARY_DIR} --component development
    --prefix ${scratch}/prefix)
# Installed files must not refer to the source or build folders.
file(GLOB_RECURSE scripts ${scratch}/prefix/*.cmake)
foreach(script IN LISTS scripts)
  file(READ ${script} text)
  string(FIND "${text}" "${SOURCE_DIR}/" place)
  if(NOT place EQUAL -1)
    message(FATAL_ERROR "${script} names a file of ${SOURCE_DIR}")
  endif()
endforeach()

run("Configuring the example" ${CMAKE_COMMAND} -S ${SOURCE_DIR}/examples/find_package
    -B ${scratch}/build -DCMAKE_PREFIX_PATH=${scratch}/prefix -DCMAKE_CXX_COMPILER=${CXX})
run("Building the example" ${CMAKE_COMMAND} --build ${scratch}/build)
run("Running the example" ${scratch}/build/run_model ${SOURCE_DIR}/examples/digits/digits.onnx)
if(NOT output MATCHES "^scores: float32\\[1, 10\\]\n  [01]\\.[0-9]+\n")
  message(FATAL_ERROR "The example says:\n${output}")
endif()
file(REMOVE_RECURSE ${scratch})
