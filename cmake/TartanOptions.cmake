# SPDX-License-Identifier: Apache-2.0
# Compiler settings common to every target.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# The speed that matters is that of the generated kernels; -O2 keeps the build short.
set(CMAKE_CXX_FLAGS_RELEASE "-O2")
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})

find_program(TARTAN_CCACHE ccache)
if(TARTAN_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # What ccache must overlook to keep objects that use precompiled headers.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
      ${TARTAN_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${TARTAN_CCACHE})
endif()

find_program(TARTAN_LINKER NAMES mold ld.lld)
if(TARTAN_LINKER MATCHES "mold$")
  add_link_options(-fuse-ld=mold)
elseif(TARTAN_LINKER MATCHES "lld$")
  add_link_options(-fuse-ld=lld)
endif()

# Compiled programs on disk are taken by the build that wrote them alone (tile/evaluator/build_identity.h).
add_link_options(-Wl,--build-id)

set(TARTAN_WARNINGS -Wall -Wextra -Wno-unused-parameter)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 reports members of moved-from std::variant and std::optional that are never read.
  list(APPEND TARTAN_WARNINGS -Wno-maybe-uninitialized)
  if(CMAKE_UNITY_BUILD)
    # It takes sources that another one includes for headers.
    list(APPEND TARTAN_WARNINGS -Wno-subobject-linkage)
  endif()
  if(CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
    # GCC 13 takes a reference to a static object for one to a temporary.
    list(APPEND TARTAN_WARNINGS -Wno-dangling-reference)
  endif()
endif()
if(TARTAN_WERROR)
  list(APPEND TARTAN_WARNINGS -Werror)
endif()
