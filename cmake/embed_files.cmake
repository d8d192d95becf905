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

# Writes to `out` the script that ES modules make together, in the order of the arguments: a page that is one file has nothing to import from.
# Each module becomes a function, which keeps its names to itself and returns those that it exports. The later modules find them in
# modules.NAME.
function(dikkat_join_modules out)
  set(script "\"use strict\";\nconst modules = {};\n")
  foreach(file IN LISTS ARGN)
    get_filename_component(name ${file} NAME_WE)
    file(READ ${file} text)
    string(REGEX MATCHALL "import {[^}]*} from \"\\./[a-z_]+\\.js\"" imports "${text}")
    foreach(import IN LISTS imports)
      string(REGEX MATCH "{(.*)} from \"\\./([a-z_]+)" _ "${import}")
      set(module ${CMAKE_MATCH_2})
      string(REGEX MATCHALL "[A-Za-z0-9_]+" names "${CMAKE_MATCH_1}")
      foreach(used IN LISTS names)
        if(NOT used IN_LIST exports_${module})
          message(FATAL_ERROR "${file}: ${used} is not an export of ${module}.js, expected one of a module that is joined before")
        endif()
      endforeach()
    endforeach()
    string(REGEX REPLACE "import ({[^}]*}) from \"\\./([a-z_]+)\\.js\";" "const \\1 = modules.\\2;" text "\n${text}")
    string(REGEX MATCHALL "\nexport (const|class|function|async function) [A-Za-z0-9_]+" exports "${text}")
    list(TRANSFORM exports REPLACE ".* " "")
    set(exports_${name} ${exports})
    list(JOIN exports ", " exports)
    string(REGEX REPLACE "\nexport (const|class|function|async function) " "\n\\1 " text "${text}")
    if(text MATCHES "\n(import|export) [^\n]*")
      message(FATAL_ERROR "${file}: '${CMAKE_MATCH_0}' is a form that dikkat_join_modules does not know")
    endif()
    string(APPEND script "modules.${name} = (() => {${text}return { ${exports} };\n})();\n")
  endforeach()
  file(WRITE ${out} "${script}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ARGN})
endfunction()
