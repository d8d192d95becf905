#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "train/data/batch.h"
#include "train/model/trained_model.h"

namespace dikkat {

// Pages that show a text token by token (train/web/report/page/text.js).

/// For `sample --html`: each token's probability, its alternatives and what the model looked at. `texts` are prompts with their
/// continuations; `given`: tokens of the prompt. Of a very long text the end is shown.
void write_sample_page(const std::filesystem::path& out, const TrainedModel& trained, const std::vector<std::vector<Token>>& texts,
                       index given);

/// For `eval --html`: the evaluated text with the loss of each token, up to some length.
class LossPage {
 public:
  explicit LossPage(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  /// As Evaluator::Listener.
  void add(const Batch& batch, std::span<const double> losses);
  void write(const std::filesystem::path& out, const std::string& title, const std::string& model) const;

 private:
  struct Scored {
    Token token;
    double loss;
  };

  const Tokenizer& tokenizer_;
  std::vector<Scored> tokens_;
  bool cut_ = false;  // there was more
};

}  // namespace dikkat
