#include "train/cli/inspect_files.h"

#include <memory>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "train/chat/chat_template.h"
#include "train/cli/json_output.h"
#include "train/cli/streams.h"
#include "train/cli/text.h"
#include "train/config/schema.h"
#include "train/exchange/model_files.h"
#include "train/model/language_model.h"

namespace dikkat {
namespace {

using FilesJson = nlohmann::ordered_json;

/// What of the files can be read by itself. A part that cannot be read has a problem in its place, and the others are still shown.
struct FilesSummary {
  index parameters = 0;
  std::unique_ptr<Tokenizer> tokenizer{};
  std::string tokenizer_problem{};
  ChatTemplateFiles templates{};
  std::string template_problem{};
  std::optional<TemplateName> known{};  // the template, if dikkat knows it
  std::vector<std::string> notes{};
};

FilesSummary summary_of(const ModelFiles& files) {
  FilesSummary all{.notes = files.notes()};
  all.parameters = LanguageModel(files.config(), files.config().vocab_size).parameters().parameter_count();
  try {
    all.tokenizer = files.open_tokenizer(&all.notes);
  } catch (const InputError& error) {
    all.tokenizer_problem = error.what();
  }
  try {
    all.templates = files.chat_templates();
    const auto form = all.tokenizer != nullptr && !all.templates.text.empty() ? known_template(all.templates.text, *all.tokenizer) : std::nullopt;
    all.known = form ? std::optional(form->name) : std::nullopt;
  } catch (const InputError& error) {
    all.template_problem = error.what();
  }
  return all;
}

std::string template_line(const FilesSummary& all) {
  if (!all.template_problem.empty()) {
    return "cannot be read: " + all.template_problem;
  }
  if (all.templates.text.empty()) {
    return "none";
  }
  std::string line = all.known ? std::string(name_of(*all.known)) : "one that dikkat does not know";
  line += fmt::format(" ({} characters of Jinja)", grouped_digits(std::ssize(all.templates.text)));
  for (const std::string& other : all.templates.others) {
    line += ", " + other;
  }
  return line;
}

/// The keys of [model] that have an effect, with their values as TOML writes them.
std::vector<std::pair<std::string, std::string>> keys_of_model(const TransformerConfig& model) {
  Config config;
  config.model = model;
  std::vector<std::pair<std::string, std::string>> all;
  for (const schema::Key& key : schema::keys()) {
    if (key.section == "model" && (key.rule.has_effect == nullptr || key.rule.has_effect(config))) {
      all.emplace_back(key.name, schema::to_toml(key.get(config)));
    }
  }
  return all;
}

FilesJson to_json(const ModelFiles& files, const FilesSummary& all) {
  FilesJson model = FilesJson::object(), tensors = FilesJson::array();
  for (const auto& [key, value] : keys_of_model(files.config())) {
    model[key] = value;
  }
  for (const WeightTensor& tensor : files.weights().tensors()) {
    tensors.push_back({{"name", tensor.name}, {"type", tensor.type_name}, {"shape", tensor.shape}, {"bytes", tensor.bytes}});
  }
  FilesJson tokenizer = FilesJson::object();
  if (all.tokenizer != nullptr) {
    tokenizer["kind"] = all.tokenizer->kind();
    tokenizer["vocab_size"] = all.tokenizer->vocab_size();
  } else {
    tokenizer["problem"] = all.tokenizer_problem;
  }
  FilesJson form;
  if (!all.template_problem.empty()) {
    form["problem"] = all.template_problem;
  } else if (!all.templates.text.empty()) {
    form["known"] = all.known ? FilesJson(name_of(*all.known)) : FilesJson();
    form["others"] = all.templates.others;
    form["text"] = all.templates.text;
  }
  return {{"files", files.path().string()}, {"description", files.description()}, {"parameters", all.parameters},
          {"context", files.whole_context()}, {"tokenizer", tokenizer},           {"chat_template", form},
          {"notes", all.notes},               {"model", model},                   {"tensors", tensors}};
}

}  // namespace

void inspect_files(const std::string& source, bool json) {
  const ModelFiles files(source);
  const FilesSummary all = summary_of(files);
  if (json) {
    put_json(to_json(files, all));
    flush_results();
    return;
  }
  const auto line = [](const char* name, const std::string& text) { put(for_terminal(fmt::format("{:<11} {}", name, text)) + '\n'); };
  line("model", fmt::format("{}: {}", files.path().string(), files.description()));
  line("parameters", grouped_digits(all.parameters));
  line("context", grouped_digits(files.whole_context()) + " tokens");
  line("tokenizer", all.tokenizer != nullptr ? fmt::format("{}, {} tokens", all.tokenizer->kind(), grouped_digits(all.tokenizer->vocab_size()))
                                             : "cannot be read: " + all.tokenizer_problem);
  line("template", template_line(all));
  for (const std::string& note : all.notes) {
    line("note", note);
  }
  put("\nmodel\n");
  for (const auto& [key, value] : keys_of_model(files.config())) {
    put(fmt::format("  {:<28} {}\n", key, value));
  }
  put("\ntensors\n");
  for (const WeightTensor& tensor : files.weights().tensors()) {
    put(for_terminal(fmt::format("  {:<44} {} {}", tensor.name, tensor.type_name, shape_text(tensor.shape))) + '\n');
  }
  flush_results();
}

}  // namespace dikkat
