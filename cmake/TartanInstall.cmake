# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` gives a C++ project: headers, archives and find_package(Tartan), which defines
# Tartan::api (devices, functions, sessions), Tartan::onnx (models), Tartan::generate (decoders), Tartan::train
# (training) and, with MPI, Tartan::distributed (several ranks). In a project that takes this one in with add_subdirectory they are there, too. The component "development" is these alone.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

# All libraries of this project that the given ones need, themselves included.
function(tartan_needed_libraries result)
  set(needed)
  set(pending ${ARGN})
  while(pending)
    list(POP_FRONT pending library)
    if(NOT library MATCHES "^tartan_" OR NOT TARGET ${library} OR library IN_LIST needed)
      continue()
    endif()
    list(APPEND needed ${library})
    get_target_property(others ${library} INTERFACE_LINK_LIBRARIES)
    if(others)
      list(APPEND pending ${others})
    endif()
  endwhile()
  set(${result} ${needed} PARENT_SCOPE)
endfunction()

set(distributed_library)
set(distributed_folder)
if(TARTAN_HAS_DISTRIBUTED)
  set(distributed_library tartan_distributed)
  set(distributed_folder distributed)
endif()
tartan_needed_libraries(installed tartan_api tartan_onnx tartan_generate tartan_generate_text tartan_train
                        ${distributed_library})
foreach(library IN LISTS installed)
  string(REGEX REPLACE "^tartan_" "" name ${library})
  set_target_properties(${library} PROPERTIES EXPORT_NAME ${name})
  add_library(Tartan::${name} ALIAS ${library})
endforeach()

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Tartan)
install(TARGETS ${installed} EXPORT TartanTargets COMPONENT development
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(EXPORT TartanTargets NAMESPACE Tartan:: DESTINATION ${package_dir} COMPONENT development)
foreach(folder IN ITEMS ${distributed_folder} backend_opencl frontend/api frontend/data frontend/generate frontend/onnx frontend/train hal
        tile)
  install(DIRECTORY ${folder}/ DESTINATION include/tartan/${folder} COMPONENT development
          FILES_MATCHING PATTERN "*.h")
endforeach()
install(DIRECTORY ${PROJECT_BINARY_DIR}/proto/ DESTINATION include/tartan/proto
        COMPONENT development FILES_MATCHING PATTERN "*.pb.h" PATTERN CMakeFiles EXCLUDE)

configure_package_config_file(cmake/TartanConfig.cmake.in ${PROJECT_BINARY_DIR}/TartanConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/TartanConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/TartanConfig.cmake ${PROJECT_BINARY_DIR}/TartanConfigVersion.cmake
        DESTINATION ${package_dir} COMPONENT development)
