#include <memory>

#include <fmt/format.h>

#include "autograd/base/parallel.h"
#include "train/checkpoint/run_directory.h"
#include "train/cli/commands.h"
#include "train/cli/save_run.h"
#include "train/cli/shared_options.h"
#include "train/cli/terminal/streams.h"
#include "train/cli/terminal/text.h"
#include "train/exchange/family.h"
#include "train/exchange/other_layouts.h"
#include "train/model/trained_model.h"

namespace dikkat {
namespace {

struct ImportArguments {
  std::string source;
  std::string out;
  ImportOptions options;
};

int import_command(const ImportArguments& arguments) {
  start_threads();
  require_input(!PeftFiles::is_at(arguments.source), arguments.source,
                " holds PEFT adapters, expected a whole model. To merge them: dikkat merge ", arguments.source, " --base MODEL --out ",
                arguments.out);
  require_no_other_layout(arguments.source);
  require_input(ModelFiles::is_at(arguments.source), arguments.source,
                " is not a model that can be imported: expected a folder with config.json, or a .gguf, .bin or .pt file");
  RunDirectory::require_free(arguments.out);
  const TrainedModel model = load_trained_model(arguments.source, {.import = arguments.options});
  const ModelFiles& files = *model.origin.files();
  print_message(fmt::format("{}: {}", for_terminal(files.path().string()), files.description()));
  print_message(fmt::format("{} parameters, {} tokens in the tokenizer", grouped_digits(model.model->parameters().parameter_count()),
                            grouped_digits(model.tokenizer->vocab_size())));
  for (const std::string& note : model.origin.notes()) {
    warn(for_terminal(note));
  }
  if (files.whole_context() > files.config().block_size) {
    print_message(fmt::format("context: {} of {} tokens; --context N sets another", grouped_digits(files.config().block_size),
                              grouped_digits(files.whole_context())));
  }
  print_result(save_run(model, arguments.out) + '\n');
  flush_results();
  return 0;
}

}  // namespace

void add_import(Commands& program) {
  const std::string examples = concat(R"(  dikkat import SmolLM2-135M --out runs/smollm2
  dikkat import gpt2.gguf --out runs/gpt2
  dikkat import gpt2_124M.bin --tokenizer gpt2/ --out runs/gpt2
  dikkat train --init-from runs/smollm2 --corpus my-texts --out runs/mine
eval, sample and train --init-from also read such files directly. Supported are Hugging Face folders
(config.json, tokenizer.json, and safetensors in f32, f16 or bf16) with the model_type
)",
                                      family_names(), R"(;
GGUF files of the same models in f32, f16, bf16, q8_0 and q4_0; llm.c's model .bin; and nanoGPT's
ckpt.pt. Code inside a file is never run.)");
  const auto a = std::make_shared<ImportArguments>();
  Command command = program.add("import", "Make a run from another program's model: Hugging Face, GGUF, llm.c, nanoGPT", examples.c_str(),
                                [a] { return import_command(*a); });
  command.text("FOLDER|FILE", a->source, "", "A Hugging Face folder, a GGUF file, llm.c's .bin or nanoGPT's ckpt.pt").required();
  command.text("--out", a->out, "RUN_DIR", "The run directory to create").required();
  add_import_options(command, a->options);
}

}  // namespace dikkat
