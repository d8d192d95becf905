#include "train/run/prompt_sampler.h"

#include <algorithm>

#include "autograd/base/error.h"
#include "train/sample/prompt.h"
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
  for (std::size_t i = 0; i < prompts_.size(); ++i) {
    TextGeneration generation(model_.gpt(), tokenizer_, vocabulary_of(tokenizer_), {tokens_[i]},
                              {.max_new_tokens = length_, .seed = seed_, .first_sample = step, .interrupted = stop});
    Continuation& one = all.emplace_back(Continuation{.prompt = prompts_[i], .text = {}});
    while (const auto event = generation.next()) {
      if (event->ended && event->ended->sample.ending == Ending::interrupted) {
        return std::nullopt;
      }
      one.text += event->text;
    }
  }
  return all;
}

std::size_t PromptSampler::bytes() const {
  constexpr std::size_t kSequences = 2;  // the sequence that reads the prompt, and the sequence that is continued
  constexpr std::size_t kKeyAndValue = 2;
  const TransformerConfig& c = model_.config();
  index longest = 0;
  for (const std::vector<Token>& prompt : tokens_) {
    longest = std::max(longest, std::ssize(prompt));
  }
  constexpr index kLeast = 1024;  // a cache has room for at least this many positions, and grows by doubling
  const index positions = std::min(c.block_size, std::max(kLeast, 2 * (longest + length_)));
  const auto numbers = static_cast<std::size_t>(c.n_layer * positions * c.n_kv_head * c.head_size);
  return prompts_.empty() ? 0 : kSequences * kKeyAndValue * numbers * sizeof(float);
}

}  // namespace dikkat
