# cmake -DPROGRAM=dikkat -DCHANGELOG=FILE -DOUT=FOLDER -P write_words.cmake: the manual pages and the completions of three shells, from the program's
# own words, and Debian's changelog; compressed where Debian wants that. PROGRAM may be EMULATOR|OPTION|dikkat.
cmake_minimum_required(VERSION 3.25)
string(REPLACE "|" ";" program "${PROGRAM}")
set(ENV{GOMP_SPINCOUNT} 1000)  # otherwise the program starts itself once more, without the emulator
file(REMOVE_RECURSE ${OUT})
file(MAKE_DIRECTORY ${OUT})
execute_process(COMMAND ${program} man ${OUT}/man1 COMMAND_ERROR_IS_FATAL ANY)
foreach(shell bash:dikkat.bash zsh:_dikkat fish:dikkat.fish)
  string(REPLACE ":" ";" parts ${shell})
  list(GET parts 0 name)
  list(GET parts 1 file)
  execute_process(COMMAND ${program} completion ${name} OUTPUT_FILE ${OUT}/${file} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
file(COPY_FILE ${CHANGELOG} ${OUT}/changelog)
file(GLOB pages ${OUT}/man1/*)
execute_process(COMMAND gzip -9n ${pages} ${OUT}/changelog COMMAND_ERROR_IS_FATAL ANY)
file(TOUCH ${OUT}/made)
