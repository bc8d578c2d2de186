# find_package(wave_emulator)
#
# wave_emulator::launch  wave_runtime.h and wave_runtime.hpp: kernels of code objects and cubins on AMD and NVIDIA GPUs and
#                        on the emulator
# wave_emulator::hip     HIP's interface over the emulator, in place of hip::host
#
# `python -m wave_emulator cmake` prints what CMAKE_PREFIX_PATH needs to find this.

get_filename_component(_wave_emulator_folder "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

if(NOT TARGET wave_emulator::launch)
  add_library(wave_emulator::launch SHARED IMPORTED)
  set_target_properties(wave_emulator::launch PROPERTIES
    IMPORTED_LOCATION "${_wave_emulator_folder}/libwave_launch.so"
    INTERFACE_INCLUDE_DIRECTORIES "${_wave_emulator_folder}/include")
  add_library(wave_emulator::hip SHARED IMPORTED)
  set_target_properties(wave_emulator::hip PROPERTIES
    IMPORTED_LOCATION "${_wave_emulator_folder}/libwave_hip_emulator.so"
    IMPORTED_NO_SONAME TRUE)
endif()
