# SETS are the instruction sets of the kernels, whose joined objects are in the folder KERNELS of the build folder BUILD.
cmake_minimum_required(VERSION 3.25)
string(REPLACE "|" ";" sets "${SETS}")
list(REMOVE_ITEM sets amx)  # it has the kernels of avx512bf16

# Counts the lines with what lower processors do not have: the instructions of AVX and later sets (their names begin with v), those of BMI and
# the like, and the uses of AVX-512's registers and of AMX's. gcc writes tzcnt for any processor: older ones take it for bsf.
set(lines_of [[
  /\t(v[a-z0-9]+|andn|bextr|bls[ir]|blsmsk|bzhi|mulx|pdep|pext|rorx|sarx|shlx|shrx|lzcnt|movbe)[lq]?( |$)/ { avx++ }
  /%zmm/ { zmm++ }
  /%tmm/ { tmm++ }
  END { printf "%d %d %d", avx, zmm, tmm }]])
set(kinds avx zmm tmm)
function(count_instructions file)
  execute_process(COMMAND ${OBJDUMP} -d --no-show-raw-insn ${file} COMMAND awk ${lines_of} OUTPUT_VARIABLE counts COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE " " ";" counts "${counts}")
  foreach(kind count IN ZIP_LISTS kinds counts)
    set(${kind}_count ${count} PARENT_SCOPE)
  endforeach()
endfunction()

# Stops if `file`, which is for processors with `set`, uses what only those with `first` and later sets have; also if it has `must` and is for
# one of them, but does not use it.
set(order sse42 avx2 avx512 avx512bf16)
function(check_count file set must first kind what)
  list(FIND order ${set} place)
  list(FIND order ${first} from)
  set(count ${${kind}_count})
  if(count GREATER 0 AND place LESS from)
    message(FATAL_ERROR "${file} uses ${what} ${count} times, expected only kernels for ${first} and later sets to use them")
  elseif(must AND count EQUAL 0 AND NOT place LESS from)
    message(FATAL_ERROR "${file} does not use ${what}, expected that it does")
  endif()
endfunction()
function(check_counts file set must)
  count_instructions(${file})
  check_count(${file} ${set} ${must} avx2 avx "instructions of AVX or later")
  check_count(${file} ${set} ${must} avx512 zmm "registers of AVX-512")
  check_count(${file} ${set} ${must} avx512bf16 tmm "registers of AMX")
endfunction()

foreach(set IN LISTS sets)
  set(object ${KERNELS}/${set}.o)
  execute_process(COMMAND ${NM} --defined-only --extern-only --format=posix ${object} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[^\n]+" symbols "${symbols}")
  list(LENGTH symbols count)
  if(count LESS 50)
    message(FATAL_ERROR "${object} has ${count} public functions, expected those of all kernels")
  endif()
  foreach(symbol IN LISTS symbols)
    if(NOT symbol MATCHES "^${set}__ZNK?6dikkat7kernels")
      message(FATAL_ERROR "${object} defines ${symbol}, expected only kernels, with the prefix ${set}_: the linker may take it for another's")
    endif()
  endforeach()
  check_counts(${object} ${set} TRUE)
endforeach()

file(GLOB_RECURSE libraries ${BUILD}/libdikkat_*.a)
list(FILTER libraries EXCLUDE REGEX "libdikkat_kernels.a$|/tests/")
list(LENGTH libraries count)
if(count LESS 10)
  message(FATAL_ERROR "${BUILD} has ${count} libraries besides the kernels, expected all boxes")
endif()
list(GET sets 0 lowest)
foreach(library IN LISTS libraries)
  check_counts(${library} ${lowest} FALSE)
endforeach()
