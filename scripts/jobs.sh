#!/usr/bin/env bash
# Does the jobs of docs/JOBS.md with the program that scripts/quickstart.sh built, and checks their ends: a row for each job, with its figure.
#   scripts/jobs.sh             all jobs
#   scripts/jobs.sh NUMBER...   these jobs
# What they write stays in build/jobs. If npm has llama.cpp, it runs the GGUF files that they make; otherwise dikkat does, and the row says so.
# Before job 4, the program for an old processor is built, which takes minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
program=build/release/dikkat
[ -x "$program" ] || { echo "jobs.sh: $program not found: run scripts/quickstart.sh first" >&2; exit 2; }
# Job 4 is for an old laptop, whose processor is emulated: a program for it is needed.
if [[ " ${*:-4} " == *" 4 "* && $(uname -m) == x86_64 ]]; then
  scripts/old-processors.sh build >&2
fi
scripts/clients.sh --install || [ $? -eq 77 ]
exec /usr/bin/python3 tests/jobs/run.py "$program" "$@"
