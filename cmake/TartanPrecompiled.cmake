# SPDX-License-Identifier: Apache-2.0
# Headers that most sources include, parsed once: two thirds of the time of a compilation without them is
# parsing. A source still names all that it uses; the build by Clang (`-DTARTAN_PRECOMPILE=OFF`) checks it.
option(TARTAN_PRECOMPILE "Precompile the headers of the standard library, absl and GoogleTest" ON)

set(TARTAN_STANDARD_HEADERS <algorithm> <cmath> <cstdint> <cstring> <functional> <limits> <map> <memory>
    <numeric> <optional> <set> <string> <utility> <variant> <vector>)
set(TARTAN_ABSL_HEADERS "absl/status/status.h" "absl/status/statusor.h" "absl/strings/match.h"
    "absl/strings/str_cat.h" "absl/strings/str_join.h" "absl/strings/str_split.h"
    "absl/strings/string_view.h" "absl/types/span.h")
list(TRANSFORM TARTAN_ABSL_HEADERS PREPEND "<")
list(TRANSFORM TARTAN_ABSL_HEADERS APPEND ">")

# tartan_headers(name [PROGRAMS] LEVEL -O2 HEADERS ... DEPS ...): a set of precompiled headers that targets of
# the same optimisation level share: libraries, or PROGRAMS, which are compiled with other options.
function(tartan_headers name)
  cmake_parse_arguments(ARG "PROGRAMS" "LEVEL" "HEADERS;DEPS" ${ARGN})
  if(NOT TARTAN_PRECOMPILE)
    return()
  endif()
  set(source ${PROJECT_BINARY_DIR}/precompiled/${name}.cc)
  file(CONFIGURE OUTPUT ${source} CONTENT "int main() { return 0; }\n" @ONLY)
  if(ARG_PROGRAMS)
    add_executable(${name} EXCLUDE_FROM_ALL ${source})
  else()
    add_library(${name} OBJECT EXCLUDE_FROM_ALL ${source})
  endif()
  target_compile_features(${name} PRIVATE cxx_std_20)
  target_compile_options(${name} PRIVATE ${TARTAN_WARNINGS} ${ARG_LEVEL})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS})
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
endfunction()

# tartan_use_headers(target name): has no effect where the headers are not precompiled.
function(tartan_use_headers target name)
  if(TARTAN_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM ${name})
  endif()
endfunction()
