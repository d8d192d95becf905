# What is installed and packaged, besides what dikkat_box() installs of each box. Included at the end of CMakeLists.txt.
#   cmake --install BUILD                     the program, library, recipes, manual and completions
#   cpack -G DEB                              the same as a Debian package
#   cpack --config CPackSourceConfig.cmake    the sources as an archive
set(data_dir ${CMAKE_INSTALL_DATADIR})
install(TARGETS dikkat)

# find_package(dikkat) gives dikkat::dikkat, the whole framework, and dikkat::NAME for each box.
add_library(dikkat_all INTERFACE)
target_link_libraries(dikkat_all INTERFACE dikkat_assistant dikkat_web)  # these use all the others
set_target_properties(dikkat_all PROPERTIES EXPORT_NAME dikkat)
install(TARGETS dikkat_all EXPORT dikkat)
# dikkat::autograd is only the autodiff library: tape, ops, layers and optimizers. #include "dikkat/autograd.h" has all of it.
add_library(dikkat_autograd INTERFACE)
target_link_libraries(dikkat_autograd INTERFACE dikkat_layers dikkat_optim)
set_target_properties(dikkat_autograd PROPERTIES EXPORT_NAME autograd)
target_sources(dikkat_autograd INTERFACE FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/cmake/package FILES ${PROJECT_SOURCE_DIR}/cmake/package/dikkat/autograd.h)
install(TARGETS dikkat_autograd EXPORT dikkat FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/dikkat)
target_link_libraries(dikkat_all INTERFACE dikkat_autograd)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/dikkat)
install(EXPORT dikkat NAMESPACE dikkat:: FILE dikkatTargets.cmake DESTINATION ${package_dir})
configure_package_config_file(cmake/package/dikkatConfig.cmake.in dikkatConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(dikkatConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/dikkatConfig.cmake ${PROJECT_BINARY_DIR}/dikkatConfigVersion.cmake DESTINATION ${package_dir})

# Appends a box to the global property dikkat_placed, after the boxes that it uses.
function(dikkat_place box)
  get_property(placed GLOBAL PROPERTY dikkat_placed)
  if(NOT box IN_LIST placed)
    get_target_property(uses ${box} DIKKAT_USES)
    foreach(one IN LISTS uses)
      dikkat_place(${one})
    endforeach()
    set_property(GLOBAL APPEND PROPERTY dikkat_placed ${box})
  endif()
endfunction()
# pkg-config: the linker reads a library after those that use it.
get_property(boxes GLOBAL PROPERTY dikkat_libraries)
foreach(box IN LISTS boxes)
  dikkat_place(${box})
endforeach()
get_property(placed GLOBAL PROPERTY dikkat_placed)
list(REVERSE placed)
set(dikkat_link)
foreach(box IN LISTS placed)
  if(box IN_LIST boxes)  # others have headers only
    list(APPEND dikkat_link -l${box})
  endif()
endforeach()
list(JOIN dikkat_link " " dikkat_link)
set(dikkat_openmp ${OpenMP_CXX_FLAGS})
file(RELATIVE_PATH dikkat_up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/package/dikkat.pc.in dikkat.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/dikkat.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# Where `dikkat train --config NAME` looks for them, beside the text that they name.
install(DIRECTORY configs/ DESTINATION ${data_dir}/dikkat/configs FILES_MATCHING PATTERN *.toml)
install(FILES data/tales.txt data/pairs.tsv data/questions.jsonl data/assistant-chats.jsonl DESTINATION ${data_dir}/dikkat/data)
install(FILES README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs PATTERN site EXCLUDE)
install(DIRECTORY bench/results DESTINATION ${CMAKE_INSTALL_DOCDIR}/bench)  # pages link to them
install(DIRECTORY examples/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples FILES_MATCHING PATTERN *.cpp PATTERN *.h PATTERN *.py)

# The manual and the completions, which the program writes itself, if need be in an emulator.
if(NOT CMAKE_CROSSCOMPILING OR CMAKE_CROSSCOMPILING_EMULATOR)
  set(words ${PROJECT_BINARY_DIR}/words)
  set(changelog ${PROJECT_SOURCE_DIR}/cmake/package/changelog)
  set(program $<TARGET_FILE:dikkat>)
  if(CMAKE_CROSSCOMPILING)
    list(JOIN CMAKE_CROSSCOMPILING_EMULATOR "|" program)
    string(APPEND program "|$<TARGET_FILE:dikkat>")
  endif()
  add_custom_command(OUTPUT ${words}/made
    COMMAND ${CMAKE_COMMAND} "-DPROGRAM=${program}" -DCHANGELOG=${changelog} -DOUT=${words} -P ${PROJECT_SOURCE_DIR}/cmake/write_words.cmake
    DEPENDS dikkat ${changelog} ${PROJECT_SOURCE_DIR}/cmake/write_words.cmake VERBATIM)
  add_custom_target(words ALL DEPENDS ${words}/made)
  install(FILES ${words}/changelog.gz cmake/package/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR})
  install(DIRECTORY ${words}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR})
  install(FILES ${words}/dikkat.bash DESTINATION ${data_dir}/bash-completion/completions RENAME dikkat)
  install(FILES ${words}/_dikkat DESTINATION ${data_dir}/zsh/vendor-completions)
  install(FILES ${words}/dikkat.fish DESTINATION ${data_dir}/fish/vendor_completions.d)
endif()

set(CPACK_PACKAGE_VENDOR "The dikkat authors")
set(CPACK_PACKAGE_CONTACT "The dikkat authors <dikkat@users.noreply.github.com>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "trains GPT models on CPUs")
set(CPACK_PACKAGE_DESCRIPTION "dikkat tokenizes a text, trains a GPT or an encoder-decoder transformer on it,
resumes the run, evaluates it and generates samples, all on the CPU.

The package has the program, its recipes, and the C++ library with which
it is made.")
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_THREADS 0)
set(CPACK_GENERATOR DEB)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
if(CMAKE_CROSSCOMPILING AND CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")  # scripts/package.sh sets DEB_HOST_ARCH, too
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
  foreach(folder lib usr/lib)
    list(APPEND CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_SYSROOT}/${folder}/${CMAKE_LIBRARY_ARCHITECTURE})
  endforeach()
endif()
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "g++, cmake, pkg-config, libhdf5-dev, libtbb-dev, libfmt-dev, libssl-dev, libpcre2-dev, libutf8proc-dev, libzstd-dev, zlib1g-dev, libtomlplusplus-dev")
set(CPACK_SOURCE_GENERATOR TXZ)
set(CPACK_SOURCE_PACKAGE_FILE_NAME dikkat-${PROJECT_VERSION}-source)
set(CPACK_SOURCE_IGNORE_FILES "/\\.git/" "^${PROJECT_SOURCE_DIR}/(build|runs)/" "__pycache__" "\\.swp$")
include(CPack)
