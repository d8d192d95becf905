#include "train/data/examples/conversation_dataset.h"

#include <cmath>

#include "train/data/samples/packed_samples.h"
#include "train/system/format_numbers.h"

namespace dikkat {
namespace {

ConversationStore store_of(const ExampleRange& examples, const ExampleForm& form, ScoredText scored) {
  return {examples.corpus, examples.first, examples.count, form.tokenizer, form.chat, scored, form.window};
}

/// Returns the notes on a store, which has `all` examples if none is left out. `samples` packs it, or is null if it is empty.
std::vector<std::string> notes_on(const ConversationStore& store, const PackedSamples* samples, index all, const ExampleForm& form,
                                  const std::string& purpose) {
  std::vector<std::string> notes;
  if (samples != nullptr) {
    notes.push_back(concat(grouped_digits(store.count()), store.count() == 1 ? " example" : " examples", purpose, " in ",
                           grouped_digits(samples->count()), samples->count() == 1 ? " window; " : " windows; ",
                           static_cast<index>(std::lround(100 * samples->padding())), " % of the positions are padding"));
  }
  const auto of_all = [&](index some) {
    return concat(grouped_digits(some), " of ", grouped_digits(all), all == 1 ? " example" : " examples", purpose);
  };
  if (const index cut = store.cut(); cut > 0) {
    notes.push_back(concat(of_all(cut), cut == 1 ? " has" : " have", " more than ", grouped_digits(form.window), " tokens (",
                           form.window_key, ") and ", cut == 1 ? "is cut at its end" : "are cut at their end"));
  }
  if (const index left_out = store.left_out(); left_out > 0) {
    notes.push_back(concat(of_all(left_out), left_out == 1 ? " is" : " are", " left out: within the window ",
                           left_out == 1 ? "it has" : "they have", " no token to learn (chat.loss)"));
  }
  return notes;
}

std::unique_ptr<const PackedSamples> packed(const ConversationStore& store, index window) {
  return store.count() > 0 ? std::make_unique<const PackedSamples>(store, window) : nullptr;
}

}  // namespace

ConversationDataset::ConversationDataset(const ExampleRange& examples, const ExampleForm& form, ScoredText scored,
                                         const std::string& purpose)
    : ConversationDataset(examples, form, scored, scored, purpose) {}

ConversationDataset::ConversationDataset(const ExampleRange& examples, const ExampleForm& form, ScoredText trained, ScoredText scored,
                                         const std::string& purpose)
    : window_(form.window),
      scored_(store_of(examples, form, scored)),
      apart_(trained == scored ? nullptr : std::make_unique<const ConversationStore>(store_of(examples, form, trained))) {
  size_ = {.tokens = scored_.tokens(), .predicted_bytes = scored_.scored_bytes()};
  auto samples = packed(scored_, window_);
  notes_ = apart_ ? notes_on(*apart_, packed(*apart_, window_).get(), examples.count, form, purpose)
                  : notes_on(scored_, samples.get(), examples.count, form, purpose);
  evaluation_ = std::move(samples);
}

std::unique_ptr<const Samples> ConversationDataset::training() const { return std::make_unique<PackedSamples>(trained(), window_); }

}  // namespace dikkat
