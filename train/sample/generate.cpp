#include "train/sample/generate.h"

#include <algorithm>
#include <cmath>

#include "autograd/ops/basic.h"
#include "train/sample/draw.h"

namespace dikkat {

std::vector<std::vector<Token>> generate(const Gpt& model, index tokenizer_vocab_size, const std::vector<Token>& prompt,
                                         const SampleOptions& options, const std::function<bool()>& stop) {
  require_input(!prompt.empty(), "the prompt is empty, expected one token or more to go on from");
  require_input(options.max_new_tokens >= 0, "max-new-tokens is ", options.max_new_tokens, ", expected 0 or more");
  require_input(options.num_samples >= 1, "num-samples is ", options.num_samples, ", expected 1 or more");
  require_input(options.temperature >= 0 && std::isfinite(options.temperature), "temperature is ", options.temperature,
                ", expected 0 or more");
  require_input(options.top_k >= 0, "top-k is ", options.top_k, ", expected 1 or more, or 0 for all");

  const index block = model.config().block_size;
  const index vocab = model.config().vocab_size;
  const index samples = options.num_samples;
  std::vector<std::vector<Token>> texts(static_cast<std::size_t>(samples), prompt);
  std::vector<Token> window;
  Tape tape(Recording::off);
  for (index i = 0; i < options.max_new_tokens && !(stop && stop()); ++i) {
    const auto length = static_cast<index>(texts.front().size());
    const index time = std::min(length, block);
    window.clear();
    for (const auto& text : texts) {
      window.insert(window.end(), text.end() - time, text.end());
    }
    Pass pass{.tape = tape};
    const Tensor features = model.features(pass, tape.input<Token>({samples, time}, window));
    const Tensor logits = model.logits(pass, slice(features, 1, time - 1, 1));  // (samples, 1, V)
    for (index s = 0; s < samples; ++s) {
      const RandomStream stream(options.seed, "sample", static_cast<std::uint64_t>(s));
      const std::span row(logits.data<float>() + s * vocab, static_cast<std::size_t>(tokenizer_vocab_size));
      texts[static_cast<std::size_t>(s)].push_back(
          static_cast<Token>(draw_token(row, options.temperature, options.top_k, stream.uniform(i))));
    }
    tape.reset();
  }
  for (auto& text : texts) {
    text.erase(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(prompt.size()));
  }
  return texts;
}

}  // namespace dikkat
