#include "train/data/training_data.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "autograd/base/error.h"
#include "train/data/corpus/corpus_contents.h"
#include "train/data/corpus/corpus_files.h"
#include "train/data/corpus/opened_source.h"
#include "train/data/corpus/shard_source.h"
#include "train/data/corpus/text_source.h"
#include "train/data/examples/conversation_source.h"
#include "train/data/examples/label_source.h"
#include "train/data/examples/pair_dataset.h"
#include "train/data/examples/pair_source.h"
#include "train/data/examples/preference_source.h"
#include "train/data/examples/text_pair_source.h"
#include "train/data/tokens/open_tokenizer.h"
#include "train/system/out_of_memory.h"
#include "train/system/sha256.h"

namespace dikkat {
namespace {

/// Adds what a part of the corpus holds to `facts`.
void add_facts(const CorpusContents& found, RunFacts& facts) {
  facts.jsonl |= found.has_objects;
  (found.kind == DataKind::tokens ? facts.tokens : is_of_conversations(found) ? facts.conversations : facts.texts) = true;
}

bool reads_pairs(const Config& config) { return config.model.kind == ModelKind::encoder_decoder; }

/// Returns the tokenizer that is known before the corpus is read, or nullptr.
std::unique_ptr<Tokenizer> known_tokenizer(const Config& config, const KnownCorpus* known, std::vector<std::string>& notes) {
  if (known != nullptr) {
    return tokenizer_from_json(known->tokenizer);
  }
  return config.tokenizer.path.empty() ? find_meta_pickle(config.data.all_sources(), notes) : open_tokenizer(config.tokenizer.path);
}

/// Returns the settings of the data with a source's files as its corpus.
DataConfig config_of(const DataConfig& config, const DataSource& source) {
  DataConfig of_source = config;
  of_source.corpus = source.corpus;
  of_source.validation = source.validation;
  of_source.sources.clear();
  return of_source;
}

/// Throws InputError for contents that are learned only as preferences, or not at all.
void require_learnable(const CorpusContents& found) {
  if (found.kind == DataKind::pairs || found.kind == DataKind::labels) {
    refuse(found, "texts or conversations");
  }
}

std::unique_ptr<OpenedSource> open_source(const Config& config, const DataSource& source, const SourceReading& reading, RunFacts& facts) {
  const DataConfig data = config_of(config.data, source);
  if (config.classify.is_on()) {
    facts.jsonl = true;
    return open_labels(data, config.classify, reading);
  }
  if (config.preference.is_on()) {
    facts.jsonl = true;
    return open_preferences(data, config.chat, config.preference, reading);
  }
  if (config.embedding.is_on()) {
    facts.jsonl = true;
    return open_text_pairs(config, data, reading);
  }
  const CorpusContents found = contents_of(data.corpus, data.names());
  add_facts(found, facts);
  if (!data.validation.empty()) {
    add_facts(contents_of(data.validation, data.names()), facts);
  }
  if (found.kind == DataKind::tokens) {
    return open_shards(data, reading);
  }
  if (!reading.is_known) {
    require_learnable(found);
  }
  const TextRules rules{.tokenizer_kind = config.tokenizer.kind, .refuses_json = !config.train.init_from.empty()};
  return is_of_conversations(found) ? open_conversations(data, config.chat, reading) : open_text(data, rules, reading);
}

/// Calls f(), and adds the name of the source to its error messages if there are several sources.
template <class F>
auto naming_source(const DataSource& source, F&& f) {
  try {
    return f();
  } catch (const MissingCorpus&) {
    throw;
  } catch (const InputError& error) {
    if (source.name.empty()) {
      throw;
    }
    fail_input("source \"", source.name, "\": ", error.what());
  }
}

/// Adds a note if the validation part has only a few tokens, or units: texts with labels, pairs or judged answers.
void note_on_validation(const Config& config, const Dataset& validation, bool has_own_files, std::vector<std::string>& notes) {
  constexpr index kEnough = 64, kEnoughUnits = 20;
  const Samples* const samples = validation.evaluation();
  index units = 0;
  for (index sample = 0; samples != nullptr && sample < samples->count(); ++sample) {
    units += samples->units(sample);
  }
  const index count = units > 0 ? units : samples != nullptr ? static_cast<index>(validation.targets()) : kEnough;
  if (count < (units > 0 ? kEnoughUnits : kEnough)) {
    const char* const what = units == 0 ? " token" : config.classify.is_on() ? " text" : config.embedding.is_on() ? " pair" : " example";
    notes.push_back(concat("the validation part has only ", count, what, count == 1 ? "" : "s", units == 0 ? " to predict" : "",
                           ", so its figures are not reliable; give more",
                           has_own_files ? " in data.validation" : ", or raise data.val_fraction"));
  }
}

/// Adds a note if documents of a text for evaluation are also trained on. `learned` must be sorted.
void note_on_shared(const std::string& what, const DocumentHashes& text, const DocumentHashes& learned, std::vector<std::string>& notes) {
  if (const index shared = count_shared(text, learned); shared > 0) {
    const auto all = static_cast<index>(text.size());
    notes.push_back(concat(shared == all ? "everything in " : concat(shared, " of the ", all, " documents of "), what,
                           shared == 1 || shared == all ? " is" : " are",
                           " also in the training text, so this loss does not show how well the model does on new text"));
  }
}

TrainingData load_sources(const ResolvedConfig& resolved, const KnownCorpus* known, std::unique_ptr<Tokenizer> tokenizer,
                          const LoadingProgress& progress) {
  const Config& config = resolved;
  TrainingData data{.tokenizer = std::move(tokenizer), .facts = RunFacts::none()};
  // Make the context in which all sources are read.
  const std::vector<DataSource> named = config.data.all_sources();
  const bool is_one = named.size() == 1;
  const auto maker = data.tokenizer == nullptr ? make_tokenizer_maker(tokenizer_options(config.tokenizer)) : nullptr;
  const SourceReading reading{.tokenizer = data.tokenizer.get(),
                              .maker = maker.get(),
                              .is_ours = known == nullptr || known->is_ours,
                              .is_known = known != nullptr && !known->fingerprint.empty(),
                              .seed = static_cast<std::uint64_t>(config.train.seed),
                              .progress = progress,
                              .notes = data.notes};
  // Open the sources, whose files are read once.
  std::vector<std::unique_ptr<OpenedSource>> sources;
  for (const DataSource& source : named) {
    sources.push_back(naming_source(source, [&] { return open_source(config, source, reading, data.facts); }));
    data.facts.several_files |= source.validation.empty() && sources.back()->facts().files > 1;
    data.fingerprint += sources.back()->facts().fingerprint;
  }
  if (!is_one) {
    data.fingerprint = to_hex(sha256(data.fingerprint));
  }
  require_known(config.data, known, data.fingerprint);
  // Note the documents that training and validation share.
  DocumentHashes learned;
  for (const auto& source : sources) {
    learned.insert(learned.end(), source->facts().documents_of_training.begin(), source->facts().documents_of_training.end());
  }
  std::ranges::sort(learned);
  for (std::size_t i = 0; i < named.size(); ++i) {
    note_on_shared(concat("the validation text (", named[i].validation.empty() ? "" : named[i].validation.front(), ")"),
                   sources[i]->facts().documents_of_validation, learned, data.notes);
  }
  // Learn the tokenizer, if there is none.
  if (maker != nullptr) {
    data.tokenizer = naming_memory("learning the tokenizer", [&] {
      return maker->make([&](double share) {
        if (progress) {
          progress({.stage = LoadingReport::Stage::learning, .share = share});
        }
      });
    });
  }
  // Tokenize and describe the sources.
  const double weights =
      std::accumulate(named.begin(), named.end(), 0.0, [](double sum, const DataSource& source) { return sum + source.weight; });
  for (std::size_t i = 0; i < named.size(); ++i) {
    std::vector<std::string> notes;
    SourceData split = naming_source(named[i], [&] { return sources[i]->tokens(*data.tokenizer, progress, notes); });
    note_on_validation(config, *split.validation, !named[i].validation.empty(), notes);
    for (const std::string& note : notes) {
      data.notes.push_back(is_one ? note : concat(named[i].name, ": ", note));
    }
    split.name = named[i].name;
    split.share = named[i].weight / weights;
    data.files += sources[i]->facts().files;
    data.documents += sources[i]->facts().documents;
    data.bytes += sources[i]->facts().bytes;
    data.sources.push_back(std::move(split));
    sources[i].reset();
  }
  // Read the texts for evaluation.
  require_input(config.data.evaluations.empty() || data.has_validation(),
                "data.evaluations names texts to evaluate, but they are evaluated only together with a validation part, and no source has "
                "one: raise data.val_fraction");
  for (const EvaluationSource& text : config.data.evaluations) {
    if (!config.embedding.is_on()) {
      add_facts(contents_of(text.corpus, config.data.names()), data.facts);
    }
    LoadedText loaded = load_evaluation_text(resolved, *data.tokenizer, text.corpus, progress);
    note_on_shared(concat("the text \"", text.name, "\" (data.evaluations)"), loaded.documents, learned, data.notes);
    data.evaluations.push_back({.name = text.name, .text = std::move(loaded.data)});
  }
  return data;
}

}  // namespace

index TrainingData::train_tokens() const {
  return std::accumulate(sources.begin(), sources.end(), index{0},
                         [](index sum, const SourceData& source) { return sum + source.train->size().tokens; });
}

index TrainingData::validation_tokens() const {
  return std::accumulate(sources.begin(), sources.end(), index{0},
                         [](index sum, const SourceData& source) { return sum + source.validation->size().tokens; });
}

bool TrainingData::has_validation() const {
  return std::ranges::any_of(sources, [](const SourceData& source) { return source.validation->evaluation() != nullptr; });
}

double TrainingData::bytes_per_target() const {
  double predicted = 0, share = 0;
  for (const SourceData& source : sources) {
    if (source.validation->evaluation() != nullptr) {
      predicted += source.share * source.validation->bytes_per_target();
      share += source.share;
    }
  }
  return share > 0 ? predicted / share : std::numeric_limits<double>::quiet_NaN();
}

std::vector<WeightedSamples> TrainingData::training() const {
  std::vector<WeightedSamples> all;
  for (const SourceData& source : sources) {
    all.push_back({.samples = source.training.get(), .weight = source.share});
  }
  return all;
}

const ChatTemplate* TrainingData::chat() const {
  const auto found = std::ranges::find_if(sources, [](const SourceData& source) { return source.chat.has_value(); });
  return found == sources.end() ? nullptr : &*found->chat;
}

TeacherPositions TrainingData::trained_targets(const std::string& key) const {
  require_input(sources.size() == 1, key, " is given with ", sources.size(),
                " sources of text, expected one: distillation is not possible with data.sources or --replay");
  return sources.front().train->trained_targets(key);
}

PreferenceKind kind_of_preferences(const Config& config) {
  for (const DataSource& source : config.data.all_sources()) {
    const DataKind kind = contents_of(source.corpus, config.data.names()).kind;
    if (kind == DataKind::pairs || kind == DataKind::judgments) {
      return kind == DataKind::pairs ? PreferenceKind::pair : PreferenceKind::judged;
    }
  }
  return PreferenceKind::none;
}

TrainingData load_training_data(const ResolvedConfig& config, const KnownCorpus* known, const LoadingProgress& progress) {
  const std::vector<std::string> paths = config->data.training_paths();
  require_input(!paths.empty(), "no corpus was given; expected --corpus FILE_OR_FOLDER, or data.corpus in the configuration");
  if (progress && std::find(paths.begin(), paths.end(), kStandardInput) != paths.end()) {
    progress({.stage = LoadingReport::Stage::opening});
  }
  std::vector<std::string> notes;
  auto tokenizer = known_tokenizer(config, known, notes);
  if (reads_pairs(config)) {
    require_input(config->data.columns.empty(),
                  "data.columns (--columns) is given, but an encoder-decoder reads pairs of texts without names: leave it out");
    TrainingData data = naming_memory("reading the pairs", [&] {
      return load_pairs(config->data, config->tokenizer, config->model.block_size, known, std::move(tokenizer));
    });
    note_on_validation(config, *data.sources.front().validation, false, data.notes);
    data.facts = RunFacts::none();
    data.facts.several_files = data.files > 1;
    return data;
  }
  TrainingData data = naming_memory("loading the corpus", [&] { return load_sources(config, known, std::move(tokenizer), progress); });
  data.notes.insert(data.notes.begin(), notes.begin(), notes.end());
  data.facts.several_documents =
      std::ranges::any_of(data.sources, [](const SourceData& source) { return source.train->size().documents > 2; });
  return data;
}

void require_known(const DataConfig& config, const KnownCorpus* known, const std::string& fingerprint) {
  require_input(known == nullptr || known->fingerprint.empty() || fingerprint == known->fingerprint,
                "the corpus has changed since the run began: its sha256 is ", fingerprint, ", the checkpoint's is ",
                known == nullptr ? "" : known->fingerprint, "; restore the original text (", config.training_paths().front(),
                "), begin a new run with `dikkat train`, or evaluate another text with `dikkat eval --corpus`");
}

TokenizerOptions tokenizer_options(const TokenizerConfig& config) {
  return {.kind = config.kind, .vocab_size = config.vocab_size, .splitter = config.splitter, .min_count = config.min_count};
}

LoadedText load_evaluation_text(const ResolvedConfig& config, const Tokenizer& tokenizer, const std::vector<std::string>& paths,
                                const LoadingProgress& progress) {
  if (reads_pairs(config)) {
    return {.data = std::make_unique<PairDataset>(read_pairs(paths).pairs, tokenizer, config->model.block_size)};
  }
  if (config->classify.is_on()) {
    return evaluation_of_labels(config->data, config->classify, tokenizer, paths);
  }
  if (config->embedding.is_on()) {
    return evaluation_of_text_pairs(config, tokenizer, paths);
  }
  const CorpusContents found = contents_of(paths, config->data.names());
  require_learnable(found);
  if (is_of_conversations(found)) {
    return evaluation_of_conversations(config->data, config->chat, tokenizer, paths);
  }
  LoadedText text = found.kind == DataKind::tokens ? evaluation_of_shards(config->data, tokenizer, paths)
                                                   : evaluation_of_text(config->data, tokenizer, paths, progress);
  require_input(text.data->evaluation() != nullptr, "the text for evaluation has ", text.data->size().tokens,
                " tokens, expected at least 2: give a longer text");
  return text;
}

}  // namespace dikkat
