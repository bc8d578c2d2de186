# find_package(Torch), as projects ask a torch for ROCm: targets, and the variables that its files for CMake set. Before
# this stand _python, which runs torch, TORCH_INSTALL_PREFIX, the release of torch, ROCM_PATH, and ROCm's release.
#
# What a torch for CPUs lacks is made here, where a project is configured, and kept.
execute_process(COMMAND "${_python}" -c "from wave_runtime._emulate import _extensions; _extensions.print_home()"
  RESULT_VARIABLE _failed OUTPUT_VARIABLE _home ERROR_VARIABLE _error OUTPUT_STRIP_TRAILING_WHITESPACE)
if(_failed)
  message(FATAL_ERROR "torch could not be prepared for the emulated GPU:\n ${_error}")
endif()

list(APPEND CMAKE_PREFIX_PATH "${ROCM_PATH}")
find_package(hip CONFIG REQUIRED HINTS "${ROCM_PATH}")
set(HIP_FOUND TRUE)
set(PYTORCH_FOUND_HIP TRUE)
set(TORCH_INCLUDE_DIRS
  "${_home}/include"
  "${TORCH_INSTALL_PREFIX}/include"
  "${TORCH_INSTALL_PREFIX}/include/torch/csrc/api/include")
set(TORCH_LIBRARIES torch torch_cpu torch_hip c10 c10_hip)
set(TORCH_LIBRARY torch)
set(TORCH_CXX_FLAGS "")
set(TORCH_FOUND TRUE)

if(NOT TARGET torch)
  foreach(_library IN ITEMS c10 torch_cpu)
    add_library(${_library} SHARED IMPORTED)
    set_target_properties(${_library} PROPERTIES IMPORTED_LOCATION "${TORCH_INSTALL_PREFIX}/lib/lib${_library}.so")
  endforeach()
  foreach(_library IN ITEMS c10_hip torch_hip torch torch_library)
    add_library(${_library} INTERFACE IMPORTED)
  endforeach()
  # A script for linkers, which names the library by its path: what is installed finds it, too. Functions of torch's
  # headers that are inline have another meaning here than in torch's libraries.
  set_target_properties(c10_hip PROPERTIES
    INTERFACE_LINK_LIBRARIES "${_home}/lib/libc10_hip.so;c10;torch_cpu"
    INTERFACE_INCLUDE_DIRECTORIES "${TORCH_INCLUDE_DIRS};${ROCM_PATH}/include"
    INTERFACE_COMPILE_DEFINITIONS "USE_ROCM=1;__HIP_PLATFORM_AMD__=1;$<$<COMPILE_LANGUAGE:HIP>:HIP_ENABLE_WARP_SYNC_BUILTINS=1>"
    INTERFACE_COMPILE_FEATURES cxx_std_20
    INTERFACE_COMPILE_OPTIONS "-fvisibility-inlines-hidden;$<$<AND:$<COMPILE_LANGUAGE:HIP>,$<NOT:$<CONFIG:Debug,RelWithDebInfo>>>:-gline-tables-only>")
  set_target_properties(torch_hip PROPERTIES INTERFACE_LINK_LIBRARIES c10_hip)
  set_target_properties(torch PROPERTIES INTERFACE_LINK_LIBRARIES torch_hip)
  set_target_properties(torch_library PROPERTIES INTERFACE_LINK_LIBRARIES torch)
endif()
