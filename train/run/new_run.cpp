#include "train/run/new_run.h"

#include <algorithm>

#include "autograd/base/error.h"
#include "train/config/resolve.h"
#include "train/config/settle_chat.h"
#include "train/data/examples/labels.h"
#include "train/model/precision.h"
#include "train/run/absolute_paths.h"
#include "train/run/origin.h"
#include "train/run/run_remarks.h"
#include "train/text/hugging_face/symbols.h"
#include "train/text/word_tokenizer.h"

namespace dikkat {
namespace {

/// Sets preference.method from the data if it is "auto".
void settle_preference(Config& config) {
  if (config.preference.method != PreferenceMethod::auto_) {
    return;
  }
  const PreferenceKind kind =
      config.data.training_paths().empty() || config.classify.is_on() ? PreferenceKind::none : kind_of_preferences(config);
  config.preference.method = kind == PreferenceKind::pair     ? PreferenceMethod::dpo
                             : kind == PreferenceKind::judged ? PreferenceMethod::kto
                                                              : PreferenceMethod::none;
  resolve(config);
  validate(config);
}

/// Opens the model of train.init_from, and takes over its model, tokenizer and chat template.
ModelOrigin adopt_origin(Config& config) {
  ModelOrigin origin = ModelOrigin::open(config.train.init_from);
  require_input(config.lora.rank == 0 || origin.config().lora.rank == 0, config.train.init_from,
                " holds adapters itself; make a model of it first: dikkat merge ", config.train.init_from, " --out MERGED");
  adopt_model(config, origin);
  adopt_template(config, origin);
  return origin;
}

TrainingData load_data(const ResolvedConfig& config, const std::optional<ModelOrigin>& origin, const LoadingProgress& progress) {
  if (origin) {
    const KnownCorpus known{.tokenizer = origin->tokenizer()};
    return load_training_data(config, &known, progress);
  }
  TrainingData data = load_training_data(config, nullptr, progress);
  require_input(config->lora.rank == 0, "lora.rank is ", config->lora.rank,
                ", but there is no model to adapt: name one with --init-from (train.init_from)");
  return data;
}

}  // namespace

NewRun load_new_run(Config given, const LoadingProgress& progress, const RunLength& length) {
  // Settle what depends on the machine, on files and on the model to start from.
  const std::string precision = settle_precision(given);
  read_template_file(given.chat);
  make_absolute(given);
  std::optional<ModelOrigin> origin;
  if (!given.train.init_from.empty()) {
    origin = adopt_origin(given);
  }
  settle_preference(given);
  settle_labels(given);
  ResolvedConfig config(std::move(given));

  // Load the texts, and settle what depends on them.
  TrainingData data = load_data(config, origin, progress);
  std::string remark_on_length;
  config.change([&](Config& c) {
    c.tokenizer.kind = data.tokenizer->kind();  // tokenizer.path, if given, decides it
    if (const ChatTemplate* form = data.chat()) {
      c.chat.template_name = name_of(form->name());
    }
    remark_on_length = set_length(c, data, length);
  });

  // Add remarks for the user.
  if (origin) {
    std::ranges::copy(origin->notes(), std::back_inserter(data.notes));
  }
  if (const std::string& kind = config->tokenizer.kind;
      (kind == WordTokenizer::kKind || kind == Symbols::kKind) && !data.tokenizer->is_lossless() && config->model.kind == ModelKind::gpt) {
    data.notes.push_back(concat("a model with a ", kind,
                                " tokenizer can be exported to a Hugging Face folder, but not to GGUF, which is possible with "
                                "tokenizer.kind = \"bpe\", \"char\" or \"byte\""));
  }
  for (std::string remark : {remark_on_length, remark_on_warmup(config)}) {
    if (!remark.empty()) {
      data.notes.push_back(std::move(remark));
    }
  }
  if (!precision.empty()) {
    data.notes.push_back(concat("train.precision = \"auto\" is ", name_of(config->train.precision), " here: ", precision));
  }
  return {.config = std::move(config), .data = std::move(data), .origin = std::move(origin)};
}

}  // namespace dikkat
