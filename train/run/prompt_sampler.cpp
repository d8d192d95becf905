#include "train/run/prompt_sampler.h"

#include <algorithm>

#include "autograd/base/error.h"
#include "train/sample/prompt.h"
#include "train/sample/scheduler.h"
#include "train/sample/text_generation.h"

namespace dikkat {

PromptSampler::PromptSampler(const TrainConfig& config, const LanguageModel& model, const Tokenizer& tokenizer)
    : model_(model),
      tokenizer_(tokenizer),
      prompts_(config.sample_prompts),
      length_(config.sample_tokens),
      seed_(static_cast<std::uint64_t>(config.seed)) {
  require_input(prompts_.empty() || model.is_gpt(),
                "train.sample_prompts needs a GPT (model.kind = \"gpt\"): an encoder-decoder is not sampled");
  for (const std::string& prompt : prompts_) {
    try {
      tokens_.push_back(encode_prompt(tokenizer, prompt));
    } catch (const InputError& e) {
      fail_input("train.sample_prompts, number ", tokens_.size() + 1, ": ", e.what());
    }
  }
}

std::optional<std::vector<PromptSampler::Continuation>> PromptSampler::operator()(index step, const std::function<bool()>& stop) const {
  std::vector<Continuation> all;
  for (const std::string& prompt : prompts_) {
    all.push_back({.prompt = prompt, .text = {}});
  }
  TextGeneration generation(model_.gpt(), tokenizer_, vocabulary_of(tokenizer_), tokens_,
                            {.max_new_tokens = length_, .seed = seed_, .first_sample = step, .interrupted = stop});
  while (const auto event = generation.next()) {
    if (event->ended && event->ended->sample.ending == Ending::interrupted) {
      return std::nullopt;
    }
    all[static_cast<std::size_t>(event->number)].text += event->text;
  }
  return all;
}

std::size_t PromptSampler::bytes() const {
  if (tokens_.empty()) {
    return 0;
  }
  index longest = 0;
  for (const std::vector<Token>& tokens : tokens_) {
    longest = std::max(longest, std::ssize(tokens));
  }
  TransformerConfig c = model_.config();
  c.block_size = std::min<index>(c.block_size, std::max(Gpt::kFirstPositions, 2 * (longest + length_)));  // a cache grows by doubling
  return Scheduler::bytes(c, {.streams = std::min(std::ssize(tokens_), Generation::kStreams)});
}

}  // namespace dikkat
