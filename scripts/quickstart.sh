#!/usr/bin/env bash
# From an empty clone to a trained model and its samples: packages, build, about a minute of training, evaluation, samples.
set -euo pipefail
[[ $# -eq 0 ]] || { echo "quickstart.sh: found $1, expected no arguments; to train on your own text, type what it prints at its end" >&2; exit 2; }
cd "$(dirname "$0")/.."

scripts/install-packages.sh
echo "building the program (once)" >&2
cmake --preset release >/dev/null
cmake --build --preset release >/dev/null

dikkat=build/release/dikkat
run=$($dikkat train --config configs/quickstart.toml)

echo >&2
echo "The loss over the whole validation part, text that it was never trained on:" >&2
$dikkat eval "$run" --best

echo >&2
echo "Two samples:" >&2
$dikkat sample "$run" --best --prompt "The " --max-new-tokens 300 --num-samples 2

cat >&2 <<TEXT

The run is in $run. What to type next:

  $dikkat sample $run --prompt "Once there was"
  $dikkat resume $run --set train.max_steps=4000
  $dikkat train --config configs/quickstart.toml --corpus YOUR-TEXT.txt --out runs/mine
  $dikkat --help
TEXT
