#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "autograd/base/names.h"
#include "layers/models/gpt.h"
#include "train/sample/draw.h"
#include "train/text/token.h"

namespace dikkat {

class PromptCache;

struct SampleOptions {
  index max_new_tokens = 500;
  index num_samples = 1;     // samples of each prompt
  double temperature = 0.8;  // this and the next three as in DrawOptions
  index top_k = 0;
  double top_p = 1;
  double min_p = 0;
  // The next four change the model's logits before a token is drawn, in this order.
  double repetition_penalty = 1;           // above 1: makes tokens of the prompt and of the text so far less likely, see penalize()
  double presence_penalty = 0;             // subtracted from the logits of tokens that the sample has, without the prompt
  double frequency_penalty = 0;            // subtracted from these logits for each time that the sample has the token
  std::vector<LogitBias> logit_bias = {};  // added to the logits of tokens
  std::uint64_t seed = 1337;
  index first_sample = 0;                  // number of each prompt's first sample, which selects its random numbers
  bool log_probabilities = false;          // whether Sample::add() computes them
  PromptCache* prompts = nullptr;          // a cache of this model, kept from one generation to the next
  std::function<bool()> interrupted = {};  // called before each pass of the model; all samples end when it returns true
};

/// Throws InputError for an option out of range, with the command line's names of options.
void check(const SampleOptions& options);

/// The ids that sampling may draw.
struct Vocabulary {
  index size = 0;                   // ids from here on are padding of the embedding table
  std::vector<Token> suppressed{};  // ids that are never drawn
  std::vector<Token> ends{};        // a sample ends when it draws one of these ids, which is not part of it
};

/// Why a sample ended.
enum class Ending {
  length,       // it has max_new_tokens
  end,          // it drew one of Vocabulary::ends
  stop,         // Generation::end() was called
  interrupted,  // SampleOptions::interrupted returned true
};
template <>
struct Names<Ending> {
  static constexpr std::string_view of[] = {"length", "end", "stop", "interrupted"};
};

/// Continues prompts with a GPT. It is an iterator over the tokens of all samples:
///
///   Generation generation(model, vocabulary, {prompt}, options);
///   while (const auto event = generation.next()) {
///     if (!event->ending) {
///       print(event->token);
///     }
///   }
///
/// Sample s of prompt p has the number p * num_samples + s. The random number for its token i depends only on (seed, s, i), and a sample
/// does not depend on the samples that are generated with it. The model reads the last block_size tokens of a prompt once for all its
/// samples. Then it reads one token at a time for up to eight samples together, of any prompts, with a key/value cache. When a sample ends,
/// the next one begins. A full context drops its oldest quarter; positions then count from the first remaining token, so all keys and
/// values are computed again.
class Generation {
 public:
  /// A sample's next token, or its end.
  struct Event {
    index number = 0;                 // the sample's number
    Token token = 0;                  // if it has not ended
    std::span<const float> logits{};  // (V): the model's own, from which the token was drawn; valid until next() is called again
    std::optional<Ending> ending{};   // why the sample has ended; this event has no token
  };

  /// Keeps a reference to the model. Throws InputError for an option out of range or an empty prompt, and Error for unknown tokens.
  Generation(const Gpt& model, Vocabulary vocabulary, std::vector<std::vector<Token>> prompts, SampleOptions options);
  Generation(Generation&&) noexcept;
  Generation& operator=(Generation&&) noexcept;
  ~Generation();

  /// Returns the next event, or nullopt once every sample has ended. A sample's events are its tokens, in their order, and then its end,
  /// also for a sample that has no tokens. Its end directly follows its last token, unless it draws one of Vocabulary::ends.
  /// Throws Error if the model's logits are NaN; the generation cannot continue then.
  std::optional<Event> next();
  /// Ends a sample that is being generated: it gets no more tokens, and its end is Ending::stop. Other numbers are ignored.
  void end(index number);
  /// Whether any context has been full and has dropped its oldest tokens.
  bool outgrew_context() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

struct Sample {
  std::vector<Token> tokens{};              // without the prompt
  std::vector<double> log_probabilities{};  // of each token, in nats, under the softmax of the model's own logits
  Ending ending = Ending::length;

  /// Adds an event of this sample.
  void add(const Generation::Event& event, bool with_log_probability);
};

/// Returns all samples of a Generation.
std::vector<Sample> generate(const Gpt& model, const Vocabulary& vocabulary, std::span<const std::vector<Token>> prompts,
                             const SampleOptions& options);
/// Returns all samples of one prompt.
std::vector<Sample> generate(const Gpt& model, const Vocabulary& vocabulary, const std::vector<Token>& prompt,
                             const SampleOptions& options);

}  // namespace dikkat
