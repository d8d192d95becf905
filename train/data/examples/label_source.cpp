#include "train/data/examples/label_source.h"

#include <cmath>
#include <utility>

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/data/examples/read_examples.h"
#include "train/system/format_numbers.h"
#include "train/system/in_quotes.h"

namespace dikkat {
namespace {

/// Adds notes on what is read of a part: the number of its rows, and texts that are cut.
void note_on_part(const LabelDataset& part, const DataConfig& data, const char* purpose, std::vector<std::string>& notes) {
  const LabelStore& store = part.store();
  if (store.count() == 0) {
    return;
  }
  const auto texts = [](index count) { return concat(grouped_digits(count), count == 1 ? " text" : " texts"); };
  const LabelSamples samples(store, data.window);
  notes.push_back(concat(texts(store.count()), purpose, " in ", grouped_digits(samples.count()),
                         samples.count() == 1 ? " row of " : " rows of ", grouped_digits(samples.longest().cols), " tokens; ",
                         static_cast<index>(std::lround(100 * samples.padding())), " % of the positions are padding"));
  if (store.cut() > 0) {
    notes.push_back(concat(texts(store.cut()), purpose, store.cut() == 1 ? " has" : " have", " more than ", grouped_digits(data.window),
                           " tokens (", window_key(data), ") and ", store.cut() == 1 ? "is" : "are", " cut at the end, first ",
                           store.first_cut()));
  }
}

/// Adds a note that names the labels with few texts, if there are such.
void note_on_rare(const LabelStore& store, const ClassifyConfig& classify, std::vector<std::string>& notes) {
  constexpr index kFew = 4;  // less than a quarter of an even share
  if (classify.weights == LabelWeights::balanced) {
    return;
  }
  const std::vector<index> counts = store.counts();
  std::string rare;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (kFew * counts[i] * std::ssize(counts) < store.count()) {
      append_to(rare, concat(rare.empty() ? "" : ", ", in_quotes(classify.labels[i]), " (", counts[i], ')'));
    }
  }
  if (!rare.empty()) {
    notes.push_back(concat("rare labels of the ", grouped_digits(store.count()), " texts for training: ", rare,
                           "; classify.weights = \"balanced\" makes them count as much as the others"));
  }
}

class LabelSource : public OpenedSource {
 public:
  LabelSource(const DataConfig& data, ClassifyConfig classify, const SourceReading& reading)
      : OpenedSource(data), classify_(std::move(classify)), seed_(reading.seed), corpus_(read_labels(data.corpus, data, classify_)) {
    require_input(
        reading.tokenizer != nullptr, data.corpus.front(),
        " holds labels, and there is no tokenizer for the texts: start from a trained model with --init-from (train.init_from), or "
        "set tokenizer.path");
    held_out_ = has_validation() ? read_labels(data.validation, data, classify_) : LabelCorpus();
    set_facts(facts_of(corpus_), facts_of(held_out_));
    facts_.documents_of_training = corpus_.documents;
    facts_.documents_of_validation = held_out_.documents;
  }

  SourceData tokens(const Tokenizer& tokenizer, const LoadingProgress&, std::vector<std::string>& notes) override {
    constexpr index kEnough = 20;
    // Choose the texts for training, and encode both parts.
    const auto all = static_cast<index>(corpus_.examples.size());
    const index training = has_validation() ? all : put_stratified_last(corpus_, config_.val_fraction, seed_);
    const LabelCorpus& others = has_validation() ? held_out_ : corpus_;
    const index first = has_validation() ? 0 : training;
    auto train = std::make_unique<LabelDataset>(corpus_, 0, training, tokenizer, classify_, config_.window);
    auto validation = std::make_unique<LabelDataset>(others, first, static_cast<index>(others.examples.size()) - first, tokenizer,
                                                     classify_, config_.window);
    // Collect the notes.
    for (const std::string& note : corpus_.found.notes()) {
      notes.push_back(note);
    }
    note_on_part(*train, config_, " for training", notes);
    note_on_part(*validation, config_, " for validation", notes);
    note_on_rare(train->store(), classify_, notes);
    if (const index count = validation->store().count(); 0 < count && count < kEnough) {
      notes.push_back(concat("the validation part has only ", count, count == 1 ? " text" : " texts",
                             ", so its accuracy is not reliable; give more texts"));
    }
    SourceData split;
    split.training = train->training();
    split.train = std::move(train);
    split.validation = std::move(validation);
    return split;
  }

 private:
  const ClassifyConfig classify_;
  const std::uint64_t seed_;
  LabelCorpus corpus_, held_out_;
};

}  // namespace

LabelDataset::LabelDataset(const LabelCorpus& corpus, index first, index count, const Tokenizer& tokenizer, const ClassifyConfig& classify,
                           index window)
    : window_(window), store_(corpus, first, count, tokenizer, classify, window) {
  size_.tokens = store_.texts().tokens();
  size_.bytes_in_memory = store_.texts().bytes();
  if (store_.count() > 0) {
    evaluation_ = training();
  }
}

TeacherPositions LabelDataset::trained_targets(const std::string& key) const {
  fail_input(key, " is given, but the corpus holds labels: distillation is not possible with classify.field (--labels)");
}

std::unique_ptr<OpenedSource> open_labels(const DataConfig& data, const ClassifyConfig& classify, const SourceReading& reading) {
  return std::make_unique<LabelSource>(data, classify, reading);
}

LoadedText evaluation_of_labels(const DataConfig& data, const ClassifyConfig& classify, const Tokenizer& tokenizer,
                                const std::vector<std::string>& paths) {
  const LabelCorpus corpus = read_labels(paths, data, classify);
  auto texts = std::make_unique<LabelDataset>(corpus, 0, static_cast<index>(corpus.examples.size()), tokenizer, classify, data.window);
  std::vector<std::string> notes = corpus.found.notes();
  note_on_part(*texts, data, "", notes);
  return {.data = std::move(texts), .notes = std::move(notes), .documents = corpus.documents};
}

}  // namespace dikkat
