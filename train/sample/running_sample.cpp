#include "train/sample/running_sample.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "autograd/simd/philox.h"

namespace dikkat {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

}  // namespace

void check(const SampleRequest& request) {
  check(request.options);
  require(request.model != nullptr, "sample: a request without a model, expected one");
  require_input(!request.prompt.empty(), "the prompt is empty, expected one token or more to continue");
  const index width = request.model->config().vocab_size;
  for (const Token token : request.prompt) {
    require(0 <= token && token < width, "sample: the prompt has token ", token, ", expected 0 to ", width - 1);
  }
  if (request.prompt_alternatives) {
    const index most = request.model->config().block_size;
    require_input(0 <= *request.prompt_alternatives && *request.prompt_alternatives <= kMostAlternatives,
                  "sample: ", *request.prompt_alternatives, " alternatives of a prompt's tokens, expected 0 to ", kMostAlternatives);
    require_input(std::ssize(request.prompt) <= most, "sample: scores of a prompt of ", request.prompt.size(),
                  " tokens, expected at most the model's context of ", most);
  }
  const Vocabulary& vocabulary = request.vocabulary;
  const auto is_usable = [&](Token token) { return 0 <= token && token < vocabulary.size; };
  for (const auto& [token, bias] : request.options.logit_bias) {
    require(is_usable(token), "sample: a bias of token ", token, ", expected 0 to ", vocabulary.size - 1);
  }
  require(0 < vocabulary.size && vocabulary.size <= width && std::ranges::all_of(vocabulary.suppressed, is_usable) &&
              std::ssize(vocabulary.suppressed) < vocabulary.size,
          "sample: a vocabulary of ", vocabulary.size, " with ", vocabulary.suppressed.size(),
          " that are never drawn, expected at most the model's ", width, " with at least one that can be drawn");
}

RunningSample::RunningSample(index number, SampleRequest request)
    : number_(number),
      request_(std::move(request)),
      prompt_size_(std::ssize(request_.prompt)),
      begin_(std::max<index>(prompt_size_ - request_.model->config().block_size, 0)),
      constraint_(request_.options.constraint ? request_.options.constraint() : nullptr),
      in_text_(request_.options.repetition_penalty != 1 ? request_.vocabulary.size : 0),
      in_answer_(request_.options.presence_penalty != 0 || request_.options.frequency_penalty != 0 ? request_.vocabulary.size : 0),
      logits_(static_cast<std::size_t>(request_.vocabulary.size)),
      draw_(request_.vocabulary.size) {
  text_ = std::exchange(request_.prompt, {});
  for (const Token token : text_) {
    in_text_.add(token);
  }
}

void RunningSample::add(Token token) {
  text_.push_back(token);
  in_text_.add(token);
  in_answer_.add(token);
}

void RunningSample::change_logits() {
  const SampleOptions& options = request_.options;
  if (options.repetition_penalty != 1) {
    penalize(logits_, in_text_.ids(), options.repetition_penalty);
  }
  penalize_counts(logits_, in_answer_, options.presence_penalty, options.frequency_penalty);
  add_bias(logits_, options.logit_bias);
}

index RunningSample::drop_oldest() {
  const index block = model().config().block_size;
  if (std::ssize(context()) <= block) {
    return 0;
  }
  const index count = std::max<index>(block / 4, 1);
  begin_ += count;
  return count;
}

RunningSample::Drawn RunningSample::draw(std::span<const float> of_model) {
  const SampleOptions& options = request_.options;
  const Vocabulary& vocabulary = request_.vocabulary;
  std::copy_n(of_model.begin(), vocabulary.size, logits_.begin());
  // Change the logits by penalties and biases, then exclude tokens.
  change_logits();
  for (const Token token : vocabulary.suppressed) {
    logits_[static_cast<std::size_t>(token)] = kNever;
  }
  if (constraint_ != nullptr) {
    constraint_->mask(logits_);
    if (std::ranges::all_of(logits_, [](float x) { return x == kNever; })) {
      return {.ending = Ending::end};
    }
  }

  // Draw. The random number depends only on the seed, the sample and the position.
  const RandomStream random(options.seed, "sample", static_cast<std::uint64_t>(options.first_sample + request_.sample));
  const auto token = static_cast<Token>(draw_(logits_, draw_options(options), random.uniform(new_tokens())));
  if (std::ranges::find(vocabulary.ends, token) != vocabulary.ends.end()) {
    return {.ending = Ending::end, .end_token = token};
  }
  add(token);
  Drawn drawn{.token = token};
  if (constraint_ != nullptr) {
    constraint_->accept(token);
    if (constraint_->is_complete()) {
      drawn.ending = Ending::end;
      return drawn;
    }
  }
  if (new_tokens() == options.max_new_tokens) {
    drawn.ending = Ending::length;
  }
  return drawn;
}

}  // namespace dikkat
