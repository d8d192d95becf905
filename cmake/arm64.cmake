# Toolchain file that cross-compiles for arm64 Linux with Debian's compiler. Libraries and their headers come from a folder with arm64
# packages, which scripts/arm64-tree.sh makes:
#   scripts/arm64-tree.sh build/arm64-tree
#   cmake --preset arm64 && cmake --build --preset arm64
# On an arm64 machine the presets release and dev build the same without it.
set(DIKKAT_ARM64_TREE ${CMAKE_CURRENT_LIST_DIR}/../build/arm64-tree CACHE PATH "Folder with unpacked arm64 packages")
get_filename_component(tree ${DIKKAT_ARM64_TREE} ABSOLUTE)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES DIKKAT_ARM64_TREE)
if(NOT EXISTS ${tree}/usr/include)
  message(FATAL_ERROR "DIKKAT_ARM64_TREE is ${tree}, which has no usr/include, expected unpacked arm64 packages: run scripts/arm64-tree.sh ${tree}")
endif()

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_SYSROOT ${tree})
set(CMAKE_FIND_ROOT_PATH ${tree})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)  # programs run here
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${tree})
set(ENV{PKG_CONFIG_LIBDIR} ${tree}/usr/lib/aarch64-linux-gnu/pkgconfig:${tree}/usr/share/pkgconfig)

# Debian's packages qemu-user and qemu-user-static name it differently.
find_program(DIKKAT_QEMU_AARCH64 NAMES qemu-aarch64 qemu-aarch64-static)
if(DIKKAT_QEMU_AARCH64)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${DIKKAT_QEMU_AARCH64} -L ${tree})
endif()
