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

class TextPairSource : public OpenedSource {
 public:
  TextPairSource(const Config& config, const DataConfig& source, const SourceReading& reading) : OpenedSource(source), run_(config) {
    corpus_ = read_text_pairs(source.corpus, source.names());
    require_input(reading.tokenizer != nullptr, source.corpus.front(),
                  " holds pairs of texts, and there is no tokenizer for them: start from a trained model with --init-from "
                  "(train.init_from), or set tokenizer.path. The first pair is ",
                  corpus_.places.front());
    held_out_ = has_validation() ? read_text_pairs(source.validation, source.names()) : TextPairCorpus();
    set_facts(facts_of(corpus_), facts_of(held_out_));
    facts_.documents_of_training = corpus_.documents;
    facts_.documents_of_validation = held_out_.documents;
  }

  SourceData tokens(const Tokenizer& tokenizer, const LoadingProgress&, std::vector<std::string>& notes) override {
    const std::string& file = config_.corpus.front();
    const auto all = static_cast<index>(corpus_.examples.size());
    const index training = has_validation() ? all : put_training_first(corpus_, config_, notes);
    const auto part = [&](const TextPairCorpus& corpus, index first, index count, const char* purpose) {
      return std::make_unique<TextPairDataset>(corpus, first, count, tokenizer, text_pair_options(run_, purpose));
    };
    auto train = part(corpus_, 0, training, " for training");
    auto validation = has_validation() ? part(held_out_, 0, static_cast<index>(held_out_.examples.size()), " for validation")
                                       : part(corpus_, training, all - training, " for validation");
    // Refuse pairs with nothing to learn.
    require_input(train->pairs().pairs() > 0 || train->pairs().equal() == 0, "both sides of each pair of ", file,
                  " for training are equal, such as ", train->pairs().first_equal(), ", expected different texts");
    require_input(train->pairs().pairs() > 0, file, " has ", all, all == 1 ? " pair, which is" : " pairs, which are",
                  " for validation (data.val_fraction = ", config_.val_fraction,
                  "), so none is left to train on; give more pairs, or set data.val_fraction=0");
    require_different(train->pairs(), file);
    // Collect the notes.
    for (const TextPairCorpus* corpus : {&corpus_, &held_out_}) {
      const std::vector<std::string> some = corpus->found.notes();
      notes.insert(notes.end(), some.begin(), some.end());
    }
    for (const TextPairDataset* some : {train.get(), validation.get()}) {
      notes.insert(notes.end(), some->notes().begin(), some->notes().end());
    }
    if (const index pairs = train->pairs().pairs(); pairs < run_.embedding.batch) {
      notes.push_back(concat("a step compares ", run_.embedding.batch, " pairs (embedding.batch), and there are ", pairs,
                             ": a pair occurs several times in it, where it is not compared with itself"));
    }
    SourceData split{.train = std::move(train), .validation = std::move(validation)};
    split.training = split.train->training();
    return split;
  }

 private:
  const Config run_;
  TextPairCorpus corpus_, held_out_;
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
