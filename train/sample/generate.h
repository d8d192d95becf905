#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "layers/models/gpt.h"
#include "train/sample/sample_options.h"
#include "train/sample/sample_request.h"
#include "train/text/token.h"

namespace dikkat {

/// Continues prompts with a GPT. It is an iterator over the tokens of all samples:
///
///   Generation generation(model, vocabulary, {prompt}, options);
///   while (const auto event = generation.next()) {
///     if (!event->ending) {
///       print(event->token);
///     }
///   }
///
/// Sample s of prompt p has the number p * num_samples + s. The random number for its token i depends only on (seed, s, i). A sample does
/// not depend on those that are generated with it. Up to eight samples, of any prompts, are generated together with a key/value cache, by a
/// Scheduler. It reads the last block_size tokens of a prompt once for all samples of it that have a stream. When a sample ends, the next
/// one begins. A full context drops its oldest quarter, see Scheduler.
class Generation {
 public:
  /// A sample's next token, or its end. Logits are valid until next() is called again.
  using Event = SampleEvent;
  static constexpr index kStreams = 8;  // samples that are generated together

  /// Keeps a reference to the model. Throws InputError for an option out of range or an empty prompt, and Error for unknown tokens.
  Generation(const Gpt& model, Vocabulary vocabulary, std::vector<std::vector<Token>> prompts, SampleOptions options);
  Generation(Generation&&) noexcept;
  Generation& operator=(Generation&&) noexcept;
  ~Generation();

  /// Returns the next event, or nullopt once every sample has ended. A sample's events are its tokens, in their order, and then its end,
  /// also for a sample that has no tokens. Its end directly follows its last token, unless it draws one of Vocabulary::ends.
  /// Throws Error if the model's logits are NaN; the generation cannot continue then.
  std::optional<Event> next();
  /// Ends a sample that is being generated: it receives no more tokens, and its end is Ending::stop. Ignores other numbers.
  void end(index number);
  /// Returns whether any context has been full and has dropped its oldest tokens.
  bool outgrew_context() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

struct Sample {
  std::vector<Token> tokens{};              // without the prompt
  std::vector<double> log_probabilities{};  // log probabilities of the tokens, in nats, under the softmax of the model's own logits
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
