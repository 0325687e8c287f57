# SPDX-License-Identifier: Apache-2.0
# What a TARTAN_STATIC build changes: all but the C library and the OpenCL loader is linked from
# archives, so that a program runs on another machine with nothing installed but a driver.
set(Protobuf_USE_STATIC_LIBS ON)
add_link_options(-static-libstdc++ -static-libgcc)

# The archive of a library under the name its find module caches; what is not found stays shared.
function(tartan_prefer_archive variable name)
  find_library(${variable} NAMES lib${name}.a)
  if(NOT ${variable})
    unset(${variable} CACHE)
  endif()
endfunction()
tartan_prefer_archive(ZLIB_LIBRARY z)
tartan_prefer_archive(PNG_LIBRARY_RELEASE png)
tartan_prefer_archive(JPEG_LIBRARY_RELEASE jpeg)
tartan_prefer_archive(RE2_LIBRARY re2)

# Turns a package's imported targets from shared libraries to the archives beside them, where a
# distribution ships both and its package file names the former.
function(tartan_use_archives namespace)
  get_property(targets DIRECTORY ${PROJECT_SOURCE_DIR} PROPERTY IMPORTED_TARGETS)
  list(FILTER targets INCLUDE REGEX "^${namespace}::")
  foreach(target IN LISTS targets)
    get_target_property(configurations ${target} IMPORTED_CONFIGURATIONS)
    foreach(configuration IN LISTS configurations)
      get_target_property(library ${target} IMPORTED_LOCATION_${configuration})
      string(REGEX REPLACE "\\.so(\\.[0-9.]*)?$" ".a" archive "${library}")
      if(EXISTS "${archive}")
        set_target_properties(${target} PROPERTIES IMPORTED_LOCATION_${configuration} "${archive}")
      endif()
    endforeach()
  endforeach()
endfunction()
