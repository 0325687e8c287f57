# The OpenCL C dialect: needs no OpenCL headers or driver.
tartan_library(tartan_opencl_dialect
  SRCS ${CMAKE_CURRENT_LIST_DIR}/dot_functions.cc ${CMAKE_CURRENT_LIST_DIR}/opencl_dialect.cc ${CMAKE_CURRENT_LIST_DIR}/opencl_expressions.cc
       ${CMAKE_CURRENT_LIST_DIR}/opencl_helpers.cc ${CMAKE_CURRENT_LIST_DIR}/opencl_operations.cc
       ${CMAKE_CURRENT_LIST_DIR}/opencl_types.cc ${CMAKE_CURRENT_LIST_DIR}/vector_functions.cc
  DEPS tartan_codegen tartan_sem tartan_base absl::strings absl::span)
