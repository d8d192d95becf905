#include <memory>

#include "autograd/base/parallel.h"
#include "train/checkpoint/run_directory.h"
#include "train/cli/chosen_checkpoint.h"
#include "train/cli/commands.h"
#include "train/cli/save_run.h"
#include "train/cli/shared_options.h"
#include "train/cli/terminal/streams.h"

namespace dikkat {
namespace {

struct MergeArguments {
  ModelArguments model;
  std::string out;
};

int merge_command(const MergeArguments& arguments) {
  start_threads();
  RunDirectory::require_free(arguments.out);
  TrainedModel model = load_trained_model(arguments.model.source, arguments.model.options());
  const ModelOrigin* base = model.origin.base();
  require_input(base != nullptr || model.origin.config().lora.rank > 0, arguments.model.source,
                " has no adapters, expected a run with lora.rank above 0 or a PEFT folder");
  report_chosen_checkpoint(arguments.model, model.origin);
  print_message(
      concat("merging the adapters into the weights of ", base != nullptr ? base->path().string() : model.config.train.init_from));
  model.config.train.init_from.clear();
  print_result(save_run(model, arguments.out) + '\n');
  flush_results();
  return 0;
}

}  // namespace

void add_merge(Commands& program) {
  constexpr const char* kExamples = R"(  dikkat merge runs/tuned --out runs/merged
  dikkat merge adapter-peft --base SmolLM2-135M --out runs/merged
  dikkat export runs/merged --out merged.gguf --dtype q8_0)";
  const auto a = std::make_shared<MergeArguments>();
  Command command = program.add("merge", "Merge LoRA adapters, of a run or a PEFT folder, into their base model", kExamples,
                                [a] { return merge_command(*a); });
  add_model(command, a->model);
  command.text("--out", a->out, "RUN_DIR", "The run directory to create").required();
}

}  // namespace dikkat
