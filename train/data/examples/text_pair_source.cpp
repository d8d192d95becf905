#include "train/data/examples/text_pair_source.h"

#include <set>

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/data/examples/read_examples.h"
#include "train/data/examples/text_pair_dataset.h"

namespace dikkat {
namespace {

TextPairDataset::Options text_pair_options(const Config& config, const std::string& purpose) {
  const index rows = config.train.batch_size * config.train.gradient_accumulation_steps;
  return {.window = config.data.window,
          .window_key = window_key(config.data),
          .pairs_of_row = std::max<index>(1, config.embedding.batch / rows),
          .purpose = purpose};
}

/// Throws InputError if no pair has a text that is a wrong answer to its anchor, because there is then nothing to tell the right one from.
void require_different(const TextPairStore& store, const std::string& file) {
  std::set<std::vector<Token>> seconds, anchors;
  bool has_negatives = false;
  for (index pair = 0; pair < store.pairs(); ++pair) {
    const auto anchor = store.text(store.first_text(pair));
    anchors.emplace(anchor.begin(), anchor.end());
    has_negatives = has_negatives || store.first_text(pair + 1) - store.first_text(pair) > 2;
    for (index text = store.first_text(pair) + 1; text < store.first_text(pair + 1); ++text) {
      seconds.emplace(store.text(text).begin(), store.text(text).end());
    }
  }
  require_input(seconds.size() >= 2, "the ", store.pairs(), store.pairs() == 1 ? " pair" : " pairs", " of ", file,
                " for training have one positive text, and no negative, so there is nothing to tell it from: give pairs of other texts");
  require_input(
      anchors.size() >= 2 || has_negatives, "the ", store.pairs(), " pairs of ", file,
      " for training have one anchor, and no negative, so all positives are right answers to it: give pairs with other anchors, or "
      "negatives");
}

class TextPairSource : public ExampleSource<TextPairCorpus> {
 public:
  TextPairSource(const Config& config, const DataConfig& source, const SourceReading& reading)
      : ExampleSource(source, reading, "pairs of texts",
                      [&](const std::vector<std::string>& paths) { return read_text_pairs(paths, source.names()); }),
        run_(config) {}

  SourceData tokens(const Tokenizer& tokenizer, const LoadingProgress&, std::vector<std::string>& notes) override {
    const index training = has_validation() ? std::ssize(corpus_.examples) : put_training_first(corpus_, config_, notes);
    require_training(training);
    auto both = parts(training, [&](const TextPairCorpus& corpus, index first, index count, const std::string& purpose) {
      return std::make_unique<TextPairDataset>(corpus, first, count, tokenizer, text_pair_options(run_, purpose));
    });
    // Refuse pairs with nothing to learn.
    const TextPairStore& store = both.train->pairs();
    const std::string& file = config_.corpus.front();
    require_input(store.pairs() > 0, "both sides of each pair of ", file, " for training are equal, such as ", store.first_equal(),
                  ", expected different texts");
    require_different(store, file);
    // Collect the notes.
    add_notes(both, notes);
    if (const index pairs = store.pairs(); pairs < run_.embedding.batch) {
      notes.push_back(concat("a step compares ", run_.embedding.batch, " pairs (embedding.batch), and there are ", pairs,
                             ": a pair occurs several times in it, where it is not compared with itself"));
    }
    return std::move(both).data();
  }

 private:
  const Config run_;
};

}  // namespace

std::unique_ptr<OpenedSource> open_text_pairs(const Config& config, const DataConfig& source, const SourceReading& reading) {
  return std::make_unique<TextPairSource>(config, source, reading);
}

LoadedText evaluation_of_text_pairs(const Config& config, const Tokenizer& tokenizer, const std::vector<std::string>& paths) {
  const TextPairCorpus corpus = read_text_pairs(paths, config.data.names());
  auto data =
      std::make_unique<TextPairDataset>(corpus, 0, static_cast<index>(corpus.examples.size()), tokenizer, text_pair_options(config, ""));
  require_input(data->evaluation() != nullptr, "both sides of each pair of ", paths.front(), " are equal, such as ",
                data->pairs().first_equal(), ", expected different texts");
  LoadedText text{.notes = data->notes(), .documents = corpus.documents};
  text.data = std::move(data);
  return text;
}

}  // namespace dikkat
