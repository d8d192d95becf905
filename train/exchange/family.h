#pragma once

#include <array>
#include <span>
#include <string_view>

namespace dikkat {

// A family of models as other programs know it is one table in families.cpp: how configuration files say its keys, how weight files name
// its tensors, and where these lie differently from ours. Import and export both read it.

/// A key of another program's configuration, and the key of [model] that means the same.
struct KeyName {
  std::string_view theirs;
  std::string_view ours;
  /// What a file without the key means: a value as TOML writes it; kRequired: the file is refused; kDerived: [model]'s own default.
  std::string_view absent;
};
inline constexpr std::string_view kRequired = "";
inline constexpr std::string_view kDerived = "derived";

/// A key of [model] with the only value that the family has, as TOML writes it.
struct FixedKey {
  std::string_view key, value;
};

/// A key of another program's configuration that changes what a model computes in a way that this program does not have.
struct NeededValue {
  std::string_view key;
  /// The value, as JSON, that the key must have where it is given. "=KEY" is the value of a key of [model].
  std::string_view value;
  /// The value, as JSON, that a file without the key means; empty: `value`.
  std::string_view absent{};
  /// What to do about another value, for the message.
  std::string_view advice{};
};

/// How the elements of a tensor, or of one of its parts, lie in a file, compared with ours, (out, in).
enum class Turn {
  none,
  transposed,    // (in, out): Hugging Face's Conv1D
  rotary_pairs,  // rows 0, D / 2, 1, D / 2 + 1 ... of each head: the llama architecture of GGUF rotates neighbours
};

struct TensorPart {
  std::string_view name;  // '#' stands for the number of the layer; without it, one tensor holds all layers
  Turn turn = Turn::none;
};

/// One of our tensors, and the tensor or tensors of a file that hold its rows one after another (q | k | v, gate | up).
struct TensorRule {
  std::string_view ours;
  std::array<TensorPart, 3> parts;  // unused ones have no name
};

struct Family {
  std::string_view name;          // model_type of Hugging Face, general.architecture of GGUF
  std::string_view architecture;  // the class in transformers
  std::span<const FixedKey> fixed;
  std::span<const KeyName> config;            // of config.json
  std::span<const NeededValue> needed;        // likewise
  std::span<const std::string_view> ignored;  // likewise: keys that do not change what the model computes
  std::span<const TensorRule> tensors;        // of safetensors
  std::string_view prefix;                    // that tensors' names may lack: the model was saved without its head
  std::span<const std::string_view> buffers;  // tensors that hold no weights: the ends of their names
  std::span<const KeyName> gguf;              // of GGUF, without "<name>."; empty: GGUF has no such architecture
  std::span<const NeededValue> gguf_needed;
  std::span<const std::string_view> gguf_ignored;
  std::span<const TensorRule> gguf_tensors;
  /// Whether biases that our model does not have can be written as zeros, because the family always has them.
  bool has_all_biases = false;
};

/// All families.
std::span<const Family> families();
/// Null if there is none of this name.
const Family* family_named(std::string_view name);

/// Of llm.c's files and nanoGPT's checkpoints, whose models are GPT-2's.
std::span<const TensorRule> llmc_tensor_rules();
std::span<const TensorRule> nanogpt_tensor_rules();

}  // namespace dikkat
