# cmake -DREADME=... -DPREFIX=... -DLIBDIR=... -DCOMPILER=... -DFLAGS=... -DSCRATCH=... -P pkg_config.cmake: builds the same project without
# CMake, with the flags that pkg-config prints.
cmake_minimum_required(VERSION 3.25)
set(ENV{PKG_CONFIG_PATH} ${PREFIX}/${LIBDIR}/pkgconfig)
execute_process(COMMAND pkg-config --cflags --libs dikkat OUTPUT_VARIABLE words OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(words UNIX_COMMAND "${words}")
execute_process(COMMAND ${COMPILER} ${FLAGS} ${CMAKE_CURRENT_LIST_DIR}/consumer/main.cpp -o ${SCRATCH}/with_pkg_config ${words} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${SCRATCH}/with_pkg_config COMMAND_ERROR_IS_FATAL ANY)

# The program in the README, as a reader would try it.
file(READ ${README} readme)
string(FIND "${readme}" "```cpp\n" begin)
math(EXPR begin "${begin} + 7")
string(SUBSTRING "${readme}" ${begin} -1 program)
string(FIND "${program}" "```" end)
string(SUBSTRING "${program}" 0 ${end} program)
file(WRITE ${SCRATCH}/readme.cpp "${program}")
execute_process(COMMAND ${COMPILER} ${FLAGS} ${SCRATCH}/readme.cpp -o ${SCRATCH}/readme ${words} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${SCRATCH}/readme OUTPUT_VARIABLE printed COMMAND_ERROR_IS_FATAL ANY)
if(NOT printed STREQUAL "df/dx0 = 0.0741\ndf/dx1 = -0.2223\ndf/dx2 = 0.1482\n")  # softmax(x) - p
  message(FATAL_ERROR "the README's program printed ${printed}")
endif()
