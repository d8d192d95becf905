#!/usr/bin/env bash
# Faults of all kinds on the built program, and a table of what became of them: tests/torture has the tests, --help the options.
set -euo pipefail
exec python3 "$(dirname "$(readlink -f "$0")")/../tests/torture/torture.py" "$@"
