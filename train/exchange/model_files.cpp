#include "train/exchange/model_files.h"

#include <algorithm>
#include <array>
#include <set>

#include "autograd/base/error.h"
#include "train/config/resolve.h"
#include "train/exchange/formats/weight_file.h"
#include "train/exchange/gguf_model.h"
#include "train/exchange/gguf_tokenizer.h"
#include "train/exchange/hf_config.h"
#include "train/exchange/hf_generation.h"
#include "train/exchange/other_layouts.h"
#include "train/exchange/tensor_map.h"
#include "train/system/byte_reader.h"
#include "train/system/file.h"
#include "train/system/folder.h"
#include "train/text/bpe_tokenizer.h"
#include "train/text/hugging_face/bpe_pipeline.h"
#include "train/text/hugging_face/read_hugging_face_json.h"
#include "train/text/tokenizer_file.h"

namespace dikkat {

namespace fs = std::filesystem;

struct ModelFiles::Contents {
  fs::path path;
  ImportOptions options;
  WeightFormat format = WeightFormat::safetensors;
  WeightFile weights;
  ForeignConfig config{};
  std::span<const TensorRule> rules{};
  FileNames names{};
  index whole_context = 0;
  std::string description{};
};

namespace {

/// Returns whether a file begins as GGUF files do. Ollama keeps them under names without an ending.
bool begins_as_gguf(const fs::path& path) {
  File file;
  std::array<std::byte, 4> first{};
  return is_file(path) && file.open_any(path) == 0 && file.read(0, first) == 0 && as_text(first) == "GGUF";
}

/// Opens the weights of a Hugging Face folder.
WeightFile open_folder(const fs::path& folder) {
  for (const char* name : {"model.safetensors", "model.safetensors.index.json", "pytorch_model.bin"}) {
    if (is_there(folder / name)) {
      return open_weights((folder / name).string());
    }
  }
  require_input(!is_there(folder / "pytorch_model.bin.index.json"), folder.string(),
                " has its weights in several pytorch_model-*.bin files, which dikkat does not read. Convert them to safetensors in Python: "
                "AutoModelForCausalLM.from_pretrained(\"",
                folder.string(), "\").save_pretrained(\"OUT\", safe_serialization=True) and AutoTokenizer.from_pretrained(\"",
                folder.string(), "\").save_pretrained(\"OUT\")");
  require_no_other_layout(folder);
  fail_input(folder.string(),
             " has a config.json but no weights beside it, expected model.safetensors, model.safetensors.index.json or pytorch_model.bin");
}

/// Reads config.json, and how the model's owner generates texts.
ForeignConfig hugging_face_config(const fs::path& folder) {
  const fs::path file = folder / "config.json", generation = folder / "generation_config.json";
  const std::string text = read_bytes(file, 2 << 20);
  ForeignConfig config = read_hf_config(text, file.string());
  if (is_there(generation)) {
    add_hf_generation(read_bytes(generation, 2 << 20), generation.string(), GenerationFile::generation_config, config);
  } else {
    add_hf_generation(text, file.string(), GenerationFile::config, config);
  }
  return config;
}

/// Returns an integer from the file's values. Throws InputError if it is missing or not an integer.
index number(const WeightFile& file, std::string_view key) {
  const MetaValue* value = file.value(key);
  const std::optional<index> found = value != nullptr ? value->integer() : std::nullopt;
  require_input(found.has_value(), file.name(), ": ", key, " is ", value != nullptr ? value->text() : "missing", ", expected an integer");
  return *found;
}

bool flag(const WeightFile& file, std::string_view key, bool absent) {
  const MetaValue* value = file.value(key);
  const std::optional<bool> found = value != nullptr ? value->boolean() : std::nullopt;
  require_input(value == nullptr || found.has_value(), file.name(), ": ", key, " is ", value != nullptr ? value->text() : "",
                ", expected true or false");
  return found.value_or(absent);
}

/// Resolves and validates a file's model as a configuration.
TransformerConfig validated(const WeightFile& file, const TransformerConfig& model) {
  Config config;
  config.model = model;
  resolve(config);
  try {
    validate(config);
  } catch (const InputError& error) {
    fail_input(file.name(), " does not describe a valid model: ", error.what());
  }
  return config.model;
}

ForeignConfig llmc_config(const WeightFile& file) {
  TransformerConfig c{.n_layer = number(file, "layers"),
                      .n_head = number(file, "heads"),
                      .n_embd = number(file, "channels"),
                      .block_size = number(file, "max_seq_len"),
                      .vocab_size = number(file, "vocab_size")};
  return {family_named("gpt2"), validated(file, c), {}};
}

/// Throws InputError for a key of model_args that nanoGPT does not have: a modified copy of nanoGPT may compute something else.
void check_model_args(const WeightFile& file) {
  constexpr std::string_view kPrefix = "model_args/";
  constexpr std::string_view kKnown[] = {"n_layer", "n_head", "n_embd", "block_size", "vocab_size", "bias", "dropout"};
  for (const MetaEntry& entry : file.metadata()) {
    const bool is_known = !entry.key.starts_with(kPrefix) ||
                          std::ranges::find(kKnown, std::string_view(entry.key).substr(kPrefix.size())) != std::end(kKnown);
    require_input(is_known || entry.value.says_nothing(), file.name(), ": ", entry.key, " is ", entry.value.text(),
                  ", a key that nanoGPT does not have, so the model may compute something else");
  }
}

ForeignConfig nanogpt_config(const WeightFile& file) {
  check_model_args(file);
  const auto value = [&](const char* key) { return number(file, concat("model_args/", key)); };
  const bool bias = flag(file, "model_args/bias", true);
  TransformerConfig c{.n_layer = value("n_layer"),
                      .n_head = value("n_head"),
                      .n_embd = value("n_embd"),
                      .block_size = value("block_size"),
                      .vocab_size = value("vocab_size"),
                      .bias = bias};
  return {family_named("gpt2"), validated(file, c), {}};
}

/// Returns the tensors of nanoGPT's model, by their names in the module, without the optimizer's. Names in a compiled model have a prefix.
WeightFile nanogpt_weights(const WeightFile& file) {
  std::vector<WeightTensor> tensors;
  for (WeightTensor tensor : file.tensors()) {
    constexpr std::string_view kModel = "model/";
    constexpr std::string_view kCompiled = "_orig_mod.";
    if (tensor.name.starts_with(kModel)) {
      tensor.name.erase(0, kModel.size());
      tensor.name.erase(0, tensor.name.starts_with(kCompiled) ? kCompiled.size() : 0);
      tensors.push_back(std::move(tensor));
    }
  }
  return {file.name(), std::move(tensors), {}};
}

/// Adds the end tokens that the model's files name to the tokenizer.
std::unique_ptr<Tokenizer> with_ends(std::unique_ptr<Tokenizer> tokenizer, const std::vector<Token>& ends) {
  const auto add = [&](const AddedTokens& added, TextTokens& around) {
    for (const Token end : ends) {
      if (added.contains(end) && std::ranges::find(around.ends, end) == around.ends.end()) {
        around.ends.push_back(end);
      }
    }
  };
  if (ends.empty()) {
    return tokenizer;
  }
  if (const auto* const pipeline = dynamic_cast<const PipelineTokenizer*>(tokenizer.get())) {
    TextTokens around = pipeline->contents().text_tokens;
    add(pipeline->contents().added_tokens, around);
    return pipeline->with_text_tokens(std::move(around));
  }
  if (dynamic_cast<const BpeTokenizer*>(tokenizer.get()) != nullptr) {
    BpeVocabulary vocabulary = from_bpe_json(tokenizer->to_json());
    add(vocabulary.added_tokens, vocabulary.text_tokens);
    return std::make_unique<BpeTokenizer>(std::move(vocabulary));
  }
  return tokenizer;
}

/// Leaves out special tokens whose ids have no row in the model's token table, such as Gemma 3's <image_soft_token>: no text has them.
std::unique_ptr<Tokenizer> without_rowless_tokens(std::unique_ptr<Tokenizer> tokenizer, index rows, std::vector<std::string>* notes) {
  const auto* const pipeline = dynamic_cast<const PipelineTokenizer*>(tokenizer.get());
  if (pipeline == nullptr || tokenizer->vocab_size() <= rows) {
    return tokenizer;
  }
  std::unique_ptr<Tokenizer> fitting = pipeline->cut_to(rows);
  if (fitting == nullptr) {
    return tokenizer;
  }
  if (notes != nullptr) {
    notes->push_back(concat("the tokenizer's special tokens from ", rows, " on, first ",
                            pipeline->contents().text_of(static_cast<Token>(rows)),
                            ", have no row in the model's token table: they are left out"));
  }
  return fitting;
}

/// Handles a file that has a head although its configuration ties the head to the token table. A head with other numbers is used; a copy of
/// the token table is ignored.
void settle_head(const WeightFile& file, std::string_view table, ForeignConfig& config, FileNames& names) {
  constexpr std::string_view kHead = "lm_head.weight";
  const WeightTensor* head = file.find(kHead);
  if (!config.model.tie_embeddings || head == nullptr) {
    return;
  }
  const WeightTensor* tokens = file.find(table);
  tokens = tokens != nullptr ? tokens : file.find(table.substr(std::min(names.prefix.size(), table.size())));
  if (tokens != nullptr && same_numbers(*tokens, *head)) {
    names.repeated = kHead;
    return;
  }
  config.model.tie_embeddings = false;
  config.notes.push_back(concat(file.name(), " holds ", kHead, " with other numbers than ",
                                tokens != nullptr ? tokens->name : std::string(table),
                                ", although the configuration ties them: this head is used (as in transformers 5)"));
}

/// Returns a summary such as "147 tensors of bf16 and f32".
std::string summary(const WeightFile& file) {
  std::set<std::string> types;
  for (const WeightTensor& tensor : file.tensors()) {
    types.insert(tensor.type == WeightType::other ? tensor.type_name : std::string(name_of(tensor.type)));
  }
  std::string list;
  for (const std::string& type : types) {
    list += concat(list.empty() ? "" : " and ", type);
  }
  return concat(file.tensors().size(), " tensors of ", list);
}

}  // namespace

bool ModelFiles::is_at(const fs::path& path) {
  std::error_code none;
  if (fs::is_directory(path, none)) {
    return fs::exists(path / "config.json", none);
  }
  const fs::path end = path.extension();
  return end == ".gguf" || end == ".bin" || end == ".pt" || end == ".pth" || end == ".safetensors" || begins_as_gguf(path);
}

ModelFiles::ModelFiles(const fs::path& given, const ImportOptions& options) {
  // Open the path, which may also be the weights in a folder.
  const bool is_part = (given.extension() == ".safetensors" || given.filename() == "pytorch_model.bin") && !begins_as_gguf(given);
  const fs::path path = is_part ? (given.has_parent_path() ? given.parent_path() : fs::path(".")) : given;
  std::error_code unknown;
  const bool is_folder = fs::is_directory(path, unknown);
  require_input(is_there(path), path.string(), " does not exist, expected a Hugging Face folder, or a GGUF, llm.c or nanoGPT file");
  if (is_folder && !is_there(path / "config.json")) {
    require_no_other_layout(path);
  }
  require_input(!is_folder || is_there(path / "config.json"), path.string(), " has no config.json, expected a Hugging Face folder");
  const WeightFormat format = is_folder ? WeightFormat::safetensors : weight_format_of(path.string());
  contents_ = std::make_unique<Contents>(
      Contents{.path = path, .options = options, .format = format, .weights = is_folder ? open_folder(path) : open_weights(path.string())});
  Contents& c = *contents_;

  // Read the configuration, and choose the names of the tensors.
  switch (format) {
    case WeightFormat::safetensors:
      require_input(is_folder, path.string(), " holds only weights, expected a folder that also has a config.json");
      c.config = hugging_face_config(path);
      c.rules = c.config.family->tensors;
      c.names = {.prefix = c.config.family->prefix, .buffers = c.config.family->buffers};
      settle_head(c.weights, c.rules.front().parts[0].name, c.config, c.names);
      break;
    case WeightFormat::gguf:
      c.config = read_gguf_config(c.weights);
      c.rules = c.config.family->gguf_tensors;
      c.names = {.buffers = kGgufBuffers};
      break;
    case WeightFormat::llmc:
      c.config = llmc_config(c.weights);
      c.rules = llmc_tensor_rules();
      break;
    case WeightFormat::torch:
      c.config = nanogpt_config(c.weights);
      c.rules = nanogpt_tensor_rules();
      c.names = {.buffers = c.config.family->buffers};
      settle_head(nanogpt_weights(c.weights), c.rules.front().parts[0].name, c.config, c.names);
      break;
  }

  // Choose the context.
  TransformerConfig& model = c.config.model;
  c.whole_context = model.block_size;
  require_input(model.rope_scaling != RopeScaling::longrope || options.context <= model.rope_original_context, path.string(),
                " cannot have a context of ", options.context, ", expected at most ", model.rope_original_context,
                ": longer texts need LongRoPE's long factors, which dikkat does not compute");
  if (model.positions == Positions::rope) {
    model.block_size = options.context > 0 ? options.context : c.whole_context;
  } else {
    require_input(options.context == 0 || options.context == model.block_size, path.string(), " has a table of positions for ",
                  model.block_size, " tokens, so its context cannot be ", options.context);
  }
  c.description = concat(c.config.family->name, ", ", summary(c.weights));
}

ModelFiles::~ModelFiles() = default;
ModelFiles::ModelFiles(ModelFiles&&) noexcept = default;
ModelFiles& ModelFiles::operator=(ModelFiles&&) noexcept = default;

const fs::path& ModelFiles::path() const { return contents_->path; }
const std::string& ModelFiles::description() const { return contents_->description; }
const Family& ModelFiles::family() const { return *contents_->config.family; }
const WeightFile& ModelFiles::weights() const { return contents_->weights; }
const TransformerConfig& ModelFiles::config() const { return contents_->config.model; }
const ClassifyConfig& ModelFiles::classify() const { return contents_->config.classify; }
const AnswerSampling& ModelFiles::sampling() const { return contents_->config.sampling; }
const std::vector<std::string>& ModelFiles::notes() const { return contents_->config.notes; }
index ModelFiles::whole_context() const { return contents_->whole_context; }

std::unique_ptr<Tokenizer> ModelFiles::open_tokenizer(std::vector<std::string>* notes) const {
  const Contents& c = *contents_;
  std::unique_ptr<Tokenizer> tokenizer;
  if (!c.options.tokenizer.empty()) {
    tokenizer = read_tokenizer_file(c.options.tokenizer, notes);
  } else if (c.format == WeightFormat::safetensors) {
    tokenizer = read_tokenizer_file(c.path.string(), notes);
  } else {
    require_input(c.format == WeightFormat::gguf, c.path.string(), " holds no tokenizer: give one with --tokenizer PATH");
    tokenizer = read_gguf_tokenizer(c.weights);
  }
  tokenizer = without_rowless_tokens(std::move(tokenizer), c.config.model.vocab_size, notes);
  tokenizer = with_ends(std::move(tokenizer), c.config.end_tokens);
  require_input(tokenizer->vocab_size() <= c.config.model.vocab_size, "the tokenizer of ",
                c.options.tokenizer.empty() ? c.path.string() : c.options.tokenizer, " has ", tokenizer->vocab_size(),
                " tokens, expected at most the model's ", *c.config.model.vocab_size,
                c.options.tokenizer.empty() ? "" : "; give the tokenizer that the model was trained with, or leave --tokenizer out");
  return tokenizer;
}

ChatTemplateFiles ModelFiles::chat_templates() const {
  const Contents& c = *contents_;
  return c.format == WeightFormat::gguf          ? chat_templates_in(c.weights)
         : c.format == WeightFormat::safetensors ? chat_templates_in(c.path)
                                                 : ChatTemplateFiles();
}

void ModelFiles::load_weights(ParameterStore& store, const ParameterStore::Loaded& loaded) const {
  const Contents& c = *contents_;
  auto map = map_tensors(c.rules, c.config.model, store);
  if (c.format == WeightFormat::llmc) {
    pad_rows(map, "wte", number(c.weights, "padded_vocab_size"));
  }
  read_tensors(c.format == WeightFormat::torch ? nanogpt_weights(c.weights) : c.weights, map, c.names, store, loaded);
}

}  // namespace dikkat
