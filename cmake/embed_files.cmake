# Writes OUT, a source with the text of each of FILES, by name: dikkat::embedded_file("page.css").
cmake_minimum_required(VERSION 3.25)
string(REPLACE "|" ";" files "${FILES}")
set(cases)
foreach(file IN LISTS files)
  get_filename_component(name ${file} NAME)
  file(READ ${file} text)
  string(APPEND cases "  if (name == \"${name}\") {\n    return R\"embedded(${text})embedded\";\n  }\n")
endforeach()
file(WRITE ${OUT} "// Written by cmake/embed_files.cmake.
#include \"train/web/report/embedded_file.h\"

namespace dikkat {

std::string_view embedded_file(std::string_view name) {
${cases}  return {};
}

}  // namespace dikkat
")
