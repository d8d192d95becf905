#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "autograd/base/index.h"
#include "train/text/token.h"

namespace dikkat {

/// The lengths of a batch's rows.
struct RowLengths {
  index cols = 0;         // T
  index source_cols = 0;  // S, for an encoder's source; 0 for GPT
  bool packed = false;    // whether a row may have several sequences
  index texts = 0;        // the most texts of a row (Batch::texts)

  bool operator==(const RowLengths&) const = default;
};

/// Returns row lengths that are long enough for both `a` and `b`.
inline RowLengths longer(const RowLengths& a, const RowLengths& b) {
  return {.cols = std::max(a.cols, b.cols),
          .source_cols = std::max(a.source_cols, b.source_cols),
          .packed = a.packed || b.packed,
          .texts = std::max(a.texts, b.texts)};
}

/// The role of an answer in a preference example: preferred or rejected in a pair, or judged good or bad. A mismatched answer is another
/// example's answer after this prompt, which only estimates how far the model has moved (KTO).
enum class AnswerRole : std::uint8_t { chosen, rejected, good, bad, mismatched };

/// A sequence of a batch whose log-probability counts for preferences.
struct Answer {
  index number = 0;  // index of the sequence in its store
  index begin = 0;   // its first position, counted in (B, T)
  index length = 0;  // positions
  index tokens = 0;  // scored targets, 1 or more
  AnswerRole role = AnswerRole::chosen;
  double reference = 0;  // the reference model's log-probability of the scored targets
};

/// A text of a batch that the model only reads: it predicts nothing in it.
struct ReadText {
  index number = 0;  // index of the text in its store
  index begin = 0;   // its first position, counted in (B, T)
  index length = 0;  // positions, 1 or more
  index place = 0;   // its place in its unit, from 0
};

/// Returns the bytes of a batch.
inline std::size_t bytes_of(const RowLengths& lengths, index rows) {
  const std::size_t of_position = 2 * sizeof(Token) + sizeof(float) + sizeof(std::int64_t) + (lengths.packed ? sizeof(std::int32_t) : 0);
  return static_cast<std::size_t>(rows) *
         (static_cast<std::size_t>(lengths.cols) * of_position + static_cast<std::size_t>(lengths.source_cols) * sizeof(Token) +
          sizeof(std::int32_t) + static_cast<std::size_t>(lengths.texts) * sizeof(ReadText));
}

/// The input of one forward pass: B rows of T positions, row-major. The vectors are reused: filling a batch of the same shape again does
/// not allocate.
struct Batch {
  index rows = 0;              // B
  RowLengths lengths;          // T, S
  std::vector<Token> inputs;   // (B, T)
  std::vector<Token> targets;  // (B, T): the token after each input
  std::vector<float> weights;  // (B, T): the weight of each target in the loss; 0 for padding
  std::vector<std::int64_t>
      numbers;               // (B, T): each scored target's index in its text (TeacherPositions); -1 for others, and for samples without
  double target_weight = 0;  // sum of the weights
  double step_weight = 0;    // sum of the weights of all batches of the step; losses are divided by it
  std::vector<std::int32_t> starts;  // (B, T) where rows are packed: the position where its sequence begins; otherwise empty

  // Preferences or texts; otherwise empty and 0.
  std::vector<Answer> answers;  // two for each unit (Samples::units()), one after the other
  std::vector<ReadText> texts;  // in the order of their positions; those of a unit follow one another
  std::vector<float> labels;    // (texts, classes): 1 for each label of a text, and 0 for the others; empty for texts without labels
  index units = 0;              // pairs, judged answers or units of texts in this batch
  index step_units = 0;         // units of all batches of the step; losses are divided by it

  // The encoder's source; empty for GPT.
  std::vector<Token> source;                 // (B, S), padded at the end
  std::vector<std::int32_t> source_lengths;  // (B)

  /// Fills a row with padding, starting at position `from`. No target there counts, and in packed rows each position sees only itself.
  void pad(index row, index from, Token token = 0) {
    const index begin = row * lengths.cols + from, count = lengths.cols - from;
    std::fill_n(inputs.begin() + begin, count, token);
    std::fill_n(targets.begin() + begin, count, token);
    std::fill_n(weights.begin() + begin, count, 0.0F);
    if (lengths.packed) {
      std::iota(starts.begin() + begin, starts.begin() + begin + count, static_cast<std::int32_t>(from));
    }
  }

  /// Gives a batch of the largest shape as many sequences as it can have, for a dry run: a row may be longer than any sequence.
  void fill_for_dry_run() {
    step_weight = 1;
    step_units = 1;
    std::fill(source_lengths.begin(), source_lengths.end(), static_cast<std::int32_t>(lengths.source_cols));
    for (index row = 0; lengths.packed && row < rows; ++row) {
      const index begin = row * lengths.cols;
      std::iota(starts.begin() + begin, starts.begin() + begin + lengths.cols, 0);
      for (index text = 0; text < lengths.texts; ++text) {
        texts.push_back({.number = 0, .begin = begin + text, .length = 1});
      }
    }
  }

  /// Sets the shape. The contents of the rows are then undefined, and the sums of weights are 0.
  void reshape(index new_rows, const RowLengths& new_lengths) {
    const auto size = static_cast<std::size_t>(new_rows * new_lengths.cols);
    rows = new_rows;
    lengths = new_lengths;
    inputs.resize(size);
    targets.resize(size);
    weights.resize(size);
    numbers.assign(size, -1);
    target_weight = 0;
    step_weight = 0;
    answers.clear();
    texts.clear();
    labels.clear();
    units = 0;
    step_units = 0;
    starts.resize(new_lengths.packed ? size : 0);
    source.resize(static_cast<std::size_t>(new_rows * new_lengths.source_cols));
    source_lengths.resize(new_lengths.source_cols > 0 ? static_cast<std::size_t>(new_rows) : 0);
  }
};

}  // namespace dikkat
