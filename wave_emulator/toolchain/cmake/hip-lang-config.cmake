# What CMake's language HIP asks for: what each program in it is linked with.
get_filename_component(hip-lang_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET hip-lang::device)
  add_library(hip-lang::device INTERFACE IMPORTED)
  set_target_properties(hip-lang::device PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "$<$<COMPILE_LANGUAGE:HIP>:${hip-lang_PREFIX}/include>"
    INTERFACE_LINK_LIBRARIES "-L${hip-lang_PREFIX}/lib;-Wl,-rpath,${hip-lang_PREFIX}/lib;-lamdhip64")
endif()
set(_CMAKE_HIP_DEVICE_RUNTIME_TARGET hip-lang::device)
