#!/usr/bin/env bash
# Injects faults of all kinds into the built program and prints a table of the outcomes. The tests are in tests/torture; --help lists options.
set -euo pipefail
exec python3 "$(dirname "$(readlink -f "$0")")/../tests/torture/torture.py" "$@"
