#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "train/data/batch.h"
#include "train/model/trained_model.h"

namespace dikkat {

// Pages that show a text token by token (train/web/report/page/text.js).

/// Writes the page of `sample --html`: each token's probability, its alternatives and the model's attention. `texts` are prompts with their
/// continuations, `given` is the number of prompt tokens. Only the end of a very long text is shown.
void write_sample_page(const std::filesystem::path& out, const TrainedModel& trained, const std::vector<std::vector<Token>>& texts,
                       index given);

/// The page of `eval --html`: the evaluated text with the loss of each token, up to a maximum length.
class LossPage {
 public:
  explicit LossPage(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  /// Adds the scored tokens of a batch. It is an Evaluator::Listener.
  void add(const Batch& batch, std::span<const double> losses);
  void write(const std::filesystem::path& out, const std::string& title, const std::string& model) const;

 private:
  struct Scored {
    Token token;
    double loss;
  };

  const Tokenizer& tokenizer_;
  std::vector<Scored> tokens_;
  bool cut_ = false;  // whether the text was longer
};

}  // namespace dikkat
