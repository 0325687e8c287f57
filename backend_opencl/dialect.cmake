# SPDX-License-Identifier: Apache-2.0
# The OpenCL C dialect, which needs no OpenCL headers or driver.
tartan_library(tartan_opencl_dialect
  SRCS ${CMAKE_CURRENT_LIST_DIR}/dialect/dot_functions.cc ${CMAKE_CURRENT_LIST_DIR}/dialect/gpu_operations.cc ${CMAKE_CURRENT_LIST_DIR}/dialect/matrix_functions.cc ${CMAKE_CURRENT_LIST_DIR}/dialect/warp_matmul.cc ${CMAKE_CURRENT_LIST_DIR}/dialect/opencl_dialect.cc ${CMAKE_CURRENT_LIST_DIR}/dialect/opencl_expressions.cc
       ${CMAKE_CURRENT_LIST_DIR}/dialect/float16_conversions.cc ${CMAKE_CURRENT_LIST_DIR}/dialect/opencl_helpers.cc ${CMAKE_CURRENT_LIST_DIR}/dialect/opencl_memory.cc ${CMAKE_CURRENT_LIST_DIR}/dialect/opencl_operations.cc
       ${CMAKE_CURRENT_LIST_DIR}/dialect/opencl_types.cc ${CMAKE_CURRENT_LIST_DIR}/dialect/team_barrier.cc ${CMAKE_CURRENT_LIST_DIR}/dialect/vector_functions.cc
  DEPS tartan_codegen tartan_loop tartan_base absl::strings absl::span)
