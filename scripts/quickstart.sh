#!/usr/bin/env bash
# Goes from a fresh clone to a trained model and its samples: packages, build, half a minute of training, evaluation, samples.
# The tests run everything except the build: quickstart.sh --trial PROGRAM RUN_DIR uses PROGRAM, trains for a few steps and replaces RUN_DIR.
set -euo pipefail
from=$PWD
cd "$(dirname "$0")/.."

train=(train --config configs/quickstart.toml --set 'train.sample_prompts=["The "]')
if [[ $# -eq 3 && $1 == --trial ]]; then
  dikkat=$2
  rm -rf -- "$3"
  train+=(train.max_steps=20 train.eval_interval=10 train.log_interval=10 --out "$3")
elif [[ $# -eq 0 ]]; then
  dikkat=build/release/dikkat
  scripts/install-packages.sh
  log=build/release/build.log
  echo "building the program once, which takes a few minutes (about 5 on two cores); the compiler's output is in $log" >&2
  cmake --preset release >/dev/null
  SHOW_BUILD_SHARES="7 28 42 64 70 72 80 89 95 100" scripts/show-build.sh "$log" cmake --build --preset release -j "$(nproc)"
else
  echo "quickstart.sh: found $1, expected no arguments; when it has finished it prints how to train on your own text" >&2
  exit 2
fi

run=$("$dikkat" "${train[@]}")

echo >&2
echo "The loss over the whole validation split, which the model was not trained on:" >&2
"$dikkat" eval "$run"

echo >&2
echo "Two samples:" >&2
"$dikkat" sample "$run" --prompt "The " --max-new-tokens 300 --num-samples 2

here=
if [[ $from != "$PWD" ]]; then
  here=" in the folder $PWD"
fi
# The tests run each of these commands.
cat >&2 <<TEXT

The run is in $run. What to type next$here:

  $dikkat sample $run --prompt "Once there was"
  $dikkat report $run    # a page with curves, and samples of the model as it learns
  $dikkat finetune $run --data data/questions.jsonl --full --out runs/talks    # it learns to answer
  $dikkat chat runs/talks    # ask for a capital or a sum
  $dikkat serve runs/talks    # for programs that speak OpenAI's protocol
  $dikkat export $run --out quickstart.gguf    # for llama.cpp; without .gguf: a folder for Hugging Face's transformers
  $dikkat train --config configs/quickstart.toml --corpus YOUR-TEXT.txt --out runs/mine
  $dikkat --help

More steps on this text do not lower the loss; a longer text does. finetune, chat, serve and export also take models that you have: a Hugging Face
folder such as SmolLM2-135M-Instruct, or a GGUF file.
TEXT
