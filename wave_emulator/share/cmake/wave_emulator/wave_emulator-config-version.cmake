# wave_runtime's is a link to this: both packages have one version.
file(STRINGS "${CMAKE_CURRENT_LIST_DIR}/../../../_version.py" _version REGEX "__version__")
string(REGEX REPLACE ".*\"([0-9.]+).*" "\\1" PACKAGE_VERSION "${_version}")

# Before 1.0 a new minor version may change what there is.
set(PACKAGE_VERSION_COMPATIBLE FALSE)
if(PACKAGE_VERSION MATCHES "^([0-9]+\\.[0-9]+)")
  set(_series "${CMAKE_MATCH_1}")
  if(PACKAGE_FIND_VERSION MATCHES "^([0-9]+\\.[0-9]+)" AND CMAKE_MATCH_1 VERSION_EQUAL _series
     AND NOT PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)
    set(PACKAGE_VERSION_COMPATIBLE TRUE)
  endif()
endif()
if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
  set(PACKAGE_VERSION_EXACT TRUE)
endif()
