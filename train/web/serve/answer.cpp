#include "train/web/serve/answer.h"

#include <chrono>
#include <new>

#include "autograd/base/error.h"
#include "autograd/base/seconds_since.h"
#include "train/sample/prompt.h"
#include "train/text/utf8.h"
#include "train/web/serve/choice_text.h"

namespace dikkat {
namespace {

/// How likely a token was, and the likeliest ones.
TokenScore score_of(Token token, std::span<const float> logits, index usable, index alternatives, const ChoiceText& text) {
  std::vector<Token> ids = likeliest_tokens(logits, usable, alternatives);
  ids.push_back(token);
  const std::vector<double> found = log_probabilities(logits, ids);
  TokenScore score{.log_probability = found.back()};
  for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
    score.likeliest.emplace_back(text.text_of(ids[i]), found[i]);
  }
  return score;
}

/// Generates, and returns the number of tokens.
index generate_for(const ServedModel& model, Job& job, std::uint64_t seed, PromptCache& prompts, const std::function<bool()>& stop) {
  const ApiRequest& request = job.request();
  SampleOptions options = request.options;
  options.max_new_tokens = most_tokens(model, request, std::ssize(job.prompt()));
  options.seed = seed;
  options.prompts = &prompts;
  Vocabulary vocabulary = vocabulary_of(model.tokenizer);
  if (request.endpoint == Endpoint::chat) {
    if (const auto end = model.form->end_token(model.tokenizer)) {
      vocabulary.ends.push_back(*end);
    }
  }

  const auto give = [&](Piece piece) {
    if (!piece.text.empty() || !piece.tokens.empty() || piece.ending) {
      job.give(std::move(piece));
    }
  };
  index offset = 0;
  if (request.echo) {
    for (std::size_t at = 0; at < request.prompt.size(); ++offset) {
      at += static_cast<std::size_t>(utf8::decode(request.prompt, static_cast<index>(at)).bytes);
    }
  }
  std::deque<ChoiceText> texts;
  for (index choice = 0; choice < options.num_samples; ++choice) {
    texts.emplace_back(choice, model.tokenizer, request.stops, job.prompt().back(), offset);
    give({.choice = choice, .text = request.echo ? request.prompt : ""});
  }
  const auto text_of = [&](index choice) -> ChoiceText& { return texts[static_cast<std::size_t>(choice)]; };
  TokenScore score;  // of the token that comes next
  GenerationEvents events{.stop = [&] { return job.is_cancelled() || stop(); },
                          .token =
                              [&](index choice, Token token) {
                                ChoiceText& text = text_of(choice);
                                give(request.alternatives ? text.add(token, std::move(score)) : text.add(token));
                                return !text.stopped();
                              },
                          .ended =
                              [&](index choice, const Sample& sample) {
                                if (sample.ending != Ending::interrupted) {
                                  give(text_of(choice).finish(sample.ending));
                                }
                              }};
  if (request.alternatives) {
    events.drawn = [&](index choice, Token token, std::span<const float> logits) {
      score = score_of(token, logits, vocabulary.size, *request.alternatives, text_of(choice));
    };
  }
  index generated = 0;
  for (const Sample& sample : generate(model.gpt, vocabulary, job.prompt(), options, events)) {
    if (sample.ending == Ending::interrupted) {
      throw server_ends();
    }
    generated += std::ssize(sample.tokens);
  }
  return generated;
}

}  // namespace

void answer(const ServedModel& model, Job& job, std::uint64_t seed, PromptCache& prompts, const std::function<bool()>& stop) noexcept {
  using Clock = std::chrono::steady_clock;
  const auto began = Clock::now();
  try {
    const index generated = generate_for(model, job, seed, prompts, stop);
    job.end(generated, seconds_since(began));
  } catch (const ApiError& error) {
    job.fail(error);
  } catch (const Error& error) {
    job.fail({500, error.what()});
  } catch (const std::bad_alloc&) {
    job.fail({500, "the server has no memory left for this answer"});
  } catch (const std::exception&) {  // whose message is a library's
    job.fail({500, "an error in the server; its owner should report it"});
  }
}

}  // namespace dikkat
