#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "autograd/tape/parameters.h"
#include "train/exchange/foreign_config.h"
#include "train/text/tokenizer.h"

namespace dikkat {

struct ImportOptions {
  /// The most tokens that the model sees at once, where no table limits its positions (RoPE); 0: what its files say, but at most
  /// kUsualContext, because the memory for activations grows with it.
  index context = 0;
  /// A tokenizer (read_tokenizer_file()) in place of the files' own; empty: theirs.
  std::string tokenizer{};
};
inline constexpr index kUsualContext = 2048;

/// The template of conversations in a folder of Hugging Face, in Jinja's language (chat_template.jinja, or tokenizer_config.json); empty if there is none.
std::string chat_template_in(const std::filesystem::path& folder);

/// A model in other programs' files: a folder of Hugging Face (config.json, safetensors, tokenizer.json), a GGUF file, llm.c's .bin, or
/// nanoGPT's ckpt.pt. Weights stay in the mapped files until they are loaded.
class ModelFiles {
 public:
  /// Whether this names such files and not a run or checkpoint of ours, judging by names: a folder with a config.json, or a file that ends
  /// in .gguf, .bin or .pt.
  static bool is_at(const std::filesystem::path& path);

  /// Reads everything but weights and tokenizer. Throws InputError for files that are missing, damaged, or describe a model that this
  /// program cannot compute; it says what that would need.
  explicit ModelFiles(const std::filesystem::path& path, const ImportOptions& options = {});
  ~ModelFiles();
  ModelFiles(ModelFiles&&) noexcept;
  ModelFiles& operator=(ModelFiles&&) noexcept;

  const std::filesystem::path& path() const;
  /// "llama, 147 tensors of bf16", for people.
  const std::string& description() const;
  /// With all defaults, and the size of the vocabulary.
  const TransformerConfig& config() const;
  /// The context that the files say, which may be more than config()'s.
  index whole_context() const;

  /// The tokenizer of the files, or of the options. Throws InputError where there is none, and for one whose ids ours would not equal.
  std::unique_ptr<Tokenizer> open_tokenizer() const;

  /// The template of conversations in Jinja's language that comes with the model (tokenizer_config.json, chat_template.jinja, or GGUF's
  /// tokenizer.chat_template); empty if there is none.
  std::string chat_template() const;

  /// Loads the weights into the store, which has memory and the parameters of config(). Throws InputError unless the files hold exactly
  /// these: what is missing, misshapen or left over is listed at once.
  /// `loaded` is called for each parameter as soon as all of it is read.
  void load_weights(ParameterStore& store, const ParameterStore::Loaded& loaded = {}) const;

 private:
  struct Contents;
  std::unique_ptr<Contents> contents_;
};

}  // namespace dikkat
