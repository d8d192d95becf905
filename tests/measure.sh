#!/usr/bin/env bash
# Runs a test: measure.sh COMMAND... Appends a line to the file that DIKKAT_TEST_TIMES names, if it is set: seconds of processor time in the
# program and in the system, and the program's name.
[ -n "${DIKKAT_TEST_TIMES:-}" ] || exec "$@"
name=$1
[[ $name != *python3 ]] || name=$2
TIMEFORMAT="%U %S ${name##*/}"
{ time "$@" 2>&3 3>&-; } 3>&2 2>>"$DIKKAT_TEST_TIMES"
