#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "autograd/ops/basic.h"
#include "autograd/simd/philox.h"
#include "layers/models/encoder_decoder.h"
#include "layers/models/gpt.h"
#include "train/sample/draw.h"
#include "train/sample/generate.h"
#include "train/sample/translate.h"

namespace dikkat::testing {

// The definitions of generate() and translate(), without a key/value cache: the model reads its whole context again for each token.

/// Returns a logit after the penalties and biases of a sample, by their definitions.
inline float changed_logit(float logit, Token id, std::span<const Token> text, std::ptrdiff_t prompt_size, const SampleOptions& options) {
  if (std::ranges::find(text, id) != text.end()) {
    const auto penalty = static_cast<float>(options.repetition_penalty);
    logit = logit > 0 ? logit / penalty : logit * penalty;
  }
  const auto count = std::count(text.begin() + prompt_size, text.end(), id);
  logit -= static_cast<float>((count > 0 ? options.presence_penalty : 0) + options.frequency_penalty * static_cast<double>(count));
  for (const auto& [biased, bias] : options.logit_bias) {
    logit += biased == id ? static_cast<float>(bias) : 0;
  }
  return logit;
}

/// Continues a prompt. A full context loses its `dropped` oldest tokens. Uses only these options: max_new_tokens, temperature, seed,
/// first_sample, the penalties and logit_bias.
inline std::vector<Token> generate_without_cache(const Gpt& model, index vocabulary, std::vector<Token> text, const SampleOptions& options,
                                                 index dropped) {
  const auto given = static_cast<std::ptrdiff_t>(text.size());
  const index block = model.config().block_size;
  index begin = std::max<index>(given - block, 0);
  Draw draw(model.config().vocab_size);
  const RandomStream random(options.seed, "sample", static_cast<std::uint64_t>(options.first_sample));
  Tape tape(Recording::off);
  for (index i = 0; i < options.max_new_tokens; ++i) {
    begin += std::ssize(text) - begin > block ? dropped : 0;
    const auto context = std::span(text).subspan(static_cast<std::size_t>(begin));
    const index last = std::ssize(context) - 1;
    Pass pass{.tape = tape};
    const Tensor features = model.features(pass, tape.input<Token>({1, last + 1}, context));
    const Tensor logits = model.logits(pass, slice(features, 1, last, 1));
    std::vector<float> drawn_from(logits.data<float>(), logits.data<float>() + vocabulary);
    for (Token id = 0; id < vocabulary; ++id) {
      float& logit = drawn_from[static_cast<std::size_t>(id)];
      logit = changed_logit(logit, id, text, given, options);
    }
    text.push_back(static_cast<Token>(draw(drawn_from, {.temperature = options.temperature}, random.uniform(i))));
    tape.reset();
  }
  return {text.begin() + given, text.end()};
}

/// Returns the log-probabilities of the tokens that may follow a target. That of any other token is -infinity.
inline std::vector<double> log_probabilities_without_cache(Tape& tape, const EncoderDecoder& model, const Tokenizer& tokenizer,
                                                           const std::vector<Token>& source, const std::vector<Token>& target) {
  const SequenceTokens special = tokenizer.sequence_tokens().value();
  std::vector<Token> inputs{special.start};
  inputs.insert(inputs.end(), target.begin(), target.end());
  Pass pass{.tape = tape};
  const auto memory = model.encode(pass, tape.input<Token>({1, std::ssize(source)}, source));
  const Tensor features = model.features(pass, tape.input<Token>({1, std::ssize(inputs)}, inputs), memory);
  const Tensor logits = model.logits(pass, slice(features, 1, std::ssize(inputs) - 1, 1));
  std::vector<double> found(logits.data<float>(), logits.data<float>() + tokenizer.vocab_size());  // without the table's padding
  tape.reset();
  double sum = 0;
  for (const double logit : found) {
    sum += std::exp(logit);
  }
  for (double& logit : found) {
    logit -= std::log(sum);
  }
  for (const Token never : {special.pad, special.start}) {
    found[static_cast<std::size_t>(never)] = -std::numeric_limits<double>::infinity();
  }
  return found;
}

/// Searches for the best target of a source with a beam.
inline Translation translate_without_cache(const EncoderDecoder& model, const Tokenizer& tokenizer, const std::vector<Token>& source,
                                           const TranslateOptions& options) {
  const Token end = tokenizer.sequence_tokens().value().end;
  Tape tape(Recording::off);
  std::vector<Translation> kept{{}};
  for (index t = 0; t < model.config().block_size; ++t) {
    std::vector<Translation> next, longer;
    for (const Translation& text : kept) {
      if (text.ended) {
        next.push_back(text);
        continue;
      }
      const std::vector<double> follow = log_probabilities_without_cache(tape, model, tokenizer, source, text.tokens);
      for (Token token = 0; token < static_cast<Token>(follow.size()); ++token) {
        const double log_probability = text.log_probability + follow[static_cast<std::size_t>(token)];
        longer.push_back({.tokens = text.tokens, .log_probability = log_probability, .ended = token == end});
        if (token != end) {
          longer.back().tokens.push_back(token);
        }
      }
    }
    std::ranges::stable_sort(longer, std::greater(), &Translation::log_probability);
    longer.resize(std::min(longer.size(), static_cast<std::size_t>(options.beam) - next.size()));
    next.insert(next.end(), longer.begin(), longer.end());
    kept = std::move(next);
  }
  const auto score = [&](const Translation& text) {
    const double length = static_cast<double>(text.tokens.size()) + (text.ended ? 1 : 0);
    return (text.ended ? 1e6 : 0) + text.log_probability / std::pow((5 + length) / 6, options.length_penalty);
  };
  return *std::ranges::max_element(kept, {}, score);
}

}  // namespace dikkat::testing
