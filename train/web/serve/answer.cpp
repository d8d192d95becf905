#include "train/web/serve/answer.h"

#include <algorithm>

#include "train/sample/prompt.h"
#include "train/web/serve/served_chat.h"

namespace dikkat::serve {
namespace {

/// Returns the ids that may be drawn for an answer, and those that end it.
Vocabulary vocabulary_for(const Job& job) {
  const ServedModel& model = job.model();
  return job.request().endpoint == Endpoint::chat
             ? answer_vocabulary(model.tokenizer, model.form->end_token(), marks_of(model, job.request().tools.choice != ToolChoice::none))
             : vocabulary_of(model.tokenizer);
}

/// Returns the token before the text of an answer to a prompt. An answer to a conversation is a text of its own.
std::optional<Token> token_before(const Job& job, const std::vector<Token>& prompt) {
  const ApiRequest& request = job.request();
  if (request.structure.kind != StructuredRequest::Kind::any) {
    return token_before_restricted(job.model().tokenizer, prompt);
  }
  return request.endpoint == Endpoint::chat ? std::nullopt : token_before_text(job.model().tokenizer, prompt);
}

/// Returns the text of a prompt that comes before the answer.
std::string echo_of(const Job& job, std::size_t prompt) {
  if (!job.request().echo) {
    return {};
  }
  const ApiPrompt& asked = job.request().prompts[prompt];
  return asked.tokens ? job.model().tokenizer.decode(*asked.tokens) : asked.text;
}

/// Returns the scores of a prompt's tokens, with offsets in its echo. A token that begins every text may not be part of it, so offsets
/// count from its end.
std::vector<TokenScore> scores_in(const std::string& echo, std::span<const Token> prompt, std::span<const ScoredToken> scored,
                                  const Tokenizer& tokenizer) {
  std::vector<TokenScore> scores;
  index at = 0;
  for (std::size_t i = 0; i < scored.size(); ++i) {
    TokenScore& score = scores.emplace_back(with_texts(scored[i], tokenizer, token_before_text(tokenizer, prompt.first(i))));
    score.offset = at;
    at += count_of_characters(score.text);
  }
  const index more = at - count_of_characters(echo);
  for (TokenScore& score : scores) {
    score.offset = std::max<index>(score.offset - more, 0);
  }
  return scores;
}

}  // namespace

Answer::Answer(Job& job) : job_(job), vocabulary_(vocabulary_for(job)) {
  const ApiRequest& request = job.request();
  for (index choice = 0; choice < job.choices(); ++choice) {
    const std::vector<Token>& prompt = job.prompts()[job.prompt_of(choice)];
    const std::string echo = echo_of(job, job.prompt_of(choice));
    ChoiceText& text =
        texts_.emplace_back(choice, job.model().tokenizer, token_before(job, prompt), request.stops, count_of_characters(echo));
    if (auto reader = reader_of(job.model(), request, prompt)) {
      text.set_reader(*std::move(reader));
    }
    if (request.reasoning.is_hidden) {
      text.hide_reasoning();
    }
    if (!request.scores_prompts()) {
      give({.choice = choice, .text = echo});
    }
  }
}

SampleRequest Answer::sample(index choice) const {
  const ApiRequest& request = job_.request();
  SampleRequest sample{.model = &job_.model().gpt,
                       .vocabulary = vocabulary_,
                       .prompt = job_.prompts()[job_.prompt_of(choice)],
                       .options = request.options,
                       .sample = choice % request.options.num_samples};
  sample.options.max_new_tokens = most_tokens(job_.model(), request, std::ssize(sample.prompt));
  sample.options.seed = request.seed.value().bits;
  if (request.scores_prompts()) {
    sample.prompt_alternatives = request.alternatives;
  }
  return sample;
}

bool Answer::take(index choice, const Scheduler::Event& event) {
  ChoiceText& text = texts_[static_cast<std::size_t>(choice)];
  const std::optional<index> alternatives = job_.request().alternatives;
  const auto score = [&](Token token) { return score_token(event.logits, token, vocabulary_.size, *alternatives); };
  if (event.ending) {
    ++ended_;
    AnswerDelta last = text.finish(*event.ending);
    // Clients that score prompts expect an entry for each token that was generated.
    if (event.end_token && job_.request().scores_prompts()) {
      last.tokens.push_back(text.end(score(*event.end_token)));
    }
    give(std::move(last));
    return false;
  }
  job_.note_tokens(event.has_token() ? 1 : 0, choice, event.prompt_cached);
  if (!event.has_token()) {
    const std::size_t prompt = job_.prompt_of(choice);
    std::string echo = echo_of(job_, prompt);
    std::vector<TokenScore> scores = scores_in(echo, job_.prompts()[prompt], event.prompt_scores, job_.model().tokenizer);
    give({.choice = choice, .text = std::move(echo), .tokens = std::move(scores)});
  } else {
    give(alternatives ? text.push(score(event.token)) : text.push(event.token));
  }
  return !text.stopped();
}

void Answer::give(AnswerDelta piece) const {
  if (!piece.is_empty()) {
    if (job_.request().streams_timings) {
      piece.usage = job_.usage();
    }
    job_.give(std::move(piece));
  }
}

}  // namespace dikkat::serve
