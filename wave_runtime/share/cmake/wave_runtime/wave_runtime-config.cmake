# find_package(wave_runtime [COMPONENTS operators])
#
# wave_runtime::operators  with the component: the operators, for programs that run exported models. Finds Torch, and links
#                          the library though no symbol of it is named: it registers the operators when it is loaded.
#                          What needs no torch is in find_package(wave_emulator).
#
# wave_runtime_add_kernels(NAME SOURCES FILE... [TARGETS PROCESSOR...] [OPTIONS OPTION...] [DEFINITIONS NAME[=VALUE]...]
#                          [INCLUDE_DIRECTORIES FOLDER...] [OUTPUT FILE])
#   A target that compiles kernels, anew when a source or a header of theirs has changed. OUTPUT is a file of Python with
#   the code of each processor beside it (docs/packages.md), or the code itself, kernels.hsaco, of one processor; by default
#   NAME.py in the current binary folder. The target's property WAVE_RUNTIME_FILES lists what to install.
#
# `python -m wave_runtime cmake` prints what CMAKE_PREFIX_PATH needs to find this, wave_emulator and Torch.

get_filename_component(_wave_runtime_folder "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

set(wave_runtime_operators_FOUND FALSE)
if("operators" IN_LIST wave_runtime_FIND_COMPONENTS)
  include(CMakeFindDependencyMacro)
  find_dependency(Torch)
  set(wave_runtime_operators_FOUND TRUE)
  # Each release of torch has an interface of its own, and a folder here.
  string(REGEX REPLACE "^([0-9]+)\\.([0-9]+).*" "torch_\\1_\\2" _wave_runtime_torch "${Torch_VERSION}")
  set(_wave_runtime_operators "${_wave_runtime_folder}/${_wave_runtime_torch}")
  if(NOT EXISTS "${_wave_runtime_operators}/libwave_runtime.so")
    set(wave_runtime_operators_FOUND FALSE)
    set(wave_runtime_NOT_FOUND_MESSAGE "wave_runtime has no operators for torch ${Torch_VERSION}")
  elseif(NOT TARGET wave_runtime::operators)
    add_library(wave_runtime::operators INTERFACE IMPORTED)
    target_link_libraries(wave_runtime::operators INTERFACE
      "-Wl,--push-state,--no-as-needed,${_wave_runtime_operators}/libwave_runtime.so,--pop-state"
      "-Wl,-rpath,${_wave_runtime_operators}"
      ${TORCH_LIBRARIES})
  endif()
endif()

foreach(_wave_runtime_component IN LISTS wave_runtime_FIND_COMPONENTS)
  if(wave_runtime_FIND_REQUIRED_${_wave_runtime_component} AND NOT wave_runtime_${_wave_runtime_component}_FOUND)
    set(wave_runtime_FOUND FALSE)
    if(wave_runtime_NOT_FOUND_MESSAGE)
      break()
    endif()
    set(wave_runtime_NOT_FOUND_MESSAGE "there is no component ${_wave_runtime_component}: there is operators")
  endif()
endforeach()

function(wave_runtime_add_kernels name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "OUTPUT" "SOURCES;TARGETS;OPTIONS;DEFINITIONS;INCLUDE_DIRECTORIES")
  if(NOT arg_SOURCES OR arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "wave_runtime_add_kernels(${name}): expected SOURCES and files, then TARGETS, OPTIONS, DEFINITIONS, "
                        "INCLUDE_DIRECTORIES or OUTPUT; there is no place for '${arg_UNPARSED_ARGUMENTS}'")
  endif()
  if(NOT Python_EXECUTABLE)
    find_package(Python 3.10 COMPONENTS Interpreter REQUIRED)
  endif()
  if(NOT arg_TARGETS)
    set(arg_TARGETS gfx942)
  endif()
  if(NOT arg_OUTPUT)
    set(arg_OUTPUT "${name}.py")
  endif()
  get_filename_component(output "${arg_OUTPUT}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_BINARY_DIR}")
  get_filename_component(folder "${output}" DIRECTORY)
  get_filename_component(stem "${output}" NAME_WE)
  set(files "${output}")
  set(options -o "${output}" --depfile "${output}.d")
  foreach(processor IN LISTS arg_TARGETS)
    list(APPEND options --target "${processor}")
    if(output MATCHES "\\.py$")
      string(REPLACE ":" "_" image "${stem}.${processor}")
      if(processor MATCHES "^gfx")
        list(APPEND files "${folder}/${image}.hsaco")
      else()
        list(APPEND files "${folder}/${image}.cubin")
      endif()
    endif()
  endforeach()
  foreach(option IN LISTS arg_OPTIONS)
    list(APPEND options "--option=${option}")
  endforeach()
  foreach(definition IN LISTS arg_DEFINITIONS)
    list(APPEND options -D "${definition}")
  endforeach()
  foreach(path IN LISTS arg_INCLUDE_DIRECTORIES)
    get_filename_component(path "${path}" ABSOLUTE)
    list(APPEND options -I "${path}")
  endforeach()
  set(sources)
  foreach(path IN LISTS arg_SOURCES)
    get_filename_component(path "${path}" ABSOLUTE)
    list(APPEND sources "${path}")
  endforeach()
  get_filename_component(parent "${_wave_runtime_folder}" DIRECTORY)
  add_custom_command(
    OUTPUT ${files}
    COMMAND ${CMAKE_COMMAND} -E make_directory "${folder}"
    COMMAND ${CMAKE_COMMAND} -E env "PYTHONPATH=${parent}" "${Python_EXECUTABLE}" -m wave_runtime compile ${sources} ${options}
    DEPENDS ${sources}
    DEPFILE "${output}.d"
    COMMENT "Compiling ${name} for ${arg_TARGETS}"
    VERBATIM)
  add_custom_target(${name} ALL DEPENDS ${files})
  set_property(TARGET ${name} PROPERTY WAVE_RUNTIME_FILES "${files}")
endfunction()
