#include "train/web/serve/answer.h"

#include <chrono>
#include <new>

#include "autograd/base/error.h"
#include "autograd/base/seconds_since.h"
#include "train/sample/draw.h"
#include "train/sample/prompt.h"
#include "train/text/utf8.h"
#include "train/web/serve/chat_form.h"
#include "train/web/serve/choice_text.h"

namespace dikkat {
namespace {

/// Returns how likely a token was, and the likeliest tokens.
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

/// Generates an answer. Returns its number of tokens, for all choices.
index generate_for(const ServedModel& model, Job& job, std::uint64_t seed, PromptCache& prompts, const std::function<bool()>& stop) {
  // The options that the request does not give.
  const ApiRequest& request = job.request();
  SampleOptions options = request.options;
  options.max_new_tokens = most_tokens(model, request, std::ssize(job.prompt()));
  options.seed = seed;
  options.prompts = &prompts;
  options.interrupted = [&] { return job.is_cancelled() || stop(); };
  Vocabulary vocabulary = vocabulary_of(model.tokenizer);
  if (request.endpoint == Endpoint::chat) {
    if (const auto end = model.form->end_token()) {
      vocabulary.ends.push_back(*end);
    }
  }

  // The choices, which may begin with the prompt.
  const auto give = [&](Piece piece) {
    if (!piece.is_empty()) {
      job.give(std::move(piece));
    }
  };
  index offset = 0;
  if (request.echo) {
    for (std::size_t at = 0; at < request.prompt.size(); ++offset) {
      at += static_cast<std::size_t>(utf8::decode(request.prompt, static_cast<index>(at)).bytes);
    }
  }
  std::vector<ChoiceText> texts;
  for (index choice = 0; choice < options.num_samples; ++choice) {
    ChoiceText& text = texts.emplace_back(choice, model.tokenizer, job.prompt().back(), request.stops, offset);
    if (auto reader = reader_of(model, request, job.prompt())) {
      text.set_reader(*std::move(reader));
    }
    if (request.reasoning.is_hidden) {
      text.hide_reasoning();
    }
    give({.choice = choice, .text = request.echo ? request.prompt : ""});
  }

  Generation generation(model.gpt, vocabulary, {job.prompt()}, options);
  index generated = 0;
  while (const auto event = generation.next()) {
    ChoiceText& text = texts[static_cast<std::size_t>(event->number)];
    if (event->ending == Ending::interrupted) {
      throw server_ends();
    }
    if (event->ending) {
      give(text.finish(*event->ending));
      continue;
    }
    ++generated;
    give(request.alternatives ? text.push(event->token, score_of(event->token, event->logits, vocabulary.size, *request.alternatives, text))
                              : text.push(event->token));
    if (text.stopped()) {
      generation.end(event->number);
    }
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
