# Kernels for several instruction sets in one library. Each source is compiled once for each set. The objects of a set are joined to one;
# there its public functions get the set's name as a prefix, and all else becomes local, so that no inline function of one set can be taken
# for another's. Under the plain names stand jumps to the set that the processor has, chosen before main().
#
# "amx" has the objects of avx512bf16, which it follows: their products of bf16 ask whether it was chosen (autograd/kernels/gemm/gemm_amx.h).

# What -march and further options each set means, from the least to the greatest. A processor that has a set has those before it. The first
# ones are for x86-64, those from neon on for arm64.
set(dikkat_march_of_sse42 x86-64-v2)
set(dikkat_march_of_avx2 x86-64-v3)
set(dikkat_march_of_avx512 x86-64-v4)
set(dikkat_march_of_avx512bf16 x86-64-v4)
set(dikkat_options_of_avx512bf16 -mavx512bf16)
set(dikkat_march_of_neon armv8-a)
set(dikkat_march_of_neondot armv8.2-a+dotprod)
set(dikkat_march_of_neonbf16 armv8.2-a+dotprod+bf16)

# gcc's first scheduler moves loads so far ahead that the sums of a tile no longer fit into arm64's registers.
set(dikkat_kernel_options)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  set(dikkat_kernel_options $<$<CXX_COMPILER_ID:GNU>:-fno-schedule-insns>)
  set(dikkat_known_sets "neon, neondot or neonbf16")
  set(dikkat_march_of_jumps armv8-a)
else()
  set(dikkat_known_sets "sse42, avx2, avx512, avx512bf16 or amx")
  set(dikkat_march_of_jumps x86-64)
endif()
set(dikkat_set_scripts ${CMAKE_CURRENT_LIST_DIR})

# Sets `result` to the sources of a library with `sources` compiled for each of `sets`.
function(dikkat_compile_for_sets result sets sources)
  set(files)
  set(lists)
  set(kernels)  # whose kernels each set runs
  foreach(set IN LISTS sets)
    if(set STREQUAL "amx")
      if(NOT kernels MATCHES "avx512bf16$")
        message(FATAL_ERROR "DIKKAT_INSTRUCTION_SETS has amx, expected avx512bf16 before it: amx runs its kernels")
      endif()
      list(APPEND kernels avx512bf16)
      continue()
    endif()
    list(APPEND kernels ${set})
    if(NOT dikkat_march_of_${set})
      message(FATAL_ERROR "DIKKAT_INSTRUCTION_SETS has ${set}, expected ${dikkat_known_sets}")
    endif()
    set(objects dikkat_kernels_${set})
    add_library(${objects} OBJECT ${sources})
    target_link_libraries(${objects} PRIVATE dikkat_flags dikkat_base Eigen3::Eigen)
    set_target_properties(${objects} PROPERTIES DIKKAT_MARCH ${dikkat_march_of_${set}})
    target_compile_options(${objects} PRIVATE ${dikkat_options_of_${set}} ${dikkat_kernel_options}
      $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)  # else static variables of inline functions cannot become local
    set(joined ${CMAKE_CURRENT_BINARY_DIR}/${set}.o)
    set(functions ${CMAKE_CURRENT_BINARY_DIR}/${set}.functions)
    add_custom_command(OUTPUT ${joined} ${functions}
      COMMAND ${CMAKE_COMMAND} -DSET=${set} -DOUT=${joined} -DFUNCTIONS=${functions} -DLINKER=${CMAKE_LINKER} -DNM=${CMAKE_NM}
              -DOBJCOPY=${CMAKE_OBJCOPY} "-DOBJECTS=$<JOIN:$<TARGET_OBJECTS:${objects}>,|>" -P ${dikkat_set_scripts}/join_set.cmake
      DEPENDS ${objects} $<TARGET_OBJECTS:${objects}> ${dikkat_set_scripts}/join_set.cmake
      COMMENT "Joining the kernels for ${set}" VERBATIM)
    list(APPEND files ${joined})
    list(APPEND lists ${functions})
  endforeach()
  set_source_files_properties(${files} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  set(jumps ${CMAKE_CURRENT_BINARY_DIR}/jumps.cpp)
  list(JOIN sets "|" joined_sets)
  list(JOIN kernels "|" joined_kernels)
  list(JOIN lists "|" joined_lists)
  add_custom_command(OUTPUT ${jumps}
    COMMAND ${CMAKE_COMMAND} -DSETS=${joined_sets} -DKERNELS=${joined_kernels} -DLISTS=${joined_lists} -DOUT=${jumps}
            -DPROCESSOR=${CMAKE_SYSTEM_PROCESSOR} -P ${dikkat_set_scripts}/make_jumps.cmake
    DEPENDS ${lists} ${dikkat_set_scripts}/make_jumps.cmake VERBATIM)
  set_source_files_properties(${jumps} PROPERTIES COMPILE_OPTIONS -march=${dikkat_march_of_jumps} SKIP_PRECOMPILE_HEADERS ON)  # runs on any processor
  set(${result} ${files} ${jumps} PARENT_SCOPE)
endfunction()
