#include "train/exchange/export_model.h"

#include <utility>

#include "autograd/base/error.h"
#include "train/exchange/foreign_config.h"
#include "train/exchange/formats/gguf_writer.h"
#include "train/exchange/formats/llmc.h"
#include "train/exchange/formats/safetensors.h"
#include "train/exchange/gguf_model.h"
#include "train/exchange/gguf_sampling.h"
#include "train/exchange/hf_config.h"
#include "train/exchange/hf_generation.h"
#include "train/exchange/tensor_map.h"
#include "train/exchange/tokenizer_files.h"
#include "train/system/file.h"
#include "train/system/new_folder.h"

namespace dikkat {
namespace {

namespace fs = std::filesystem;

const Family& family_for(const TransformerConfig& config, const char* format) {
  std::string why;
  const Family* family = family_of(config, why);
  require_input(family != nullptr, format, " has no model of this kind: ", why);
  return *family;
}

void require_type(WeightType type, std::initializer_list<WeightType> possible, const char* format) {
  std::string list;
  for (const WeightType one : possible) {
    if (one == type) {
      return;
    }
    list += concat(list.empty() ? "" : ", ", one);
  }
  fail_input(format, " has no weights of ", type, ", expected one of ", list);
}

/// Returns torch's name of a type.
std::string_view torch_name(WeightType type) {
  return type == WeightType::bf16 ? "bfloat16" : type == WeightType::f16 ? "float16" : "float32";
}

void export_hugging_face(const ModelToExport& m, const fs::path& path, WeightType type) {
  require_type(type, {WeightType::f32, WeightType::f16, WeightType::bf16}, "Hugging Face's safetensors");
  TransformerConfig config = m.config;
  const bool classifies = std::exchange(config.classes, 0) > 0;
  const Family& family = family_for(config, "Hugging Face");
  require_input(!classifies || !family.classifier.empty(), "transformers has no class with a head for labels in the family ", family.name,
                " (model.classes is ", m.config.classes, "), expected a model of another family, such as gpt2, llama, qwen2 or qwen3");
  const auto map = map_tensors(family.tensors, m.config, m.parameters, family.has_all_biases);
  TextTokens around = m.tokenizer.text_tokens();
  if (m.answer_end && std::find(around.ends.begin(), around.ends.end(), *m.answer_end) == around.ends.end()) {
    around.ends.push_back(*m.answer_end);
  }
  const HuggingFaceFiles files =
      hugging_face_files_of(m.tokenizer, {.context = exported_context(m.config), .chat_template = m.chat_template, .pads = classifies});

  NewFolder new_folder(path);
  const fs::path& folder = new_folder.path();
  write_safetensors((folder / "model.safetensors").string(), new_tensors(map, m.parameters, [=](const MappedTensor&) { return type; }));
  replace_file(
      folder / "config.json",
      hf_config_text(family, config,
                     {.dtype = torch_name(type), .bos = around.bos, .eos = around.eos, .classify = classifies ? &m.classify : nullptr}));
  replace_file(folder / "generation_config.json", hf_generation_text(around, m.sampling));
  replace_file(folder / "tokenizer.json", files.tokenizer_json);
  replace_file(folder / "tokenizer_config.json", files.tokenizer_config_json);
  replace_file(folder / "special_tokens_map.json", files.special_tokens_map_json);
  if (m.vectors) {
    write_vector_files(folder, *m.vectors);
  }
  new_folder.finish();
}

/// Adds the tokens other than eos that end a text. GGUF has places for the end of a turn, and of a message with a call.
void add_gguf_ends(const ModelToExport& m, std::vector<MetaEntry>& metadata, std::vector<std::string>& remarks) {
  const TextTokens around = m.tokenizer.text_tokens();
  std::vector<Token> ends;
  if (m.answer_end) {
    ends.push_back(*m.answer_end);
  }
  for (const Token end : around.ends) {
    // Readers know the token between documents by its name.
    if (end != around.eos && end != m.answer_end && end != m.tokenizer.separator()) {
      ends.push_back(end);
    }
  }
  constexpr const char* kPlaces[] = {"tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"};
  std::string lost;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (i < std::size(kPlaces)) {
      metadata.push_back({kPlaces[i], MetaValue(static_cast<std::uint32_t>(ends[i]))});
    } else {
      lost += concat(lost.empty() ? "" : ", ", in_quotes(m.tokenizer.decode(std::span(&ends[i], 1))));
    }
  }
  if (!lost.empty()) {
    remarks.push_back(concat("GGUF has places for three tokens that end a text; these do not end one any more: ", lost));
  }
}

std::vector<std::string> export_gguf(const ModelToExport& m, const fs::path& path, const ExportOptions& options) {
  require_type(options.type, {WeightType::f32, WeightType::f16, WeightType::bf16, WeightType::q8_0, WeightType::q4_0}, "GGUF");
  const Family& family = family_for(m.config, "GGUF");
  std::vector<std::string> remarks;
  std::vector<MetaEntry> metadata = gguf_metadata(family, m.config, m.tokenizer, options, remarks);
  const auto map = map_tensors(family.gguf_tensors, m.config, m.parameters, family.has_all_biases);
  index other = 0;
  const auto type_of = [&](const MappedTensor& tensor) {
    if (tensor.shape.size() == 1 || tensor.name == "position_embd.weight") {
      return WeightType::f32;  // as llama.cpp's converter writes them
    }
    if (tensor.shape.back() % layout_of(options.type).elements != 0) {
      ++other;
      return WeightType::f16;
    }
    return options.type;
  };
  std::vector<NewTensor> tensors = new_tensors(map, m.parameters, type_of);
  add_gguf_rope_divisors(m.config, tensors);
  if (!m.chat_template.empty()) {
    metadata.push_back({"tokenizer.chat_template", MetaValue(m.chat_template)});
  }
  add_gguf_ends(m, metadata, remarks);
  add_gguf_sampling(m.sampling, metadata);
  write_gguf(path.string(), metadata, tensors);
  if (other > 0) {
    remarks.push_back(
        concat(other, " matrices are stored as f16, because their rows are not multiples of 32 numbers, the block of ", options.type));
  }
  return remarks;
}

std::vector<std::string> export_llmc(const ModelToExport& m, const fs::path& path, WeightType type) {
  constexpr index kRows = 128;           // llm.c pads the rows of wte to a multiple of this
  constexpr double kLlmcNormEps = 1e-5;  // llm.c's own constant
  require_type(type, {WeightType::f32, WeightType::bf16}, "llm.c");
  const Family& family = family_for(m.config, "llm.c");
  require_input(family.name == "gpt2", "llm.c has no model of the family ", family.name, ", expected gpt2");
  require_input(m.config.tie_embeddings, "llm.c has no separate output head: model.tie_embeddings is false, expected true");
  require_input(m.config.n_hidden == 4 * m.config.n_embd, "llm.c fixes the width of the feed-forward: model.n_hidden is ",
                *m.config.n_hidden, ", expected 4 n_embd = ", 4 * m.config.n_embd);
  require_input(m.config.norm_eps == kLlmcNormEps, "llm.c fixes the epsilon of layer norms: model.norm_eps is ", m.config.norm_eps,
                ", expected ", kLlmcNormEps);
  const LlmcHeader header{.max_seq_len = m.config.block_size,
                          .vocab_size = m.config.vocab_size,
                          .layers = m.config.n_layer,
                          .heads = m.config.n_head,
                          .channels = m.config.n_embd,
                          .padded_vocab_size = round_up(m.config.vocab_size, kRows)};
  auto map = map_tensors(llmc_tensor_rules(), m.config, m.parameters, true);
  pad_rows(map, "wte", header.padded_vocab_size);
  write_llmc(path.string(), header, new_tensors(map, m.parameters, [=](const MappedTensor&) { return type; }));
  return {concat("llm.c's files hold only the weights: the tokenizer", m.chat_template.empty() ? "" : ", the chat template",
                 " and how answers are drawn are not in it")};
}

}  // namespace

std::vector<std::string> export_model(const ModelToExport& model, const fs::path& path, const ExportOptions& options) {
  require_input(!is_there(path), path.string(), " exists and is never overwritten: choose a new name");
  require_input(model.config.classes == 0 || options.format == ExportFormat::hf, name_of(options.format),
                " has no models that give texts labels, but this one is a classifier of ", model.config.classes,
                " labels (model.classes), expected --format hf, a Hugging Face folder");
  switch (options.format) {
    case ExportFormat::hf: export_hugging_face(model, path, options.type); return {};
    case ExportFormat::gguf: return export_gguf(model, path, options);
    case ExportFormat::llmc: return export_llmc(model, path, options.type);
  }
  fail("export: the format is unknown");
}

}  // namespace dikkat
