#include "train/run/prompt_sampler.h"

#include <algorithm>

#include "autograd/base/error.h"
#include "train/sample/prompt.h"
#include "train/sample/text_stream.h"

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
  static const std::vector<std::string> kNoStops;
  std::vector<Continuation> all;
  for (std::size_t i = 0; i < prompts_.size(); ++i) {
    SampleOptions options{.max_new_tokens = length_, .seed = seed_, .first_sample = step};
    const Sample sample = generate(model_.gpt(), vocabulary_of(tokenizer_), tokens_[i], options, {.stop = stop}).front();
    if (sample.ending == Ending::interrupted) {
      return std::nullopt;
    }
    TextStream text(tokenizer_, kNoStops, tokens_[i].back());
    for (const Token token : sample.tokens) {
      text.add(token);
    }
    text.finish();
    all.push_back({.prompt = prompts_[i], .text = text.text()});
  }
  return all;
}

std::size_t PromptSampler::bytes() const {
  constexpr std::size_t kSequences = 2;  // that read the prompt, and that is continued
  constexpr std::size_t kKeyAndValue = 2;
  const TransformerConfig& c = model_.config();
  index longest = 0;
  for (const std::vector<Token>& prompt : tokens_) {
    longest = std::max(longest, std::ssize(prompt));
  }
  constexpr index kLeast = 1024;  // that a cache has room for, and it grows by doubling
  const index positions = std::min(c.block_size, std::max(kLeast, 2 * (longest + length_)));
  const auto numbers = static_cast<std::size_t>(c.n_layer * positions * c.n_kv_head * c.head_size);
  return prompts_.empty() ? 0 : kSequences * kKeyAndValue * numbers * sizeof(float);
}

}  // namespace dikkat
