# find_package(hip), as projects ask ROCm: hip::host for code that calls HIP, hip::device for C++ with kernels, which is
# compiled for GPU_TARGETS, and hip::amdhip64, the library.
get_filename_component(hip_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(HIP_FOUND TRUE)
set(HIP_PLATFORM amd)
set(HIP_COMPILER clang)
set(HIP_RUNTIME rocclr)
set(HIP_VERSION "${hip_VERSION}")
set(hip_INCLUDE_DIR "${hip_PREFIX}/include")
set(hip_INCLUDE_DIRS "${hip_INCLUDE_DIR}")
set(hip_LIB_INSTALL_DIR "${hip_PREFIX}/lib")
set(hip_BIN_INSTALL_DIR "${hip_PREFIX}/bin")
set(hip_LIBRARY hip::host)
set(hip_LIBRARIES hip::host)
set(HIP_HIPCC_EXECUTABLE "${hip_BIN_INSTALL_DIR}/hipcc")
set(HIP_HIPCONFIG_EXECUTABLE "${hip_BIN_INSTALL_DIR}/hipconfig")

if(NOT GPU_TARGETS)
  if(AMDGPU_TARGETS)
    set(GPU_TARGETS "${AMDGPU_TARGETS}")
  else()
    execute_process(COMMAND "${hip_BIN_INSTALL_DIR}/rocm_agent_enumerator"
      OUTPUT_VARIABLE GPU_TARGETS OUTPUT_STRIP_TRAILING_WHITESPACE)
  endif()
  set(GPU_TARGETS "${GPU_TARGETS}" CACHE STRING "GPUs to compile for")
endif()
set(AMDGPU_TARGETS "${GPU_TARGETS}")

if(NOT TARGET hip::amdhip64)
  add_library(hip::amdhip64 INTERFACE IMPORTED)
  set_target_properties(hip::amdhip64 PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${hip_INCLUDE_DIR}"
    INTERFACE_COMPILE_DEFINITIONS "__HIP_PLATFORM_AMD__=1"
    INTERFACE_LINK_LIBRARIES "-L${hip_LIB_INSTALL_DIR};-Wl,-rpath,${hip_LIB_INSTALL_DIR};-lamdhip64")
  add_library(hip::host INTERFACE IMPORTED)
  set_target_properties(hip::host PROPERTIES INTERFACE_LINK_LIBRARIES hip::amdhip64)
  set(options "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-x hip>")
  foreach(target IN LISTS GPU_TARGETS)
    list(APPEND options "$<$<COMPILE_LANGUAGE:CXX>:--offload-arch=${target}>")
  endforeach()
  add_library(hip::device INTERFACE IMPORTED)
  set_target_properties(hip::device PROPERTIES
    INTERFACE_LINK_LIBRARIES hip::host
    INTERFACE_COMPILE_OPTIONS "${options}")
endif()
