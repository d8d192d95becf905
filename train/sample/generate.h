#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "layers/models/gpt.h"
#include "train/sample/draw.h"
#include "train/text/token.h"

namespace dikkat {

/// What happens when a text outgrows the model's context. Positions count from the first token that is kept, so all keys and values are
/// computed anew whenever one is dropped.
enum class Slide {
  quarter,  // a full context drops its oldest quarter at once
  token,    // its oldest token: each further token costs a pass over the whole context
};

struct SampleOptions {
  index max_new_tokens = 500;
  index num_samples = 1;
  double temperature = 0.8;  // this and the next three as in DrawOptions
  index top_k = 0;
  double top_p = 1;
  double min_p = 0;
  double repetition_penalty = 1;  // of tokens that the prompt or the text has, see penalize()
  std::uint64_t seed = 1337;
  index first_sample = 0;  // the number of the first sample, by which it draws
  Slide slide = Slide::quarter;
  bool log_probabilities = false;
  bool cached = true;  // false: without the key-value cache; slower, and the same but for rounding
};

/// Ids that a model may draw.
struct Vocabulary {
  index size = 0;                  // ids from here on are padding
  std::vector<Token> unwritten{};  // no text has them
  std::optional<Token> end{};      // a sample ends where it draws this, and does not have it
};

/// Why a sample ended.
enum class Ending {
  length,       // it has max_new_tokens
  end_token,    // it drew Vocabulary::end
  told,         // GenerationEvents::token said so
  interrupted,  // GenerationEvents::stop said so
};

struct Sample {
  std::vector<Token> tokens{};              // without the prompt
  std::vector<double> log_probabilities{};  // of each, where asked for: nats, under the softmax of the model's logits as they are
  Ending ending = Ending::length;
};

/// Callbacks. All are called on the thread that generates.
struct GenerationEvents {
  std::function<bool()> stop{};                            // before each token; true: all samples end here
  std::function<bool(index sample, Token token)> token{};  // of each token of a sample (from 0 on); false: the sample ends with it
  std::function<void(index sample)> ended{};               // once for each sample, after its last token
  std::function<void()> slide{};                           // once, when the context first drops tokens that it has read
};

/// Continues a prompt of one token or more. The random number for token i of sample s depends on (seed, s, i) alone, and a sample does not
/// depend on the samples generated beside it. The model reads the last block_size tokens of a prompt, once for all samples,
/// and then a token at a time of up to eight samples together, from a cache of keys and values.
/// Throws InputError for an option out of range or a prompt without tokens, and Error where the model gives logits that are no numbers.
std::vector<Sample> generate(const Gpt& model, const Vocabulary& vocabulary, const std::vector<Token>& prompt, const SampleOptions& options,
                             const GenerationEvents& events = {});

/// Throws InputError, in the words of the command line, as generate() would.
void check(const SampleOptions& options);

}  // namespace dikkat
