# cmake -DBUILD=... -DPREFIX=... -P install.cmake: installs the build into an empty folder.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${PREFIX})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${PREFIX} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${PREFIX}/bin/dikkat --version COMMAND_ERROR_IS_FATAL ANY)
# The recipes are installed with their text, and found by name from any folder.
execute_process(COMMAND ${PREFIX}/bin/dikkat plan --config quickstart --set train.batch_size=1 --json WORKING_DIRECTORY ${PREFIX}
  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
