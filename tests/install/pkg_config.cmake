# cmake -DPREFIX=... -DLIBDIR=... -DCOMPILER=... -DFLAGS=... -DSCRATCH=... -P pkg_config.cmake: the same project without CMake, with what
# pkg-config says.
cmake_minimum_required(VERSION 3.25)
set(ENV{PKG_CONFIG_PATH} ${PREFIX}/${LIBDIR}/pkgconfig)
execute_process(COMMAND pkg-config --cflags --libs dikkat OUTPUT_VARIABLE words OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(words UNIX_COMMAND "${words}")
execute_process(COMMAND ${COMPILER} ${FLAGS} ${CMAKE_CURRENT_LIST_DIR}/consumer/main.cpp -o ${SCRATCH}/with_pkg_config ${words} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${SCRATCH}/with_pkg_config COMMAND_ERROR_IS_FATAL ANY)
