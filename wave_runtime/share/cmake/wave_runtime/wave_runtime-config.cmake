# find_package(wave_runtime [COMPONENTS operators])
#
# wave_runtime::launch     wave_runtime.h and wave_runtime.hpp; needs no torch
# wave_runtime::operators  with the component: the operators, for programs that run exported models. Finds Torch, and links
#                          the library though no symbol of it is named: it registers the operators when it is loaded.
#
# `python -m wave_runtime cmake` prints what CMAKE_PREFIX_PATH needs to find this and Torch.

get_filename_component(_wave_runtime_folder "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

if(NOT TARGET wave_runtime::launch)
  add_library(wave_runtime::launch SHARED IMPORTED)
  set_target_properties(wave_runtime::launch PROPERTIES
    IMPORTED_LOCATION "${_wave_runtime_folder}/libwave_launch.so"
    INTERFACE_INCLUDE_DIRECTORIES "${_wave_runtime_folder}/include")
endif()

set(wave_runtime_operators_FOUND FALSE)
if("operators" IN_LIST wave_runtime_FIND_COMPONENTS)
  include(CMakeFindDependencyMacro)
  find_dependency(Torch)
  set(wave_runtime_operators_FOUND TRUE)
  if(NOT TARGET wave_runtime::operators)
    add_library(wave_runtime::operators INTERFACE IMPORTED)
    target_link_libraries(wave_runtime::operators INTERFACE
      "-Wl,--push-state,--no-as-needed,${_wave_runtime_folder}/libwave_runtime.so,--pop-state"
      "-Wl,-rpath,${_wave_runtime_folder}"
      ${TORCH_LIBRARIES})
  endif()
endif()

foreach(_wave_runtime_component IN LISTS wave_runtime_FIND_COMPONENTS)
  if(wave_runtime_FIND_REQUIRED_${_wave_runtime_component} AND NOT wave_runtime_${_wave_runtime_component}_FOUND)
    set(wave_runtime_FOUND FALSE)
    set(wave_runtime_NOT_FOUND_MESSAGE "there is no component ${_wave_runtime_component}: there is operators")
  endif()
endforeach()
