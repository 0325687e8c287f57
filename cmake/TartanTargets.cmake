# SPDX-License-Identifier: Apache-2.0
# What a library's headers are found from, here and where they are installed.
set(TARTAN_INCLUDE_DIRS $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}>
    $<INSTALL_INTERFACE:include/tartan>)

set(tartan_common_deps absl::status absl::statusor absl::strings absl::span)
set(tartan_common_headers ${TARTAN_STANDARD_HEADERS} ${TARTAN_ABSL_HEADERS})
tartan_headers(tartan_headers_o2 HEADERS ${tartan_common_headers} DEPS ${tartan_common_deps})
tartan_headers(tartan_headers_o1 LEVEL -O1 HEADERS ${tartan_common_headers} DEPS ${tartan_common_deps})
tartan_headers(tartan_headers_cli LEVEL -O1 HEADERS ${tartan_common_headers} <CLI/CLI.hpp>
               DEPS ${tartan_common_deps} CLI11::CLI11)
if(TARTAN_BUILD_TESTS)
  tartan_headers(tartan_headers_tests PROGRAMS LEVEL -O0
                 HEADERS ${tartan_common_headers} <gmock/gmock.h> <gtest/gtest.h>
                 DEPS ${tartan_common_deps} GTest::gmock GTest::gtest)
endif()

# tartan_library(name [BUILD_FAST] [HEADERS set] SRCS a.cc b.cc DEPS x y): a static library; headers are found
# from the root. BUILD_FAST is for what writes texts and reads files: it is compiled more often than it is waited
# for. HEADERS names another set of precompiled headers than that of its level.
function(tartan_library name)
  cmake_parse_arguments(ARG "BUILD_FAST" "HEADERS" "SRCS;DEPS" ${ARGN})
  set(headers tartan_headers_o2)
  if(ARG_SRCS)
    add_library(${name} STATIC ${ARG_SRCS})
    target_include_directories(${name} PUBLIC ${TARTAN_INCLUDE_DIRS})
    target_compile_features(${name} PUBLIC cxx_std_20)
    target_compile_options(${name} PRIVATE ${TARTAN_WARNINGS})
    target_link_libraries(${name} PUBLIC ${ARG_DEPS})
    if(ARG_BUILD_FAST)
      target_compile_options(${name} PRIVATE -O1)
      set(headers tartan_headers_o1)
    endif()
    if(ARG_HEADERS)
      set(headers ${ARG_HEADERS})
    endif()
    tartan_use_headers(${name} ${headers})
  else()
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE ${TARTAN_INCLUDE_DIRS})
    target_link_libraries(${name} INTERFACE ${ARG_DEPS})
  endif()
endfunction()

# Sets `out` to today's number in [0, TARTAN_TEST_TURNS): the share of the long tests that runs.
function(tartan_turn out)
  string(TIMESTAMP seconds "%s" UTC)
  math(EXPR turn "${seconds} / 86400 % ${TARTAN_TEST_TURNS}")
  set(${out} ${turn} PARENT_SCOPE)
endfunction()

# tartan_test(name [SHARDS 2] [COST 100] SRCS a_test.cc b_test.cc DEPS x y [ARGS ...]): one gtest program. It is
# one ctest entry, or as many as SHARDS says, each of which runs its share of the tests: for programs that take
# long. COST, in seconds, lets ctest start long entries first where it has not timed them yet. A test of 40
# seconds or more takes TARTAN_TEST_TURNS days to run all of its cases.
function(tartan_test name)
  cmake_parse_arguments(ARG "" "SHARDS;COST" "SRCS;DEPS;ARGS" ${ARGN})
  if(NOT ARG_COST)
    set(ARG_COST 0)
  endif()
  add_executable(${name} ${ARG_SRCS})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  # Tests are compiled more often than they are waited for: without optimisation in a third less time.
  target_compile_options(${name} PRIVATE ${TARTAN_WARNINGS} -O0)
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gmock GTest::gtest GTest::gtest_main)
  tartan_use_headers(${name} tartan_headers_tests)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  # Tests never touch the user's caches, and verify what each pass of the compiler leaves.
  set(environment "TARTAN_CACHE_DIR=${PROJECT_BINARY_DIR}/test-cache/tartan"
      "POCL_CACHE_DIR=${PROJECT_BINARY_DIR}/test-cache/pocl" "TARTAN_SOURCE_DIR=${PROJECT_SOURCE_DIR}"
      "TARTAN_BINARY_DIR=${PROJECT_BINARY_DIR}" "TARTAN_VERIFY_PASSES=1" "TARTAN_POISON=1"
      "TARTAN_CHECK_SHAPES=1" "TARTAN_CHECK_SWAP=1")
  set(turn 0)
  set(turns 1)
  if(ARG_COST GREATER_EQUAL 40)
    set(turns ${TARTAN_TEST_TURNS})
    tartan_turn(turn)
  endif()
  set(shards 1)
  if(ARG_SHARDS)
    set(shards ${ARG_SHARDS})
  endif()
  math(EXPR total "${shards} * ${turns}")
  math(EXPR last "${shards} - 1")
  foreach(shard RANGE ${last})
    set(entry ${name})
    if(ARG_SHARDS)
      set(entry ${name}_${shard})
    endif()
    math(EXPR index "${turn} * ${shards} + ${shard}")
    add_test(NAME ${entry} COMMAND ${name} ${ARG_ARGS} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(${entry} PROPERTIES COST ${ARG_COST} ENVIRONMENT
      "${environment};GTEST_TOTAL_SHARDS=${total};GTEST_SHARD_INDEX=${index}")
  endforeach()
endfunction()
