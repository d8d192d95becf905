#!/usr/bin/env bash
# Runs a test: measure.sh COMMAND... Appends its processor time to the file that DIKKAT_TEST_TIMES names, if it is set: "SECONDS PROGRAM".
[ -n "${DIKKAT_TEST_TIMES:-}" ] || exec "$@"
name=$1
[[ $name != *python3 ]] || name=$2
"$@"
status=$?
times | awk -F '[ms ]+' -v name="${name##*/}" 'NR == 2 { printf "%.2f %s\n", 60 * $1 + $2 + 60 * $3 + $4, name }' >>"$DIKKAT_TEST_TIMES"
exit $status
