# SPDX-License-Identifier: Apache-2.0
# cmake -DSOURCE_DIR=... -P top_level.cmake: checks that all files under version control are in the
# expected top-level folders. Passes with a message if the sources are not a git checkout.
cmake_policy(VERSION 3.22)
set(allowed
  .ci .clang-format .clang-tidy .gitignore CHANGELOG.md CMakeLists.txt CONTRIBUTING.md LICENSE README.md SECURITY.md
  backend_opencl bench cmake distributed docs examples frontend hal proto pyproject.toml python scripts tests tile)

find_program(git git)
if(git)
  execute_process(COMMAND ${git} -C ${SOURCE_DIR} ls-files
                  OUTPUT_VARIABLE files RESULT_VARIABLE failed ERROR_QUIET)
endif()
if(NOT git OR failed)
  message(STATUS "Not a git checkout: nothing to check.")
  return()
endif()

string(REGEX REPLACE "\n$" "" files "${files}")
string(REPLACE "\n" ";" files "${files}")
set(strangers)
foreach(file IN LISTS files)
  string(REGEX REPLACE "/.*" "" top "${file}")
  if(NOT top IN_LIST allowed)
    list(APPEND strangers ${file})
  endif()
endforeach()
if(strangers)
  message(FATAL_ERROR "These files are in a place where no file belongs: ${strangers}")
endif()
