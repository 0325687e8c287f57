# SPDX-License-Identifier: Apache-2.0
# cmake -DSOURCE_DIR=... -P format.cmake: checks that sources are formatted by the clang-format of
# Debian 12 (other versions differ in details). Passes with a message if it is not installed or the
# sources are not a git checkout.
cmake_policy(VERSION 3.22)
find_program(formatter clang-format-14)
find_program(git git)
if(git)
  execute_process(COMMAND ${git} -C ${SOURCE_DIR} ls-files "*.h" "*.cc"
                  OUTPUT_VARIABLE files RESULT_VARIABLE failed ERROR_QUIET)
endif()
if(NOT formatter OR NOT git OR failed)
  message(STATUS "No clang-format-14 or no git checkout: nothing to check.")
  return()
endif()

string(REGEX REPLACE "\n$" "" files "${files}")
string(REPLACE "\n" ";" files "${files}")
execute_process(COMMAND ${formatter} --dry-run -Werror ${files}
                WORKING_DIRECTORY ${SOURCE_DIR} ERROR_VARIABLE offences RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "clang-format -i would change:\n${offences}")
endif()
