#!/usr/bin/env bash
# Runs the commands of lessons, as a teacher would before the class, and prints how long each lesson's commands take on this machine.
#   source ~/dikkat/docs/course/start.sh     in an empty folder
#   try.sh [LESSON...]                       by default 1 2 3 4 5 6
set -euo pipefail
course=$(cd "$(dirname "$0")" && pwd)
[ $# -gt 0 ] || set -- 1 2 3 4 5 6
for lesson; do
  pages=("$course/$lesson"-*.md)
  [ -e "${pages[0]}" ] || { echo "try.sh: found no lesson $lesson, expected some of 1 to 6" >&2; exit 2; }
  began=$(date +%s)
  awk '/^```$/ { on = 0 } on { print } /^```sh$/ { on = 1 }' "${pages[0]}" > "lesson-$lesson.sh"
  if ! bash -e "lesson-$lesson.sh" > "lesson-$lesson.log" 2>&1 < /dev/null; then
    tail -n 5 "lesson-$lesson.log" >&2
    echo "try.sh: lesson $lesson ended early: $PWD/lesson-$lesson.log has its output" >&2
    exit 1
  fi
  echo "lesson $lesson: $(($(date +%s) - began)) seconds"
done
