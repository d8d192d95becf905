#pragma once

#include <span>
#include <string>
#include <vector>

#include "train/model/trained_model.h"

namespace dikkat {

/// Sets `probabilities` to those of a text's labels: the softmax of its logits, or with several labels the sigmoid of each.
void label_probabilities(std::span<const double> logits, bool several, std::vector<double>& probabilities);

/// Throws InputError if the model is a classifier, which does not continue texts.
void require_no_classifier(const TrainedModel& trained);

/// The labels that a trained model gives texts. Texts are packed into rows, so a probability may differ in its last bits with the texts
/// that come with it.
class Classifier {
 public:
  /// Keeps a reference. Throws InputError if the model is not a classifier.
  explicit Classifier(const TrainedModel& trained);

  const std::vector<std::string>& labels() const { return trained_.config.classify.labels; }
  /// Returns whether a text may have several labels, or none.
  bool several() const { return trained_.config.classify.several; }
  /// Returns the most tokens of a text that are read (data.window).
  index window() const { return trained_.config.data.window; }

  struct Answer {
    std::vector<double> probabilities{};  // one for each label; their sum is 1, unless several()
    index tokens = 0;                     // tokens that were read
    bool is_cut = false;                  // the text is longer than a window

    /// Returns the index of the likeliest label.
    std::size_t best() const;
  };
  /// Returns an answer for each text. Throws InputError, which begins with "text 7 " if the seventh text cannot be encoded or has no
  /// tokens.
  std::vector<Answer> operator()(std::span<const std::string> texts) const;

  /// Returns the logits of texts, (texts, labels). Each text has 1 token or more, and at most window().
  std::vector<float> logits(std::span<const std::vector<Token>> texts) const;
  /// Returns the probability of each label (label_probabilities()).
  std::vector<double> probabilities(std::span<const float> logits) const;

 private:
  const TrainedModel& trained_;
};

}  // namespace dikkat
