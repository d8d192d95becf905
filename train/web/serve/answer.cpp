#include "train/web/serve/answer.h"

#include <algorithm>

#include "train/sample/draw.h"
#include "train/sample/prompt.h"
#include "train/text/utf8.h"
#include "train/web/serve/served_chat.h"

namespace dikkat::serve {
namespace {

/// Returns the request for the sample of the first choice.
SampleRequest sample_for(const Job& job) {
  const ServedModel& model = job.model();
  const ApiRequest& request = job.request();
  SampleRequest sample{
      .model = &model.gpt, .vocabulary = vocabulary_of(model.tokenizer), .prompt = job.prompt(), .options = request.options};
  sample.options.max_new_tokens = most_tokens(model, request, std::ssize(job.prompt()));
  sample.options.seed = request.seed.value().bits;
  if (request.endpoint == Endpoint::chat) {
    std::vector<Token> marks = marks_of(model, request.tools.choice != ToolChoice::none);
    if (const auto end = model.form->end_token()) {
      sample.vocabulary.ends.push_back(*end);
      marks.push_back(*end);
    }
    std::erase_if(sample.vocabulary.suppressed, [&](Token token) { return std::ranges::find(marks, token) != marks.end(); });
  }
  return sample;
}

/// Returns the token before the text of an answer. An answer to a conversation is a text of its own. One that must match a grammar has all
/// of its bytes, because the grammar counts them.
std::optional<Token> token_before(const Job& job) {
  const ApiRequest& request = job.request();
  if (request.structure.kind != StructuredRequest::Kind::any) {
    return job.prompt().back();
  }
  return request.endpoint == Endpoint::chat ? std::nullopt : token_before_text(job.model().tokenizer, job.prompt());
}

index count_of_characters(const std::string& text) {
  index count = 0;
  for (std::size_t at = 0; at < text.size(); ++count) {
    at += static_cast<std::size_t>(utf8::decode(text, static_cast<index>(at)).bytes);
  }
  return count;
}

}  // namespace

Answer::Answer(Job& job) : job_(job), sample_(sample_for(job)) {
  const ApiRequest& request = job.request();
  const std::string echo = request.echo ? request.prompt : "";
  for (index choice = 0; choice < request.options.num_samples; ++choice) {
    ChoiceText& text = texts_.emplace_back(choice, job.model().tokenizer, token_before(job), request.stops, count_of_characters(echo));
    if (auto reader = reader_of(job.model(), request, job.prompt())) {
      text.set_reader(*std::move(reader));
    }
    if (request.reasoning.is_hidden) {
      text.hide_reasoning();
    }
    give({.choice = choice, .text = echo});
  }
}

SampleRequest Answer::sample(index choice) const {
  SampleRequest sample = sample_;
  sample.sample = choice;
  return sample;
}

bool Answer::take(index choice, const Scheduler::Event& event) {
  ChoiceText& text = texts_[static_cast<std::size_t>(choice)];
  if (event.ending) {
    ++ended_;
    give(text.finish(*event.ending));
    return false;
  }
  job_.note_token(event.prompt_cached);
  give(job_.request().alternatives ? text.push(event.token, score_of(event, text)) : text.push(event.token));
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

/// Returns how likely a token was, and the likeliest tokens.
TokenScore Answer::score_of(const Scheduler::Event& event, const ChoiceText& text) const {
  std::vector<Token> ids = likeliest_tokens(event.logits, sample_.vocabulary.size, *job_.request().alternatives);
  ids.push_back(event.token);
  const std::vector<double> found = log_probabilities(event.logits, ids);
  TokenScore score{.log_probability = found.back()};
  for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
    score.likeliest.emplace_back(text.text_of(ids[i]), found[i]);
  }
  return score;
}

}  // namespace dikkat::serve
