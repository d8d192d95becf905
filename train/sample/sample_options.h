#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "autograd/base/dtype.h"
#include "autograd/base/names.h"
#include "train/sample/draw.h"
#include "train/sample/token_constraint.h"
#include "train/text/token.h"

namespace dikkat {

class PromptCache;

struct SampleOptions {
  index max_new_tokens = 500;
  index num_samples = 1;     // samples of each prompt
  double temperature = 0.8;  // for this and the next three, see DrawOptions
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
  bool rereads = false;                    // whether the rest of a full context is read again, see Scheduler
  bool log_probabilities = false;          // whether Sample::add() computes them
  std::optional<DType> cache{};            // type of keys and values: bf16 halves their memory; absent: the model's
  PromptCache* prompts = nullptr;          // keeps prompts from one generation to the next; its type must be that of `cache`
  std::function<bool()> interrupted = {};  // called before each pass of the model; all samples end when it returns true
  /// Makes the constraint of each sample; empty: none. It masks logits last, and a sample that is complete, or that may draw no token at
  /// all, ends with Ending::end. May be called on any thread, and throws only std::bad_alloc.
  std::function<std::unique_ptr<TokenConstraint>()> constraint = {};
};

/// Throws InputError for an option out of range, with the command line's names of options.
void check(const SampleOptions& options);

/// Returns the options of drawing a token.
DrawOptions draw_options(const SampleOptions& options);

/// The ids that sampling may draw.
struct Vocabulary {
  index size = 0;                   // higher ids are padding of the embedding table
  std::vector<Token> suppressed{};  // ids that are never drawn
  std::vector<Token> ends{};        // a sample ends when it draws one of these ids, which is not part of it
};

/// Why a sample ended.
enum class Ending {
  length,       // it has max_new_tokens
  end,          // it drew one of Vocabulary::ends, or its constraint is complete
  stop,         // Generation::end() or Scheduler::end() was called
  interrupted,  // SampleOptions::interrupted returned true
};
template <>
struct Names<Ending> {
  static constexpr std::string_view of[] = {"length", "end", "stop", "interrupted"};
};

}  // namespace dikkat
