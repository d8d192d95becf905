#pragma once

#include <span>
#include <string>
#include <vector>

#include "train/chat/chat_template.h"
#include "train/chat/preference.h"
#include "train/config/data_config.h"
#include "train/data/examples/conversations.h"
#include "train/data/examples/example_corpus.h"
#include "train/data/samples/samples.h"

namespace dikkat {

/// Examples for preference tuning. All are pairs, or all are judged answers.
struct PreferenceCorpus : ExampleCorpus<Preference> {
  bool are_pairs() const { return !examples.empty() && examples.front().is_pair(); }
};

/// Reads files of examples (read_preference()): JSONL, a JSON array, or a table. If examples judge the same answer to the same prompt, the
/// first one gets the judgment of the last, and the others are not learned. Throws InputError, which names the file and the line or object,
/// also for an example of another kind than those before it. Throws it also if the files have no example to learn.
PreferenceCorpus read_preferences(std::span<const std::string> paths, const FieldNames& names = {});

/// Encodes two answers to a prompt. Their scored tokens are those of the answers; two plain texts are scored starting at their first
/// difference. Throws InputError if the template makes several texts of one.
std::pair<ChatTokens, ChatTokens> encode_answers(const Tokenizer& tokenizer, const ChatTemplate& form, const Conversation& first,
                                                 const Conversation& second);

/// The tokens of preference examples. Each unit has two sequences, 2 u and 2 u + 1. They are the chosen and the rejected answer of a pair,
/// or a judged answer and, for KTO, another example's answer after the same prompt. Sequences that are longer than a window plus one token
/// are cut at their end. A unit is left out if one of its sequences then has no token to score, or if both sides of a pair are equal.
class PreferenceStore : public ScoredSequences {
 public:
  struct Options {
    index window = 0;
    bool judges = false;  // each answer of a pair becomes a judged one
  };
  /// Encodes examples `first` to `first + count - 1` in parallel; the result does not depend on the threads. Keeps no references. Throws
  /// InputError, which names the file and the line, for an example that the tokenizer or the template cannot write.
  PreferenceStore(const PreferenceCorpus& corpus, index first, index count, const Tokenizer& tokenizer, const ChatTemplate& form,
                  const Options& options);

  index units() const { return count() / 2; }
  bool are_pairs() const { return !judges_; }
  AnswerRole role(index sequence) const { return roles_[static_cast<std::size_t>(sequence)]; }

  index cut() const { return cut_; }            // number of units with a cut answer
  index left_out() const { return left_out_; }  // number of units in which an answer has nothing to score
  index equal() const { return equal_; }        // number of pairs whose sides are equal
  index good() const;                           // number of judged answers that are good

  /// Returns the reference model's log-probability of each sequence; 0 until it is set.
  std::span<const double> reference() const { return reference_; }
  /// Throws Error unless there is one number for each sequence.
  void set_reference(std::vector<double> log_probabilities);
  /// Returns the sha256 of all tokens, marks and roles, hex.
  std::string hash() const;

 private:
  void add_unit(ChatTokens& first, AnswerRole first_role, ChatTokens& second, AnswerRole second_role, index window);

  std::vector<AnswerRole> roles_;
  std::vector<double> reference_;
  bool judges_;
  index cut_ = 0, left_out_ = 0, equal_ = 0;
};

/// Rows of packed units. Both sequences of a unit are in one row, and no sequence sees another (PackedSamples). A row has room for two
/// windows, so it is longer than the model's context; positions count from the beginning of each sequence.
class PreferenceSamples : public Samples {
 public:
  /// Keeps a reference to the store. Throws InputError if it is empty.
  PreferenceSamples(const PreferenceStore& store, index window);

  /// Returns the share of positions that hold padding.
  double padding() const { return rows_.padding(); }

  index count() const override { return rows_.count(); }
  RowLengths lengths(index) const override { return longest(); }
  RowLengths longest() const override { return {.cols = rows_.row_length(), .packed = true}; }
  double target_weight(index sample) const override;
  index units(index sample) const override { return std::ssize(rows_.units(sample)); }
  void fill(index epoch, index sample, index row, Batch& batch) const override;

 private:
  const PreferenceStore& store_;
  PackedRows rows_;  // rows of packed units
};

}  // namespace dikkat
