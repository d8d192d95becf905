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
  /// The context length in tokens, for models without a table of positions (RoPE); 0: the files' own.
  index context = 0;
  /// The path of a tokenizer (read_tokenizer_file()) that replaces the files' own; empty: keep theirs.
  std::string tokenizer{};
};
/// The default of data.window for a model with a longer context.
inline constexpr index kUsualWindow = 2048;

/// A model in another program's files: a Hugging Face folder (config.json, safetensors, tokenizer.json), a GGUF file, llm.c's .bin, or
/// nanoGPT's ckpt.pt. Weights stay in the mapped files until they are loaded.
class ModelFiles {
 public:
  /// Returns whether the path looks like such files, and not like a dikkat run or checkpoint. Checks only names: a folder has a
  /// config.json, and a file ends in .gguf, .bin, .pt, .pth or .safetensors.
  static bool is_at(const std::filesystem::path& path);

  /// Reads everything except weights and tokenizer. Throws InputError for files that are missing or damaged, and for a model that this
  /// program does not support. The message names what it would need.
  explicit ModelFiles(const std::filesystem::path& path, const ImportOptions& options = {});
  ~ModelFiles();
  ModelFiles(ModelFiles&&) noexcept;
  ModelFiles& operator=(ModelFiles&&) noexcept;

  const std::filesystem::path& path() const;
  /// Returns a description to print: "llama, 147 tensors of bf16".
  const std::string& description() const;
  /// Returns the model's family: its class in Hugging Face, or its architecture in GGUF.
  const Family& family() const;
  /// Returns the file's tensors and values.
  const WeightFile& weights() const;
  /// Returns the model's configuration with all defaults.
  const TransformerConfig& config() const;
  /// Returns the labels of a classifier; it is off for other models.
  const ClassifyConfig& classify() const;
  /// Returns how the model's owner draws answers (generation_config.json).
  const AnswerSampling& sampling() const;
  /// Returns remarks to print: settings that are ignored, and contradictions.
  const std::vector<std::string>& notes() const;
  /// Returns the context length in the files, which options.context replaces in config().
  index whole_context() const;

  /// Opens the tokenizer of the options, or else of the files. Throws InputError if there is none, if its kind is not supported, or if it
  /// has more tokens than the model. Adds remarks to `notes`, unless this is null (read_tokenizer_file()).
  std::unique_ptr<Tokenizer> open_tokenizer(std::vector<std::string>* notes = nullptr) const;

  /// Returns the chat templates that come with the model. Throws InputError as chat_templates_in() does.
  ChatTemplateFiles chat_templates() const;

  /// Loads the weights into the store, which must have memory and the parameters of config(). Throws InputError, which lists all missing,
  /// misshapen and unknown tensors, unless the files hold exactly these parameters. `loaded` is called for each parameter as soon as it is
  /// complete.
  void load_weights(ParameterStore& store, const ParameterStore::Loaded& loaded = {}) const;

 private:
  struct Contents;
  std::unique_ptr<Contents> contents_;
};

}  // namespace dikkat
