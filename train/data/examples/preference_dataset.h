#pragma once

#include <memory>
#include <string>
#include <vector>

#include "train/data/dataset.h"
#include "train/data/examples/example_form.h"
#include "train/data/examples/preferences.h"

namespace dikkat {

/// Preferences for a GPT: pairs of answers, or judged answers, in packed rows.
class PreferenceDataset : public Dataset {
 public:
  /// Tokenizes examples `first` to `first + count - 1`. With `judges`, each answer of a pair
  /// becomes a judged one. `purpose` is the examples' use in notes: " for training". Keeps no references.
  /// Throws InputError, which names the file and the line, for an example that the tokenizer or the template cannot write.
  PreferenceDataset(const PreferenceCorpus& corpus, index first, index count, const ExampleForm& form, bool judges,
                    const std::string& purpose);

  std::unique_ptr<const Samples> training() const override;
  const Sequences* scored() const override { return &store_; }
  TeacherPositions trained_targets(const std::string& key) const override;

  const PreferenceStore& preferences() const { return store_; }
  /// Sets the reference model's log-probability of each sequence.
  void set_reference(std::vector<double> log_probabilities) { store_.set_reference(std::move(log_probabilities)); }
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  const index window_;
  PreferenceStore store_;
  std::vector<std::string> notes_;
};

}  // namespace dikkat
