#include "train/run/new_run.h"

#include <algorithm>

#include "autograd/base/error.h"
#include "train/config/resolve.h"
#include "train/config/settle_chat.h"
#include "train/model/precision.h"
#include "train/run/absolute_paths.h"
#include "train/run/origin.h"
#include "train/run/run_remarks.h"
#include "train/text/word_tokenizer.h"

namespace dikkat {
namespace {

/// Settles preference.method = "auto" by the data.
void settle_preference(Config& config) {
  if (config.preference.method != PreferenceMethod::auto_) {
    return;
  }
  const PreferenceKind kind = config.data.training_paths().empty() ? PreferenceKind::none : kind_of_preferences(config);
  config.preference.method = kind == PreferenceKind::pair     ? PreferenceMethod::dpo
                             : kind == PreferenceKind::judged ? PreferenceMethod::kto
                                                              : PreferenceMethod::none;
  resolve(config);
  validate(config);
}

TrainingData load_data(Config& config, std::optional<ModelOrigin>& origin, const LoadingProgress& progress) {
  if (config.train.init_from.empty()) {
    settle_preference(config);
    TrainingData data = load_training_data(config, nullptr, progress);
    require_input(config.lora.rank == 0, "lora.rank is ", config.lora.rank,
                  ", but there is no model to adapt: name one with --init-from (train.init_from)");
    return data;
  }
  origin.emplace(ModelOrigin::open(config.train.init_from));
  require_input(config.lora.rank == 0 || origin->config().lora.rank == 0, config.train.init_from,
                " holds adapters itself; make a model of it first: dikkat merge ", config.train.init_from, " --out MERGED");
  adopt_model(config, *origin);
  adopt_template(config, *origin);
  settle_preference(config);
  const KnownCorpus known{.tokenizer = origin->tokenizer()};
  return load_training_data(config, &known, progress);
}

}  // namespace

NewRun load_new_run(Config config, const LoadingProgress& progress, const RunLength& length) {
  const std::string precision = settle_precision(config);
  read_template_file(config.chat);
  make_absolute(config);
  std::optional<ModelOrigin> origin;
  TrainingData data = load_data(config, origin, progress);
  config.tokenizer.kind = data.tokenizer->kind();  // tokenizer.path, if given, decides it
  if (const ChatTemplate* form = data.chat()) {
    config.chat.template_name = name_of(form->name());
  }

  // Remarks for the user.
  if (origin) {
    std::ranges::copy(origin->notes(), std::back_inserter(data.notes));
  }
  if (config.tokenizer.kind == WordTokenizer::kKind && config.model.kind == ModelKind::gpt) {
    data.notes.emplace_back(
        "a model with the word tokenizer cannot be exported to other programs, and serve cannot give its answers a form (response_format, "
        "tools); both are possible with tokenizer.kind = \"bpe\", \"char\" or \"byte\"");
  }
  for (std::string remark : {set_length(config, data, length), remark_on_warmup(config)}) {
    if (!remark.empty()) {
      data.notes.push_back(std::move(remark));
    }
  }
  if (!precision.empty()) {
    data.notes.push_back(concat("train.precision = \"auto\" is ", name_of(config.train.precision), " here: ", precision));
  }
  return {.config = std::move(config), .data = std::move(data), .origin = std::move(origin)};
}

}  // namespace dikkat
