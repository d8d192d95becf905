#include "train/data/examples/preference_dataset.h"

#include "autograd/base/error.h"
#include "train/data/examples/read_examples.h"
#include "train/system/format_numbers.h"

namespace dikkat {

PreferenceDataset::PreferenceDataset(const PreferenceCorpus& corpus, index first, index count, const ExampleForm& form, bool judges,
                                     const std::string& purpose)
    : window_(form.window), store_(corpus, first, count, form.tokenizer, form.chat, {.window = form.window, .judges = judges}) {
  size_.tokens = store_.tokens();
  const bool pairs = store_.are_pairs();
  const auto numbered = [&](index some) {
    return concat(grouped_digits(some), pairs ? (some == 1 ? " pair" : " pairs") : (some == 1 ? " answer" : " answers"), purpose);
  };
  // Pack the units.
  if (store_.units() > 0) {
    auto samples = std::make_unique<PreferenceSamples>(store_, window_);
    notes_.push_back(note_on_rows(numbered(store_.units()), *samples));
    evaluation_ = std::move(samples);
  }
  // Note what is cut or left out.
  if (const index cut = store_.cut(); cut > 0) {
    notes_.push_back(concat(numbered(cut), cut == 1 ? " has" : " have", " more than ", grouped_digits(window_), " tokens (",
                            form.window_key, ") in an answer with its prompt, which is cut at its end; prompts are never cut"));
  }
  if (const index left_out = store_.left_out(); left_out > 0) {
    notes_.push_back(concat(numbered(left_out), left_out == 1 ? " is" : " are", " left out: within ", grouped_digits(window_), " tokens (",
                            form.window_key, ") there is no answer, or no difference between the two"));
  }
  if (const index equal = store_.equal(); equal > 0) {
    notes_.push_back(concat(numbered(equal), equal == 1 ? " is" : " are", " left out: both answers are equal"));
  }
}

std::unique_ptr<const Samples> PreferenceDataset::training() const { return std::make_unique<PreferenceSamples>(store_, window_); }

TeacherPositions PreferenceDataset::trained_targets(const std::string& key) const {
  fail_input(key, " is given, but the corpus holds preferences: distillation is not possible with preference.method");
}

}  // namespace dikkat
