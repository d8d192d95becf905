#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "train/chat/chat_template.h"
#include "train/cli/commands.h"
#include "train/cli/shared_options.h"
#include "train/cli/terminal/json_output.h"
#include "train/cli/terminal/streams.h"
#include "train/cli/terminal/text.h"
#include "train/config/key_effect.h"
#include "train/config/schema.h"
#include "train/exchange/model_files.h"
#include "train/exchange/other_layouts.h"
#include "train/metrics/run_history.h"
#include "train/model/language_model.h"
#include "train/model/trained_model.h"
#include "train/system/folder.h"
#include "train/system/json.h"
#include "train/web/report/sparkline.h"

namespace dikkat {
namespace {

struct InspectArguments {
  std::string source;
  bool best = false;
  bool json = false;
};

using Json = nlohmann::ordered_json;

Json state_of(const CheckpointFile& checkpoint) {
  Json state;
  for_each_field(checkpoint.state(), [&](const StateField& field, const auto& value) { state[std::string(field.name)] = value; });
  return state;
}

/// Returns whether the tensor is a parameter of the model or its adapters.
bool is_parameter(const StoredTensor& tensor) { return tensor.path.starts_with("model/") || tensor.path.starts_with("adapter/"); }

index parameter_count(const CheckpointFile& checkpoint) {
  index count = 0;
  for (const StoredTensor& tensor : checkpoint.tensors()) {
    count += is_parameter(tensor) ? tensor.shape.size() : 0;
  }
  return count;
}

/// Tensors that have something in common, in the order of the groups' names.
struct Group {
  index tensors = 0;
  index elements = 0;
  index bytes = 0;

  void add(index more_elements, index more_bytes) {
    ++tensors;
    elements += more_elements;
    bytes += more_bytes;
  }
};
using Groups = std::map<std::string, Group>;

/// Returns the groups of a checkpoint's tensors: "model", and each of the optimizer's slabs.
Groups groups_of(const CheckpointFile& checkpoint) {
  Groups groups;
  for (const StoredTensor& tensor : checkpoint.tensors()) {
    groups[tensor.path.substr(0, tensor.path.rfind('/'))].add(tensor.shape.size(), tensor.bytes);
  }
  return groups;
}

/// Groups tensors by their types, which files of llama.cpp mix.
Groups types_of(const WeightFile& file) {
  Groups types;
  for (const WeightTensor& tensor : file.tensors()) {
    types[tensor.type_name].add(tensor.elements, tensor.bytes);
  }
  return types;
}

std::string listed(const Groups& groups) {
  std::string lines;
  for (const auto& [path, group] : groups) {
    lines += fmt::format("  {:<28} {} tensors, {} elements, {}\n", path, grouped_digits(group.tensors), grouped_digits(group.elements),
                         short_bytes(group.bytes));
  }
  return lines;
}

/// Returns the run directory of a checkpoint, if it lies in one.
std::filesystem::path run_directory_of(const CheckpointFile& checkpoint) {
  return absolute_path(checkpoint.path()).parent_path().parent_path();
}

/// Returns the losses up to the checkpoint's step: "loss        █▅▃▂▁▁  from 4.2213 to 1.4012; lowest validation loss 1.5020 at step 700".
/// Empty without metrics.
std::string curve_of(const CheckpointFile& checkpoint) {
  constexpr int kWidth = 40;
  HistoryReader reader(run_directory_of(checkpoint));
  reader.update();
  std::vector<double> losses;
  for (const RunHistory::Step& one : reader.history().steps) {
    if (one.report.step <= checkpoint.state().step) {
      losses.push_back(one.report.loss);
    }
  }
  const std::string line = sparkline(losses, kWidth);
  if (line.empty()) {
    return "";
  }
  // A checkpoint is saved before its step is evaluated, so the validation loss is read from metrics.jsonl.
  std::string validation;
  double lowest = std::numeric_limits<double>::infinity();
  for (const RunHistory::Evaluation& one : reader.history().evaluations) {
    if (one.report.step <= checkpoint.state().step && one.report.val_loss < lowest) {
      lowest = one.report.val_loss;
      validation = fmt::format("; lowest validation loss {:.4f} at step {}", lowest, one.report.step);
    }
  }
  return fmt::format("loss        {}  from {:.4f} to {:.4f}{}\n", line, losses.front(), losses.back(), validation);
}

Json to_json(const RunHeader& header) {
  const Provenance& by = header.provenance;
  return {{"date", by.date}, {"version", by.version},     {"commit", by.commit},   {"command", by.command},
          {"host", by.host}, {"processor", by.processor}, {"threads", by.threads}, {"corpus", header.corpus}};
}

std::string started(const Provenance& by) {
  return fmt::format("run started {} on {} ({}, {} threads) with dikkat {} ({}): {}", by.date, by.host, by.processor, by.threads,
                     by.version, by.commit, command_line_of(by));
}

// Imported models.

/// The parts of the files, which are read one by one. If a part cannot be read, its problem is kept, and the others are still shown.
struct FilesSummary {
  index parameters = 0;
  std::unique_ptr<Tokenizer> tokenizer{};
  std::string tokenizer_problem{};
  ChatTemplateFiles templates{};
  std::string template_problem{};
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
    if (all.tokenizer != nullptr && !all.templates.text.empty()) {
      chat_template(TemplateName::own, *all.tokenizer, all.templates.text);
    }
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
  std::string line = fmt::format("its own ({} characters of Jinja)", grouped_digits(std::ssize(all.templates.text)));
  for (const std::string& other : all.templates.others) {
    line += ", " + other;
  }
  return line;
}

/// Returns the keys of [model] that have an effect, with their values as TOML writes them.
std::vector<std::pair<std::string, std::string>> keys_of_model(const TransformerConfig& model) {
  Config config;
  config.model = model;
  std::vector<std::pair<std::string, std::string>> all;
  for (const schema::Key& key : schema::keys()) {
    if (key.section == "model" && schema::has_effect(key, config)) {
      all.emplace_back(key.name, schema::to_toml(key.get(config)));
    }
  }
  return all;
}

Json to_json(const ModelFiles& files, const FilesSummary& all) {
  Json model = Json::object(), types = Json::object(), tensors = Json::array();
  for (const auto& [key, value] : keys_of_model(files.config())) {
    model[key] = value;
  }
  for (const auto& [name, type] : types_of(files.weights())) {
    types[name] = {{"tensors", type.tensors}, {"elements", type.elements}, {"bytes", type.bytes}};
  }
  for (const WeightTensor& tensor : files.weights().tensors()) {
    tensors.push_back({{"name", tensor.name}, {"type", tensor.type_name}, {"shape", tensor.shape}, {"bytes", tensor.bytes}});
  }
  Json tokenizer = Json::object();
  if (all.tokenizer != nullptr) {
    tokenizer["kind"] = all.tokenizer->kind();
    tokenizer["vocab_size"] = all.tokenizer->vocab_size();
  } else {
    tokenizer["problem"] = all.tokenizer_problem;
  }
  Json form;
  if (!all.template_problem.empty()) {
    form["problem"] = all.template_problem;
  } else if (!all.templates.text.empty()) {
    form["others"] = all.templates.others;
    form["text"] = all.templates.text;
  }
  return {{"files", files.path().string()},
          {"description", files.description()},
          {"parameters", all.parameters},
          {"context", files.whole_context()},
          {"tokenizer", tokenizer},
          {"chat_template", form},
          {"notes", all.notes},
          {"model", model},
          {"types", types},
          {"tensors", tensors}};
}

/// Prints the contents of an imported model, for people or as one JSON object. Throws InputError for files that are damaged or describe a
/// model that dikkat cannot compute.
void inspect_files(const std::string& source, bool json) {
  const ModelFiles files(source);
  const FilesSummary all = summary_of(files);
  if (json) {
    print_json(to_json(files, all));
    flush_results();
    return;
  }
  const auto print_line = [](const char* name, const std::string& text) {
    print_result(for_terminal(fmt::format("{:<11} {}", name, text)) + '\n');
  };
  print_line("model", fmt::format("{}: {}", files.path().string(), files.description()));
  print_line("parameters", grouped_digits(all.parameters));
  print_line("context", grouped_digits(files.whole_context()) + " tokens");
  print_line("tokenizer", all.tokenizer != nullptr
                              ? fmt::format("{}, {} tokens", all.tokenizer->kind(), grouped_digits(all.tokenizer->vocab_size()))
                              : "cannot be read: " + all.tokenizer_problem);
  print_line("template", template_line(all));
  for (const std::string& note : all.notes) {
    print_line("note", note);
  }
  print_result("\nmodel\n");
  for (const auto& [key, value] : keys_of_model(files.config())) {
    print_result(fmt::format("  {:<28} {}\n", key, value));
  }
  print_result("\ntypes\n" + for_terminal(listed(types_of(files.weights()))) + "\ntensors\n");
  for (const WeightTensor& tensor : files.weights().tensors()) {
    print_result(for_terminal(fmt::format("  {:<44} {} {}", tensor.name, tensor.type_name, shape_text(tensor.shape))) + '\n');
  }
  flush_results();
}

// Arrays that a program saves next to a model of its own (train/library/checkpoint.h).

/// Returns the numbers of a short array: "12", or "0.5 0.25".
std::string numbers_of(const CheckpointFile& checkpoint, const StoredTensor& tensor) {
  std::string text;
  const auto read = [&](auto zero) {
    std::vector<decltype(zero)> numbers(static_cast<std::size_t>(tensor.shape.size()));
    checkpoint.read(tensor.path, tensor.type, tensor.shape, numbers.data());
    for (const auto number : numbers) {
      text += concat(text.empty() ? "" : " ", number);
    }
  };
  switch (tensor.type) {
    case ElementType::f32: read(float{}); break;
    case ElementType::f64: read(double{}); break;
    case ElementType::u8: read(std::uint8_t{}); break;
    case ElementType::i32: read(std::int32_t{}); break;
    case ElementType::i64: read(std::int64_t{}); break;
    case ElementType::u64: read(std::uint64_t{}); break;
  }
  return text;
}

/// Returns a line for each array of the program, with its numbers if they are few.
std::string arrays_of(const CheckpointFile& checkpoint) {
  constexpr index kMost = 8;
  std::string lines;
  for (const StoredTensor& tensor : checkpoint.tensors()) {
    if (tensor.path.starts_with("arrays/")) {
      lines += fmt::format("  {:<28} {} {}{}\n", tensor.path.substr(tensor.path.find('/') + 1), name_of(tensor.type), concat(tensor.shape),
                           tensor.shape.size() <= kMost ? "  " + numbers_of(checkpoint, tensor) : "");
    }
  }
  return lines.empty() ? "" : "\narrays of the program\n" + lines;
}

/// A checkpoint with the parts that not every one has.
struct Inspected {
  CheckpointFile file;
  std::unique_ptr<Tokenizer> tokenizer;  // null for a model of a program's own, which has no configuration either
  std::optional<RunHeader> header;       // nullopt for a checkpoint outside of a run
};

Json to_json(const Inspected& checkpoint) {
  const auto& [file, tokenizer, header] = checkpoint;
  Json tensors = Json::array();
  for (const StoredTensor& tensor : file.tensors()) {
    tensors.push_back({{"path", tensor.path}, {"type", name_of(tensor.type)}, {"shape", tensor.shape.extents()}, {"bytes", tensor.bytes}});
  }
  return {{"checkpoint", file.path().string()},
          {"format", file.format()},
          {"bytes", file.bytes()},
          {"hash", file.hash()},
          {"step", file.state().step},
          {"parameters", parameter_count(file)},
          {"tokenizer", tokenizer != nullptr ? Json{{"kind", tokenizer->kind()}, {"vocab_size", tokenizer->vocab_size()}} : Json()},
          {"run", header ? to_json(*header) : Json()},
          {"state", state_of(file)},
          {"config", file.config()},
          {"tensors", tensors}};
}

void print_checkpoint(const Inspected& checkpoint) {
  const auto& [file, tokenizer, header] = checkpoint;
  // Summarize the checkpoint and its run.
  const auto print_line = [](const char* name, const std::string& text) { print_result(fmt::format("{:<11} {}\n", name, text)); };
  print_line("checkpoint", fmt::format("{} ({}, format {})", file.path().string(), short_bytes(file.bytes()), file.format()));
  print_line("step", fmt::to_string(file.state().step));
  print_line("parameters", grouped_digits(parameter_count(file)));
  print_line("tokenizer", tokenizer != nullptr ? fmt::format("{}, {} tokens", tokenizer->kind(), grouped_digits(tokenizer->vocab_size()))
                                               : "none: a program has saved a model of its own");
  print_result(curve_of(file));
  if (header) {
    print_result(for_terminal(started(header->provenance)) + '\n');
  }
  // List the tensors.
  print_result("\ngroups of tensors\n" + listed(groups_of(file)));
  print_result("\ntensors of model\n");
  for (const StoredTensor& tensor : file.tensors()) {
    if (is_parameter(tensor)) {
      print_result(
          fmt::format("  {:<28} {} {}\n", tensor.path.substr(tensor.path.find('/') + 1), name_of(tensor.type), concat(tensor.shape)));
    }
  }
  print_result(arrays_of(file));
  // Print the rest as it is stored.
  print_result("\nstate\n");
  const Json state = state_of(file);
  for (const auto& [name, value] : state.items()) {
    print_result(for_terminal(fmt::format("  {:<28} {}\n", name, json_text(value))));
  }
  if (!file.config().empty()) {
    print_result("\nconfiguration\n" + for_terminal(file.config()));
  }
}

int inspect_command(const InspectArguments& arguments) {
  if (ModelFiles::is_at(arguments.source)) {
    require_input(!arguments.best, arguments.source, " is an imported model, but --best needs a run directory: leave --best out");
    inspect_files(arguments.source, arguments.json);
    return 0;
  }
  if (is_folder(arguments.source) && list_checkpoints(arguments.source).empty()) {
    require_no_other_layout(arguments.source);
  }
  Inspected checkpoint{.file = open_checkpoint(arguments.source, arguments.best ? CheckpointChoice::best : CheckpointChoice::newest),
                       .tokenizer = {},
                       .header = {}};
  if (!checkpoint.file.tokenizer().empty()) {
    checkpoint.tokenizer = tokenizer_from_json(checkpoint.file.tokenizer());
  }
  checkpoint.header = read_run_header(run_directory_of(checkpoint.file));
  if (arguments.json) {
    print_json(to_json(checkpoint));
  } else {
    print_checkpoint(checkpoint);
  }
  flush_results();
  return 0;
}

}  // namespace

void add_inspect(Commands& program) {
  constexpr const char* kExamples = R"(  dikkat inspect runs/mine
  dikkat inspect runs/mine/checkpoints/step-000000700.h5 --json
  dikkat inspect SmolLM2-135M-Instruct    # or a GGUF file, llm.c's .bin or nanoGPT's ckpt.pt)";
  const auto a = std::make_shared<InspectArguments>();
  Command command =
      program.add("inspect", "Show what is in a checkpoint or an imported model: parameters, tensors, configuration, tokenizer", kExamples,
                  [a] { return inspect_command(*a); });
  add_checkpoint(command, a->source, a->best);
  command.flag("--json", a->json, "Print one JSON object, which also has the size in bytes of every tensor");
}

}  // namespace dikkat
