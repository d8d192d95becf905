# Writes OUT, a source for PROCESSOR with a jump for each function that all SETS have (LISTS are the files with their names), and the choice of a set. A
# set runs the kernels of the set that stands at its place in KERNELS, which is another only for amx.
cmake_minimum_required(VERSION 3.25)
string(REPLACE "|" ";" sets "${SETS}")
string(REPLACE "|" ";" kernels "${KERNELS}")
string(REPLACE "|" ";" lists "${LISTS}")
set(functions)
foreach(list IN LISTS lists)
  file(STRINGS ${list} names)
  if(functions)
    set(common)
    foreach(name IN LISTS functions)
      if(name IN_LIST names)
        list(APPEND common ${name})
      endif()
    endforeach()
    set(functions ${common})
  else()
    set(functions ${names})
  endif()
endforeach()
list(LENGTH functions count)
list(LENGTH sets set_count)

set(declared)
set(tables)
set(set_names)
set(jumps)
foreach(set own IN ZIP_LISTS sets kernels)
  string(APPEND set_names "\"${set}\", ")
  string(APPEND tables "    {")
  set(number 0)
  foreach(function IN LISTS functions)
    if(set STREQUAL own)
      string(APPEND declared "void ${set}_${number}() asm(\"${set}_${function}\");\n")
    endif()
    string(APPEND tables "${own}_${number}, ")
    math(EXPR number "${number} + 1")
  endforeach()
  string(APPEND tables "},\n")
endforeach()
set(number 0)
foreach(function IN LISTS functions)
  set(place dikkat_chosen_kernels+8*${number})
  if(PROCESSOR STREQUAL "aarch64")  # x16 is for what stands between a call and its function
    set(jump "adrp x16, ${place}\\n  ldr x16, [x16, :lo12:${place}]\\n  br x16")
  else()
    set(jump "jmp *${place}(%rip)")
  endif()
  string(APPEND jumps "    \".globl ${function}\\n.type ${function}, %function\\n${function}:\\n  ${jump}\\n\"\n")
  math(EXPR number "${number} + 1")
endforeach()

file(WRITE ${OUT} "// Written by cmake/make_jumps.cmake. Compiled for any processor of its kind, and runs before static variables are initialized.
#include \"autograd/base/choose_instruction_set.h\"

extern \"C\" {
${declared}
using Function = void (*)();
[[gnu::visibility(\"hidden\")]] Function dikkat_chosen_kernels[${count}];
}

namespace {

constexpr const char* kSets[] = {${set_names}};
constexpr Function kFunctions[${set_count}][${count}] = {
${tables}};

[[gnu::constructor(101)]] void choose() {
  const int set = dikkat::choose_instruction_set(kSets, ${set_count});
  for (int i = 0; i < ${count}; ++i) {
    dikkat_chosen_kernels[i] = kFunctions[set][i];
  }
}

}  // namespace

asm(\".text\\n\"
${jumps});
")
