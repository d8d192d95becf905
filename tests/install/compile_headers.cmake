# cmake -DINCLUDE=... -DCOMPILER=... -DSTANDARD=... -DSCRATCH=... -P compile_headers.cmake: compiles all installed headers in one source,
# without a warning, for any processor and for this one.
# The other options are only this folder and the language's version.
cmake_minimum_required(VERSION 3.25)
file(GLOB_RECURSE headers RELATIVE ${INCLUDE} ${INCLUDE}/*.h)
list(TRANSFORM headers REPLACE "(.+)" "#include \"\\1\"")
list(JOIN headers "\n" text)
file(WRITE ${SCRATCH}/all_headers.cpp "${text}\n")
foreach(march "" -march=native)
  execute_process(
    COMMAND ${COMPILER} ${STANDARD} ${march} -fsyntax-only -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -I${INCLUDE} ${SCRATCH}/all_headers.cpp
    COMMAND_ERROR_IS_FATAL ANY)
endforeach()
