#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "autograd/base/index.h"

namespace dikkat {

// A family of models, as other programs know it, is one table in families/. The table has the names of its keys in configuration files,
// the names of its tensors in weight files, and the tensors' layouts. Import and export both read it.

/// The ways in which another program's value of a key follows from ours.
enum class Form {
  same,
  inverse,       // 1 / ours: a divisor
  inverse_root,  // 1 / ours^2, a whole number: the square root of theirs divides
};
double ours_of(Form form, double theirs);
/// Returns their value, rounded to 15 digits so that ours comes back unchanged.
double theirs_of(Form form, double ours);

/// A key of another program's configuration, and the key of [model] with the same meaning.
struct KeyName {
  std::string_view theirs;
  std::string_view ours;
  /// The value that a file without the key means, as TOML writes it. kRequired: the file is refused. kDerived: [model]'s own default.
  std::string_view absent;
  Form form = Form::same;
};
inline constexpr std::string_view kRequired = "";
inline constexpr std::string_view kDerived = "derived";

/// A key of [model] that has the same value in all models of the family, as TOML writes it.
struct FixedKey {
  std::string_view key, value;
};

/// A key of another program's configuration that must have one value, because this program cannot compute models with another one.
struct NeededValue {
  std::string_view key;
  /// The value that the key must have if it is present, as JSON. "=KEY" means the value of a key of [model].
  std::string_view value;
  /// The value that a file without the key means, as JSON; empty: `value`.
  std::string_view absent{};
  /// Advice for the message about another value.
  std::string_view advice{};
};

/// How a file stores the elements of a tensor, or of one of its parts.
enum class Layout {
  same,          // as ours, (out, in)
  transposed,    // (in, out): Hugging Face's Conv1D
  rotary_pairs,  // rows 0, D / 2, 1, D / 2 + 1 ... of each head: GGUF's llama architecture rotates neighbors
  rotary_first,  // each head's rotated rows, in two halves, then its others: partial RoPE of other programs (rope_share)
  less_one,      // w where ours is 1 + w: Gemma's norms
};

struct TensorPart {
  std::string_view name;  // '#' stands for the layer's index; without it, one tensor holds all layers
  Layout layout = Layout::same;
};

/// One of our tensors, and the tensors of a file that hold its rows one after another (q | k | v, gate | up). Parts with one name are parts
/// of one tensor.
struct TensorRule {
  std::string_view ours;
  std::array<TensorPart, 3> parts;  // unused parts have no name
};

struct Family {
  std::string_view name;          // Hugging Face's model_type, GGUF's general.architecture
  std::string_view architecture;  // the class in transformers
  std::string_view classifier{};  // its class with a head for labels; empty: there is none
  std::span<const FixedKey> fixed;
  /// Keys of [model] that have several forms: hf_config.cpp and gguf_model.cpp read and write them.
  std::span<const std::string_view> coded{};
  double rope_theta = 10'000;                         // the value for a config.json without the key
  index window = 0;                                   // the value for a config.json without sliding_window; 0: no window
  std::string_view kind_of_layer = "full_attention";  // the only kind in layer_types, if the family has no windows
  bool needs_layer_types = false;                     // whether a config.json without layer_types means layers of another kind
  // Hugging Face: config.json, and tensors in safetensors.
  std::span<const KeyName> config;
  std::span<const NeededValue> needed;
  std::span<const std::string_view> ignored;  // keys that do not change what the model computes
  std::span<const TensorRule> tensors;
  std::string_view prefix;                    // a prefix of tensors' names, which a model that was saved without its head lacks
  std::span<const std::string_view> buffers;  // the ends of names of tensors that are not weights
  // GGUF: keys without "<name>.". If they are empty, GGUF does not have this architecture.
  std::span<const KeyName> gguf;
  std::span<const NeededValue> gguf_needed;
  std::span<const std::string_view> gguf_ignored;
  std::span<const TensorRule> gguf_tensors;
  std::string_view gguf_name{};  // general.architecture, if it is not `name`
  /// Keys of [model] that GGUF has no name for, with the values that llama.cpp takes. kDerived: [model]'s own default.
  std::span<const FixedKey> gguf_implied{};
  /// Whether the family always has biases, so that an export writes zeros for those that our model does not have.
  bool has_all_biases = false;
  /// Keys of [model] that GGUF has several forms for: gguf_model.cpp reads and writes them.
  std::span<const std::string_view> gguf_coded{};
};

/// Returns all families.
std::span<const Family> families();
/// Returns the names of all families: "gpt2, llama, ...".
std::string family_names();
/// Returns the family with this name, or null.
const Family* family_named(std::string_view name);
/// Returns GGUF's name of a family.
inline std::string_view gguf_name_of(const Family& family) { return family.gguf_name.empty() ? family.name : family.gguf_name; }
/// Returns the family of a GGUF architecture, or null.
const Family* family_of_gguf(std::string_view architecture);
/// Returns whether hf_config.cpp and gguf_model.cpp read and write this key for the family.
bool is_coded(const Family& family, std::string_view key);

/// Our paths of the token table and of the output head, which a model with tied embeddings does not have.
inline constexpr std::string_view kTokenTable = "wte.weight", kHeadWeight = "lm_head.weight";
/// The path of a classifier's head, which has this name in Hugging Face's files too.
inline constexpr std::string_view kScoreWeight = "score.weight";
/// Returns the family's name of the tensor that holds one of our parameters by itself, or an empty string if it has none.
std::string_view name_in(std::span<const TensorRule> rules, std::string_view ours);

/// Returns the tensors of llm.c's files and of nanoGPT's checkpoints. Both programs have GPT-2 models.
std::span<const TensorRule> llmc_tensor_rules();
std::span<const TensorRule> nanogpt_tensor_rules();

}  // namespace dikkat
