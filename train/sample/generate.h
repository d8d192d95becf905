#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "layers/models/gpt.h"
#include "train/sample/draw.h"
#include "train/text/token.h"

namespace dikkat {

class PromptCache;

struct SampleOptions {
  index max_new_tokens = 500;
  index num_samples = 1;     // of each prompt
  double temperature = 0.8;  // this and the next three as in DrawOptions
  index top_k = 0;
  double top_p = 1;
  double min_p = 0;
  double repetition_penalty = 1;  // for tokens that occur in the prompt or the text so far, see penalize()
  std::uint64_t seed = 1337;
  index first_sample = 0;  // the number of each prompt's first sample, which selects its random numbers
  bool log_probabilities = false;
  PromptCache* prompts = nullptr;  // of this model: keeps what is read of prompts from call to call
};

/// The ids that sampling may draw.
struct Vocabulary {
  index size = 0;                   // ids from here on are padding of the embedding table
  std::vector<Token> suppressed{};  // ids that are never drawn
  std::vector<Token> ends{};        // a sample ends when it draws one of these ids, which is not part of it
};

/// Why a sample ended.
enum class Ending {
  length,       // it has max_new_tokens
  end_token,    // it drew one of Vocabulary::ends
  stopped,      // GenerationEvents::token returned false
  interrupted,  // GenerationEvents::stop returned true
};

struct Sample {
  std::vector<Token> tokens{};              // without the prompt
  std::vector<double> log_probabilities{};  // of each token, if asked for: nats, under the softmax of the model's own logits
  Ending ending = Ending::length;
};

/// Keys and values of the prompt that was read last, for the next one: its tokens are read from where the two differ on. A prompt is then
/// read in passes of kChunk tokens, and keys and values are kept up to the end of such a pass, so that a prompt gives the same bits
/// whatever was read before it.
class PromptCache {
 public:
  static constexpr index kChunk = 128;

  /// Throws Error if there is not enough memory.
  explicit PromptCache(const Gpt& model) : keys_and_values_(model.cache(1)) {}

  /// Makes the cache ready for a prompt: removes what does not begin it. Returns the number of its tokens that need not be read, which is
  /// less than all.
  index begin(std::span<const Token> prompt);
  /// Notes that tokens have been read.
  void add(std::span<const Token> tokens) { tokens_.insert(tokens_.end(), tokens.begin(), tokens.end()); }
  KeyValueCache& keys_and_values() { return keys_and_values_; }

 private:
  KeyValueCache keys_and_values_;
  std::vector<Token> tokens_;  // that they are of
};

/// Callbacks. All are called on the thread that generates. Sample s of prompt p has the number p * num_samples + s.
struct GenerationEvents {
  std::function<bool()> stop{};  // called before each token and prompt; true: all samples end here
  /// Called before `token`, with the logits of the model itself, (V), from which the token was drawn.
  std::function<void(index number, Token token, std::span<const float> logits)> drawn{};
  std::function<bool(index number, Token token)> token{};    // called for each token of a sample; false: the sample ends with it
  std::function<void(index number, const Sample&)> ended{};  // called once for each sample, after its last token
  std::function<void()> slide{};                             // called once, when a context first drops tokens
};

/// Continues prompts of one token or more: num_samples samples of the first prompt, then those of the next. The random number for token i
/// of sample s of a prompt depends on (seed, s, i) alone, and a sample does not depend on what is generated with it. The model reads the
/// last block_size tokens of a prompt once for all its samples, then one token at a time for up to eight samples together, of any prompts,
/// with a key/value cache. When a sample ends, the next one begins. A full context drops its oldest quarter. Positions count from the first
/// token that is kept, so all its keys and values are computed anew then.
/// Throws InputError for an option out of range or a prompt without tokens, and Error if the model gives logits that are NaN.
std::vector<Sample> generate(const Gpt& model, const Vocabulary& vocabulary, std::span<const std::vector<Token>> prompts,
                             const SampleOptions& options, const GenerationEvents& events = {});
/// The same for one prompt.
std::vector<Sample> generate(const Gpt& model, const Vocabulary& vocabulary, const std::vector<Token>& prompt, const SampleOptions& options,
                             const GenerationEvents& events = {});

/// Throws the InputErrors that generate() throws for its options, with the command line's names of options.
void check(const SampleOptions& options);

}  // namespace dikkat
