#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "autograd/tape/parameters.h"
#include "train/exchange/chat_template_files.h"
#include "train/exchange/foreign_config.h"
#include "train/exchange/formats/weight_file.h"
#include "train/text/tokenizer.h"

namespace dikkat {

struct ImportOptions {
  /// The most tokens that the model sees at once, where no table limits its positions (RoPE); 0: what its files say.
  index context = 0;
  /// A tokenizer (read_tokenizer_file()) in place of the files' own; empty: theirs.
  std::string tokenizer{};
};
/// The windows of a model with a longer context, where nothing else is said (data.window).
inline constexpr index kUsualWindow = 2048;

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
  /// The tensors, and a GGUF file's values.
  const WeightFile& weights() const;
  /// With all defaults, and the size of the vocabulary.
  const TransformerConfig& config() const;
  /// For people: what the files say that is not used, or that contradicts itself.
  const std::vector<std::string>& notes() const;
  /// The context that the files say, which may be more than config()'s.
  index whole_context() const;

  /// The tokenizer of the files, or of the options. Throws InputError where there is none, and for one whose ids ours would not equal.
  /// Adds remarks for people to `notes`, if it is given, as read_tokenizer_file() does.
  std::unique_ptr<Tokenizer> open_tokenizer(std::vector<std::string>* notes = nullptr) const;

  /// The chat templates that come with the model. Throws InputError as chat_templates_in() does.
  ChatTemplateFiles chat_templates() const;

  /// Loads the weights into the store, which has memory and the parameters of config(). Throws InputError unless the files hold exactly
  /// these: what is missing, misshapen or left over is listed at once.
  /// `loaded` is called for each parameter as soon as all of it is read.
  void load_weights(ParameterStore& store, const ParameterStore::Loaded& loaded = {}) const;

 private:
  struct Contents;
  std::unique_ptr<Contents> contents_;
};

}  // namespace dikkat
