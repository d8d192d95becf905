# cmake -DPACKAGE=... -DSOURCE=... -P check_package.cmake: users' targets get only C++20 and libraries from ours, and none of our flags. The
# package can be moved to another place.
cmake_minimum_required(VERSION 3.25)
file(READ ${PACKAGE}/dikkatTargets.cmake text)
foreach(wanted "cxx_std_20" "dikkat::dikkat" "dikkat::base")
  if(NOT text MATCHES "${wanted}")
    message(FATAL_ERROR "dikkatTargets.cmake: has no ${wanted}")
  endif()
endforeach()
foreach(unwanted "INTERFACE_COMPILE_OPTIONS" "INTERFACE_COMPILE_DEFINITIONS" "INTERFACE_LINK_OPTIONS" "-march" "-W[a-z]" "-fsanitize" "dikkat_flags"
    "[\";]/[a-z]" "${SOURCE}")
  if(text MATCHES "${unwanted}")
    message(FATAL_ERROR "dikkatTargets.cmake: has ${unwanted}, which is this build's alone")
  endif()
endforeach()
