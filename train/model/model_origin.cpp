#include "train/model/model_origin.h"

#include <algorithm>

#include "autograd/base/error.h"
#include "train/config/resolve.h"
#include "train/exchange/formats/convert.h"
#include "train/exchange/other_layouts.h"
#include "train/exchange/sentence_transformers.h"
#include "train/model/adapters.h"
#include "train/model/finite_weights.h"
#include "train/model/language_model.h"
#include "train/model/low_rank.h"
#include "train/model/trained_model.h"
#include "train/system/folder.h"

namespace dikkat {

namespace {

/// Returns the text of the default template. Adds a note that names the other templates, which are dropped.
std::string take_template(ChatTemplateFiles templates, const std::filesystem::path& path, std::vector<std::string>& notes) {
  std::string others;
  for (const std::string& name : templates.others) {
    others += concat(others.empty() ? "" : ", ", name);
  }
  if (!others.empty()) {
    notes.push_back(concat(path.string(), " has several chat templates; only the default one is kept, and these are dropped: ", others));
  }
  return std::move(templates.text);
}

}  // namespace

ModelOrigin::ModelOrigin(CheckpointFile checkpoint)
    : from_(std::move(checkpoint)),
      config_(config_of(std::get<CheckpointFile>(from_))),
      tokenizer_(std::get<CheckpointFile>(from_).tokenizer()),
      state_(std::get<CheckpointFile>(from_).state()) {}

ModelOrigin::ModelOrigin(ModelFiles files) : from_(std::move(files)) {
  notes_ = this->files()->notes();
  const auto tokenizer = this->files()->open_tokenizer(&notes_);
  static_cast<AnswerSampling&>(config_.chat) = this->files()->sampling();
  config_.chat.jinja = take_template(this->files()->chat_templates(), this->files()->path(), notes_);
  config_.model = this->files()->config();
  config_.classify = this->files()->classify();
  config_.embedding.pooling = read_pooling(this->files()->path(), notes_);
  config_.tokenizer.kind = tokenizer->kind();
  if (config_.model.positions == Positions::rope && config_.model.block_size > kUsualWindow) {
    config_.data.window = kUsualWindow;  // memory for activations grows with the window
  }
  resolve(config_);
  tokenizer_ = tokenizer->to_json();
}

ModelOrigin::ModelOrigin(Adapted adapted) : from_(std::move(adapted)) {
  config_.model = base()->config().model;
  config_.classify = base()->config().classify;
  const LanguageModel of_base(config_.model, config_.model.vocab_size);  // its parameters have no memory
  if (std::get<Adapted>(from_).adapters.unties_head(of_base.config(), of_base.parameters())) {
    config_.model.tie_embeddings = false;
  }
  config_.tokenizer.kind = base()->config().tokenizer.kind;
  config_.data.window = base()->config().data.window;
  config_.chat = base()->config().chat;
  notes_ = base()->notes();
  if (config_.model.tie_embeddings != base()->config().model.tie_embeddings) {
    notes_.push_back(concat(path().string(),
                            " has a token table and a head that were trained apart from each other, although the base ties "
                            "them: the model has both (model.tie_embeddings = false)"));
  }
  // Programs that train adapters often save the tokenizer's files with them. Their template is the one that the adapters were trained on.
  if (std::string own = take_template(chat_templates_in(path()), path(), notes_); !own.empty() && own != config_.chat.jinja) {
    config_.chat = ChatConfig();
    config_.chat.jinja = std::move(own);
  }
  resolve(config_);
  tokenizer_ = base()->tokenizer();
}

namespace {

/// Reads the factors. PeftFiles has checked their shapes.
LowRank read_factors(const PeftFactors& from) {
  LowRank factors{.out = from.rows.count, .rank = from.a->shape[0], .in = from.a->shape[1]};
  factors.a.resize(static_cast<std::size_t>(from.a->elements));
  factors.b.resize(static_cast<std::size_t>(from.b->elements));
  read_f32(*from.a, 0, from.a->elements, factors.a.data());
  read_f32(*from.b, 0, from.b->elements, factors.b.data());
  if (!from.rows.order.empty()) {
    const std::vector<float> theirs = factors.b;
    for (index row = 0; row < factors.out; ++row) {
      std::copy_n(theirs.begin() + row * factors.rank, factors.rank,
                  factors.b.begin() + from.rows.order[static_cast<std::size_t>(row)] * factors.rank);
    }
  }
  return factors;
}

/// Loads a base whose head is its token table into a store that has both. Needs memory for the base in addition to the store.
void load_untied(const ModelOrigin& base, ParameterStore& store, const ParameterStore::Loaded& loaded) {
  LanguageModel tied(base.config().model, base.config().model.vocab_size);
  tied.parameters().reserve();
  base.load_weights(tied.parameters());
  for (ParameterStore::Entry* entry : store.entries()) {
    const ParameterStore::Entry& from = tied.parameters().entry(entry->path == kHeadWeight ? kTokenTable : entry->path);
    std::copy_n(static_cast<const float*>(from.values), from.size(), static_cast<float*>(entry->values));
    loaded(*entry);
  }
}

/// Returns the base's path in the run's newest checkpoint: `dikkat resume --base` may have changed it since `taken` was saved. Returns an
/// empty string if that checkpoint has another base or cannot be read.
std::string newest_place_of_base(const std::string& run_directory, const CheckpointFile& taken) {
  const auto checkpoints = list_checkpoints(run_directory);
  if (checkpoints.empty() || checkpoints.back().path == taken.path()) {
    return "";
  }
  try {
    const CheckpointFile newest = CheckpointFile::open(checkpoints.back().path);
    return newest.state().base_hash == taken.state().base_hash ? config_of(newest)->train.init_from : "";
  } catch (const InputError&) {  // the newest checkpoint is damaged, but `taken` is not
    return "";
  }
}

}  // namespace

void require_model_at(const std::string& source) {
  require_input(is_there(source), source,
                ": there is nothing at this path, expected a run directory, a checkpoint in one, a Hugging Face or PEFT folder, or a GGUF, "
                "llm.c or nanoGPT file. dikkat downloads nothing: download the model first");
}

void require_base_at(const std::string& base, const std::string& source) {
  require_input(base.empty() || is_there(base), "--base ", base,
                ": there is nothing at this path, expected the base model of the adapters in ", source);
}

ModelOrigin ModelOrigin::open_peft(const std::string& folder, const ModelOptions& options) {
  PeftFiles adapters(folder);
  require_base_at(options.base, folder);
  const std::string& place = options.base.empty() ? adapters.base() : options.base;
  std::error_code missing;
  require_input(!place.empty() && std::filesystem::exists(place, missing), folder, " holds adapters of ",
                place.empty() ? "a model that it does not name" : place, place.empty() ? "" : ", which does not exist here",
                ": give their base model with --base MODEL");
  require_input(!PeftFiles::is_at(place), folder, " holds adapters of ", place,
                ", which holds adapters itself: give a complete model with --base MODEL");
  auto base = std::make_shared<const ModelOrigin>(open(place, {.import = options.import}));
  require_input(base->config().lora.rank == 0, folder, " holds adapters of ", place,
                ", which holds adapters itself; merge them into its base first: dikkat merge ", place, " --out MERGED");
  return ModelOrigin(Adapted{std::move(adapters), std::move(base)});
}

ModelOrigin ModelOrigin::open(const std::string& source, const ModelOptions& options) {
  require_model_at(source);

  // Open other programs' files.
  const bool is_peft = PeftFiles::is_at(source);
  if (is_peft || ModelFiles::is_at(source)) {
    require_input(options.choice == CheckpointChoice::best_or_newest, source, " is another program's model; ",
                  options.choice == CheckpointChoice::best ? "--best" : "--newest", " applies only to run directories");
    if (is_peft) {
      return open_peft(source, options);
    }
    require_input(options.base.empty(), source, " is a complete model; --base applies only to adapters");
    return ModelOrigin(ModelFiles(source, options.import));
  }

  // Open a checkpoint.
  require_input(options.import.context == 0 && options.import.tokenizer.empty(), source,
                " is a dikkat run; --context and --tokenizer apply only to imported models");
  if (is_folder(source) && list_checkpoints(source).empty()) {
    require_no_other_layout(source);
  }
  ModelOrigin opened(open_checkpoint(source, options.choice));
  const bool has_adapters = opened.config_.lora.rank > 0;
  require_input(options.base.empty() || has_adapters, source, " is a complete model; --base applies only to adapters");
  require_base_at(options.base, source);

  // Choose the base's path: --base counts first, then the run's newest checkpoint, then this one.
  std::error_code missing;
  if (!options.base.empty()) {
    opened.config_.train.init_from = options.base;
  } else if (has_adapters && std::filesystem::is_directory(source, missing)) {
    const std::string place = newest_place_of_base(source, *opened.checkpoint());
    opened.config_.train.init_from = place.empty() ? opened.config_.train.init_from : place;
  }
  return opened;
}

const CheckpointFile* ModelOrigin::checkpoint() const { return std::get_if<CheckpointFile>(&from_); }
const ModelFiles* ModelOrigin::files() const { return std::get_if<ModelFiles>(&from_); }

const ModelOrigin* ModelOrigin::base() const {
  const auto* adapted = std::get_if<Adapted>(&from_);
  return adapted != nullptr ? adapted->base.get() : nullptr;
}

const std::filesystem::path& ModelOrigin::path() const {
  return files() != nullptr ? files()->path() : checkpoint() != nullptr ? checkpoint()->path() : std::get<Adapted>(from_).adapters.path();
}

void ModelOrigin::load_weights(ParameterStore& store, const ParameterStore::Loaded& loaded) const {
  const auto check = [&](ParameterStore::Entry& entry) {
    require_finite(entry, path().string());
    if (loaded) {
      loaded(entry);
    }
  };
  const bool has_other_head =
      config_.model.classes == 0 && std::ranges::any_of(store.entries(), [](const auto* entry) { return entry->path == kScoreWeight; });
  if (has_other_head) {
    load_without_head(store, check);
  } else {
    load_unchecked(store, check);
  }
}

void ModelOrigin::load_without_head(ParameterStore& store, const ParameterStore::Loaded& loaded) const {
  LanguageModel own(config_.model, config_.model.vocab_size);
  own.parameters().reserve();  // only the memory of its head is touched
  for (const ParameterStore::Entry* entry : store.entries()) {
    if (entry->role != Role::adapter && entry->path != kScoreWeight) {
      own.parameters().entry(entry->path).values = entry->values;
    }
  }
  load_unchecked(own.parameters(), [&](const ParameterStore::Entry& entry) {
    if (entry.path != kHeadWeight) {
      loaded(store.entry(entry.path));
    }
  });
}

void ModelOrigin::load_unchecked(ParameterStore& store, const ParameterStore::Loaded& loaded) const {
  if (const auto* adapted = std::get_if<Adapted>(&from_)) {
    const PeftChanges changes = adapted->adapters.changes(config_.model, store);
    const auto change = [&](ParameterStore::Entry& entry) {
      for (const PeftReplacement& replacement : changes.replacements) {
        if (replacement.ours.pieces.front().ours->path == entry.path) {
          read_tensor(*replacement.theirs, replacement.ours);
        }
      }
      for (const PeftFactors& factors : changes.factors) {
        if (factors.weight->path == entry.path) {
          const LowRank read = read_factors(factors);
          add_product(read, adapted->adapters.scale(), static_cast<float*>(entry.values) + factors.rows.first * read.in);
        }
      }
      loaded(entry);
    };
    if (config_.model.tie_embeddings == adapted->base->config().model.tie_embeddings) {
      adapted->base->load_unchecked(store, change);
    } else {
      load_untied(*adapted->base, store, change);
    }
  } else if (files() != nullptr) {
    files()->load_weights(store, loaded);
  } else {
    load_model(*checkpoint(), config_, store, loaded);
  }
}

}  // namespace dikkat
