#include "train/data/examples/label_source.h"

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/data/examples/read_examples.h"
#include "train/system/format_numbers.h"
#include "train/system/in_quotes.h"

namespace dikkat {
namespace {

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

class LabelSource : public ExampleSource<LabelCorpus> {
 public:
  LabelSource(const DataConfig& data, const ClassifyConfig& classify, const SourceReading& reading)
      : ExampleSource(data, reading, "labels of texts",
                      [&](const std::vector<std::string>& paths) { return read_labels(paths, data, classify); }),
        classify_(classify),
        seed_(reading.seed) {}

  SourceData tokens(const Tokenizer& tokenizer, const LoadingProgress&, std::vector<std::string>& notes) override {
    const index training = has_validation() ? std::ssize(corpus_.examples) : put_stratified_last(corpus_, config_.val_fraction, seed_);
    auto both = parts(training, [&](const LabelCorpus& corpus, index first, index count, const std::string& purpose) {
      return std::make_unique<LabelDataset>(corpus, first, count, tokenizer, classify_, config_, purpose);
    });
    // Collect the notes.
    add_notes(both, notes);
    note_on_rare(both.train->store(), classify_, notes);
    return std::move(both).data();
  }

 private:
  const ClassifyConfig classify_;
  const std::uint64_t seed_;
};

}  // namespace

LabelDataset::LabelDataset(const LabelCorpus& corpus, index first, index count, const Tokenizer& tokenizer, const ClassifyConfig& classify,
                           const DataConfig& data, const std::string& purpose)
    : window_(data.window), store_(corpus, first, count, tokenizer, classify, window_) {
  size_.tokens = store_.texts().tokens();
  size_.bytes_in_memory = store_.texts().bytes();
  const auto texts = [&](index some) { return concat(grouped_digits(some), some == 1 ? " text" : " texts", purpose); };
  if (store_.count() > 0) {
    auto samples = std::make_unique<LabelSamples>(store_, window_);
    notes_.push_back(note_on_rows(texts(store_.count()), *samples));
    evaluation_ = std::move(samples);
  }
  if (const index cut = store_.cut(); cut > 0) {
    notes_.push_back(concat(note_on_cut(texts(cut), cut, window_, window_key(data)), ", first ", store_.first_cut()));
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
  auto texts = std::make_unique<LabelDataset>(corpus, 0, std::ssize(corpus.examples), tokenizer, classify, data, "");
  std::vector<std::string> notes = texts->notes();
  return {.data = std::move(texts), .notes = std::move(notes), .documents = corpus.documents};
}

}  // namespace dikkat
