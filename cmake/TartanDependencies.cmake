# SPDX-License-Identifier: Apache-2.0
# Every package the build needs; a missing one is answered with the apt line that brings it.
function(tartan_require package apt)
  find_package(${package} ${ARGN} QUIET)
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "Tartan needs ${package}, which was not found. "
                        "On Debian or Ubuntu:  apt-get install ${apt}")
  endif()
  # find_package in a function keeps its result variables here: hand on those that are used.
  foreach(name IN ITEMS FOUND INCLUDE_DIRS LIBRARIES EXECUTABLE)
    set(${package}_${name} ${${package}_${name}} PARENT_SCOPE)
  endforeach()
endfunction()

find_package(Threads REQUIRED)
if(TARTAN_STATIC)
  include(TartanStatic)
endif()
# Not through the function: FindProtobuf defines macros and variables the caller needs.
find_package(Protobuf QUIET)
if(NOT Protobuf_FOUND)
  message(FATAL_ERROR "Tartan needs Protobuf, which was not found. "
                      "On Debian or Ubuntu:  apt-get install libprotobuf-dev protobuf-compiler")
endif()
find_package(FLEX QUIET)
find_package(BISON 3.2 QUIET)
if(NOT FLEX_FOUND OR NOT BISON_FOUND)
  message(FATAL_ERROR "Tartan needs flex and bison, which were not found. "
                      "On Debian or Ubuntu:  apt-get install flex libfl-dev bison")
endif()
tartan_require(absl libabsl-dev)
if(TARTAN_STATIC)
  tartan_use_archives(absl)
endif()
tartan_require(OpenCL "ocl-icd-opencl-dev opencl-headers")
tartan_require(CLI11 libcli11-dev)
tartan_require(ZLIB zlib1g-dev)
tartan_require(PNG libpng-dev)
find_path(XXHASH_INCLUDE_DIR xxhash.h)
if(NOT XXHASH_INCLUDE_DIR)
  message(FATAL_ERROR "Tartan needs xxHash, which was not found. "
                      "On Debian or Ubuntu:  apt-get install libxxhash-dev")
endif()
find_path(RE2_INCLUDE_DIR re2/re2.h)
find_library(RE2_LIBRARY re2)
if(NOT RE2_INCLUDE_DIR OR NOT RE2_LIBRARY)
  message(FATAL_ERROR "Tartan needs RE2, which was not found. "
                      "On Debian or Ubuntu:  apt-get install libre2-dev")
endif()
if(NOT TARTAN_STATIC)
  # ONNX's package file uses protobuf's targets without finding them: Protobuf comes first.
  tartan_require(ONNX libonnx-dev)
endif()
if(TARTAN_BUILD_TESTS)
  tartan_require(GTest "libgtest-dev libgmock-dev")
endif()
if(TARTAN_BUILD_BENCHMARKS)
  tartan_require(benchmark libbenchmark-dev)
endif()
