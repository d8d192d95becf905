#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "autograd/base/parallel.h"
#include "train/cli/chosen_checkpoint.h"
#include "train/cli/commands.h"
#include "train/cli/shared_options.h"
#include "train/cli/terminal/streams.h"
#include "train/cli/terminal/text.h"
#include "train/config/resolve.h"
#include "train/config/settle_chat.h"
#include "train/data/examples/conversation_template.h"
#include "train/exchange/export_adapters.h"
#include "train/exchange/export_model.h"
#include "train/exchange/model_files.h"
#include "train/exchange/ollama_modelfile.h"
#include "train/model/adapters.h"
#include "train/model/finite_weights.h"
#include "train/model/trained_model.h"
#include "train/system/folder.h"
#include "train/system/temporary_file.h"

namespace dikkat {
namespace {

struct ExportArguments {
  ModelArguments model;
  std::string format;  // empty: chosen by the name of `out`
  std::string out;
  std::string dtype = "f32";
  bool adapter = false;
  bool modelfile = false;
};

ExportFormat format_of(const ExportArguments& arguments) {
  if (arguments.format.empty()) {
    const std::string end = std::filesystem::path(arguments.out).extension().string();
    // An ending has only letters and digits, and begins with a letter. Names of folders may have others: "llama-3.2-1b".
    const auto is_letter = [](char c) { return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z'); };
    const auto is_of_name = [&](char c) { return is_letter(c) || ('0' <= c && c <= '9'); };
    const bool is_ending = end.size() > 1 && is_letter(end[1]) && std::all_of(end.begin() + 1, end.end(), is_of_name);
    require_input(end == ".gguf" || end == ".bin" || !is_ending, "--out is ", arguments.out,
                  ", whose ending names no format that can be written, expected .gguf, .bin (llm.c), or a folder's name without an ending "
                  "(Hugging Face); to use the name for a format, add --format hf, gguf or llm.c");
    return end == ".gguf" ? ExportFormat::gguf : end == ".bin" ? ExportFormat::llmc : ExportFormat::hf;
  }
  const auto format = value_named<ExportFormat>(arguments.format);
  require_input(format.has_value(), "--format is ", arguments.format, ", expected one of ", all_names<ExportFormat>());
  return *format;
}

WeightType type_of(const std::string& name) {
  std::string list;
  for (const WeightType type : {WeightType::f32, WeightType::f16, WeightType::bf16, WeightType::q8_0, WeightType::q4_0}) {
    if (dikkat::name_of(type) == name) {
      return type;
    }
    list += concat(list.empty() ? "" : ", ", type);
  }
  fail_input("--dtype is ", name, ", expected one of ", list);
}

/// Returns the configuration with another context length for the exported files. 0 keeps the model's own.
TransformerConfig with_context(TransformerConfig config, index context) {
  const bool has_table = config.positions == Positions::learned || config.positions == Positions::sinusoidal;
  require_input(context == 0 || context == config.block_size || !has_table, "--context is ", context,
                ", but the model's table of positions has ", config.block_size, " tokens: leave --context out");
  require_input(context == 0 || config.positions != Positions::rope || config.rope_scaling != RopeScaling::longrope, "--context is ",
                context, ", but with LongRoPE files name both contexts, model.rope_original_context = ", config.rope_original_context,
                " and model.rope_factor times as many tokens: leave --context out");
  config.block_size = context == 0 ? config.block_size : context;
  return config;
}

/// Writes only the adapters, without the weights of their base.
int export_adapters_command(const ExportArguments& arguments) {
  const ModelOrigin origin = ModelOrigin::open(arguments.model.source, arguments.model.options());
  const Config& config = origin.config();
  require_input(config.lora.rank > 0, arguments.model.source, " has no adapters, expected a run with lora.rank above 0");
  require_input(arguments.dtype == "f32", "--dtype is ", arguments.dtype, ", expected f32 with --adapter");
  validate(config);
  report_chosen_checkpoint(arguments.model, origin);
  LanguageModel model(config.model, tokenizer_from_json(origin.tokenizer())->vocab_size(), config.lora);
  model.parameters().reserve();
  if (arguments.model.base.empty()) {
    load_adapters(*origin.checkpoint(), model.parameters(), Weights::used);
  } else {
    origin.load_weights(model.parameters());  // checks that --base is the base of these adapters, since the files name it
  }
  for (const ParameterStore::Entry* entry : model.parameters().entries()) {
    if (entry->with_adapters) {
      require_finite(*entry, origin.path().string());
    }
  }
  const std::string& base = config.train.init_from;
  export_adapters({.config = model.config(),
                   .lora = config.lora,
                   .parameters = model.parameters(),
                   .base = base,
                   .base_family = ModelFiles::is_at(base) ? &ModelFiles(base).family() : nullptr},
                  arguments.out, format_of(arguments));
  print_message(
      fmt::format("the adapters of {}, for the base model {}", for_terminal(origin.path().string()), for_terminal(config.train.init_from)));
  print_result(fmt::format("{}\n", arguments.out));
  flush_results();
  return 0;
}

/// Adds the chat template that came with the model, or else that of a run on conversations.
void add_chat_template(const TrainedModel& trained, ModelToExport& model) {
  const ChatConfig& chat = trained.origin.config().chat;
  model.sampling = chat;
  model.chat_template = chat.jinja;
  if (chat.template_name != "auto") {
    const ChatTemplate form = conversation_template(chat, *trained.tokenizer, trained.origin.path().string(), "");
    model.chat_template = form.jinja();
    model.answer_end = form.end_token();
  }
}

/// Returns a Modelfile for Ollama, to lie next to a GGUF file.
std::string modelfile_for(const TrainedModel& trained, const ModelToExport& exported, const std::filesystem::path& gguf) {
  OllamaModel model{.gguf = gguf.filename().string(), .sampling = exported.sampling, .context = exported.config.block_size};
  std::vector<Token> ends = trained.tokenizer->text_tokens().ends;
  if (!exported.chat_template.empty()) {
    const ChatTemplate form = chat_template(TemplateName::own, *trained.tokenizer, exported.chat_template, {.date = today()});
    model.form = go_template(form);
    if (!model.form) {
      warn(
          "the chat template cannot be written in Go's language, so the Modelfile has none: Ollama recognizes some templates in GGUF "
          "files");
    }
    if (form.end_token() && std::ranges::find(ends, *form.end_token()) == ends.end()) {
      ends.push_back(*form.end_token());
    }
  }
  for (const Token end : ends) {
    model.stops.push_back(trained.tokenizer->decode({&end, 1}));
  }
  return ollama_modelfile(model);
}

int export_command(const ExportArguments& arguments) {
  start_threads();
  if (arguments.adapter) {
    return export_adapters_command(arguments);
  }
  // Load the model.
  ExportOptions options{.format = format_of(arguments), .type = type_of(arguments.dtype)};
  require_input(!arguments.modelfile || options.format == ExportFormat::gguf, "--modelfile is for a GGUF file, found the format ",
                name_of(options.format), ": add --format gguf");
  options.name = std::filesystem::path(arguments.model.source).filename().string();
  options.name = options.name.empty() ? "dikkat" : options.name;
  ModelOptions opening = arguments.model.options();
  const bool is_foreign = ModelFiles::is_at(arguments.model.source) || PeftFiles::is_at(arguments.model.source);
  const index context = is_foreign ? 0 : std::exchange(opening.import.context, 0);
  const TrainedModel trained = load_trained_model(arguments.model.source, opening);
  report_chosen_checkpoint(arguments.model, trained.origin);
  const TransformerConfig config = with_context(trained.model->config(), context);
  ModelToExport model{config, trained.model->parameters(), *trained.tokenizer};
  add_chat_template(trained, model);
  model.classify = trained.config.classify;
  if (const EmbeddingConfig& embedding = trained.config.embedding; embedding.is_on()) {
    const TextTokens around = trained.tokenizer->text_tokens();
    const std::optional<Token> pad = around.eos ? around.eos : trained.tokenizer->separator();
    model.vectors = {.pooling = embedding.pooling,
                     .width = config.n_embd,
                     .window = config.block_size,
                     .pad = pad ? trained.tokenizer->decode(std::span(&*pad, 1)) : ""};
  }
  // Write the Modelfile first: a command that is killed before the GGUF file has its name can be repeated.
  Provisional modelfile(std::filesystem::path(arguments.out).replace_extension(".Modelfile"));
  if (arguments.modelfile) {
    require_input(!is_there(arguments.out), arguments.out, " exists and is never overwritten: choose a new name");
    if (write_new_or_same_file(modelfile.path(), modelfile_for(trained, model, arguments.out))) {
      modelfile.created();  // it is removed if the export fails
    }
  }
  // Write the model.
  for (const std::string& remark : export_model(model, arguments.out, options)) {
    print_message(remark);
  }
  modelfile.keep();
  print_message(fmt::format("{} parameters as {}, from {}", grouped_digits(trained.model->parameters().parameter_count()), arguments.dtype,
                            for_terminal(trained.origin.path().string())));
  print_result(fmt::format("{}\n", arguments.out));
  if (arguments.modelfile) {
    print_result(fmt::format("{}\n", modelfile.path().string()));
  }
  flush_results();
  return 0;
}

}  // namespace

void add_export(Commands& program) {
  constexpr const char* kExamples = R"(  dikkat export runs/mine --out mine-hf
  dikkat export runs/mine --out mine.gguf --dtype q8_0
  dikkat export runs/mine --format llm.c --out mine.bin --dtype bf16
  dikkat export runs/tuned --out tuned.gguf --context 8192
  dikkat export runs/tuned --adapter --out adapter.gguf
A Hugging Face folder has config.json, model.safetensors, tokenizer.json, tokenizer_config.json and
generation_config.json; of a run that was trained for vectors also the files of
sentence-transformers. A GGUF file includes the tokenizer and runs in llama.cpp. If a format cannot
describe the model, the export is refused with the keys of [model] that prevent it. A run with
adapters is exported with the adapters merged into the model. With --adapter only the adapters are
written: a folder for PEFT, or a GGUF file for llama.cpp's --lora. The files name the context that
the model was trained with (model.block_size); --context sets another for models with rotary
positions or none. Nothing is overwritten.)";
  const auto a = std::make_shared<ExportArguments>();
  Command command = program.add("export", "Write a model for other programs: Hugging Face, GGUF (llama.cpp), llm.c", kExamples,
                                [a] { return export_command(*a); });
  add_model(command, a->model);
  command.text("--out", a->out, "PATH", "Folder (hf) or file to write, which must not exist").required();
  command.text("--format", a->format, "WORD",
               "hf, gguf or llm.c; by default chosen by the name of --out: .gguf, .bin, or no ending for a folder (hf)");
  command.flag("--adapter", a->adapter, "Write only the adapters of a run, without the model");
  command.flag("--modelfile", a->modelfile, "Also write a Modelfile for Ollama beside a GGUF file: ollama create NAME -f FILE.Modelfile");
  command.text("--dtype", a->dtype, "TYPE",
               "Type of the stored weights: f32, f16 or bf16; in GGUF also q8_0 and q4_0; in llm.c only f32 and bf16");
}

}  // namespace dikkat
