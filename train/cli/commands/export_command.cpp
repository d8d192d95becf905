#include <filesystem>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "autograd/base/parallel.h"
#include "train/cli/chosen_checkpoint.h"
#include "train/cli/commands.h"
#include "train/cli/shared_options.h"
#include "train/cli/streams.h"
#include "train/cli/text.h"
#include "train/config/chat_form.h"
#include "train/config/parse.h"
#include "train/exchange/export_adapters.h"
#include "train/exchange/export_model.h"
#include "train/exchange/model_files.h"
#include "train/model/adapters.h"
#include "train/model/trained_model.h"

namespace dikkat {
namespace {

struct ExportArguments {
  ModelArguments model;
  std::string format;  // empty: by the name of `out`
  std::string out;
  std::string dtype = "f32";
  bool adapter = false;
};

/// "hf, gguf, llm.c".
template <class E>
std::string names_of() {
  std::string list;
  for (const std::string_view name : Names<E>::of) {
    list += concat(list.empty() ? "" : ", ", name);
  }
  return list;
}

ExportFormat format_of(const ExportArguments& arguments) {
  if (arguments.format.empty()) {
    const std::filesystem::path end = std::filesystem::path(arguments.out).extension();
    return end == ".gguf" ? ExportFormat::gguf : end == ".bin" ? ExportFormat::llmc : ExportFormat::hf;
  }
  const auto format = value_named<ExportFormat>(arguments.format);
  require_input(format.has_value(), "--format is ", arguments.format, ", expected one of ", names_of<ExportFormat>());
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

/// The model with another context, which its files then name; 0: with its own.
TransformerConfig with_context(TransformerConfig config, index context) {
  const bool has_table = config.positions == Positions::learned || config.positions == Positions::sinusoidal;
  require_input(context == 0 || context == config.block_size || !has_table, "--context is ", context, ", but the model has positions for ",
                config.block_size, " tokens, expected no other context");
  config.block_size = context == 0 ? config.block_size : context;
  return config;
}

/// Adapters alone, without the weights of their base.
int export_adapters_command(const ExportArguments& arguments) {
  const ModelOrigin origin = ModelOrigin::open(arguments.model.source, arguments.model.options());
  const Config& config = origin.config();
  require_input(config.lora.rank > 0, arguments.model.source, " has no adapters, expected a run that was trained with lora.rank above 0");
  require_input(arguments.dtype == "f32", "--dtype is ", arguments.dtype, ", expected f32: adapters are small");
  validate(config);
  tell_of_the_checkpoint(arguments.model, origin);
  LanguageModel model(config.model, tokenizer_from_json(origin.tokenizer())->vocab_size(), config.lora);
  model.parameters().reserve();
  if (arguments.model.base.empty()) {
    load_adapters(*origin.checkpoint(), model.parameters(), Weights::used);
  } else {
    origin.load_weights(model.parameters());  // so that a base which the files are to name is the right one
  }
  export_adapters({.config = model.config(), .lora = config.lora, .parameters = model.parameters(), .base = config.train.init_from},
                  arguments.out, format_of(arguments));
  tell(fmt::format("the adapters of {}, which belong to {}", for_terminal(origin.path().string()), for_terminal(config.train.init_from)));
  put(fmt::format("{}\n", arguments.out));
  flush_results();
  return 0;
}

/// The template that came with the model, or else that of a run on conversations.
void add_chat_template(const TrainedModel& trained, ModelToExport& model) {
  const ChatConfig& chat = trained.origin.config().chat;
  model.chat_template = chat.jinja;
  if (chat.template_name != TemplateName::auto_) {
    const ChatTemplate form = chat_form(chat, *trained.tokenizer, "", "");
    model.chat_template = chat.jinja.empty() ? form.jinja() : chat.jinja;
    model.answer_end = form.end_token(*trained.tokenizer);
  }
}

int export_command(const ExportArguments& arguments) {
  start_threads();
  if (arguments.adapter) {
    return export_adapters_command(arguments);
  }
  ExportOptions options{.format = format_of(arguments), .type = type_of(arguments.dtype)};
  options.name = std::filesystem::path(arguments.model.source).filename().string();
  options.name = options.name.empty() ? "dikkat" : options.name;
  ModelOptions opening = arguments.model.options();
  const bool is_foreign = ModelFiles::is_at(arguments.model.source) || PeftFiles::is_at(arguments.model.source);
  const index context = is_foreign ? 0 : std::exchange(opening.import.context, 0);
  const TrainedModel trained = load_trained_model(arguments.model.source, opening);
  tell_of_the_checkpoint(arguments.model, trained.origin);
  const TransformerConfig config = with_context(trained.model->config(), context);
  ModelToExport model{config, trained.model->parameters(), *trained.tokenizer};
  add_chat_template(trained, model);
  for (const std::string& remark : export_model(model, arguments.out, options)) {
    tell(remark);
  }
  tell(fmt::format("{} parameters as {}, of {}", grouped_digits(trained.model->parameters().parameter_count()), arguments.dtype,
                   for_terminal(trained.origin.path().string())));
  put(fmt::format("{}\n", arguments.out));
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
A folder of Hugging Face has config.json, model.safetensors, tokenizer.json, tokenizer_config.json and generation_config.json; a GGUF file
has the tokenizer too, and runs in llama.cpp. A model that a format has no way to say is refused, with the keys of [model] that stand in the
way. Of a run that trained adapters, the model with the adapters added is written, or with --adapter they alone: a folder for PEFT, or a GGUF file
for llama.cpp's --lora. The files name the context that the model was trained with (model.block_size); --context names another, where positions are rotary or
none. Nothing is overwritten.)";
  const auto a = std::make_shared<ExportArguments>();
  Command command = program.add("export", "Write a model for other programs: Hugging Face, GGUF (llama.cpp), llm.c", kExamples,
                                [a] { return export_command(*a); });
  add_model(command, a->model);
  command.text("--out", a->out, "PATH", "The folder (hf) or file to write, which must not exist").required();
  command.text("--format", a->format, "WORD", "hf, gguf or llm.c; by default by the name of --out: .gguf, .bin, or else a folder (hf)");
  command.flag("--adapter", a->adapter, "Of a run that trained adapters: write these without the model");
  command.text("--dtype", a->dtype, "TYPE",
               "What weights are stored as: f32, f16, bf16; in GGUF also q8_0 and q4_0; in llm.c f32 and bf16");
}

}  // namespace dikkat
