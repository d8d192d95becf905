# Writes `out`, a source with the text of each of the other arguments, by name: dikkat::embedded_file("page.css"). It is written when the
# build is configured: sources of a target that has custom commands would wait until ninja has started all others.
function(dikkat_embed_files out)
  set(cases)
  foreach(file IN LISTS ARGN)
    get_filename_component(name ${file} NAME)
    file(READ ${file} text)
    string(APPEND cases "  if (name == \"${name}\") {\n    return R\"embedded(${text})embedded\";\n  }\n")
  endforeach()
  set(source "// Written by cmake/embed_files.cmake.
#include \"train/web/report/embedded_file.h\"

namespace dikkat {

std::string_view embedded_file(std::string_view name) {
${cases}  return {};
}

}  // namespace dikkat
")
  set(written)
  if(EXISTS ${out})
    file(READ ${out} written)
  endif()
  if(NOT "${written}" STREQUAL "${source}")  # the same text must not be compiled again
    file(WRITE ${out} "${source}")
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ARGN})
endfunction()
