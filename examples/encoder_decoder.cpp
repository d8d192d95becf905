// The encoder-decoder of "Attention Is All You Need", from a handful of sentences to an answer: words become a vocabulary, numbers, and
// rows with positions. A model learns pairs by teacher forcing. Then it answers word by word, and each word is fed back.

#include "layers/models/encoder_decoder.h"

#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "autograd/base/parallel.h"
#include "autograd/ops/loss.h"
#include "optim/adamw.h"
#include "optim/schedule.h"
#include "train/data/samples/loader.h"
#include "train/data/samples/pair_samples.h"
#include "train/sample/translate.h"

namespace dikkat {
namespace {

constexpr std::string_view kQuestion = "When you play game of thrones";

const std::vector<Pair> kPairs = {
    {.name = "example", .line = 1, .source = kQuestion, .target = "you win or you die"},
    {.name = "example", .line = 2, .source = "When you play", .target = "you laugh"},
    {.name = "example", .line = 3, .source = "Who lights the lamp of the harbour", .target = "the keeper lights the lamp"},
    {.name = "example", .line = 4, .source = "Who plays", .target = "the children play"},
    {.name = "example", .line = 5, .source = "When the lamp goes out", .target = "the ships wait or turn home"},
};

/// Makes a vocabulary of the distinct words: its size is count(set(words)) plus four special tokens.
std::unique_ptr<Tokenizer> vocabulary() {
  std::vector<std::string_view> texts;
  for (const Pair& pair : kPairs) {
    texts.insert(texts.end(), {pair.source, pair.target});
  }
  auto tokenizer = make_tokenizer("word", texts);
  fmt::print("{} distinct words and the special tokens <pad> <unk> <start> <end>: a vocabulary of {}\n", tokenizer->vocab_size() - 4,
             tokenizer->vocab_size());
  return tokenizer;
}

/// Prints the input of the encoder: a number for each word, and a row of waves that encodes its position (shown for a width of 6).
void show_input(const Tokenizer& tokenizer) {
  const std::vector<Token> tokens = encode_source(tokenizer, kQuestion, 16);
  Tape tape(Recording::off);
  Pass pass{.tape = tape};
  const Tensor waves = SinusoidalPositions(16, 6)(pass, 0, static_cast<index>(tokens.size()), DType::f32);
  fmt::print("\nword       number   sines and cosines of its place, for a width of 6\n");
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    fmt::print("{:<10} {:>6}  ", tokenizer.decode(std::span(&tokens[t], 1)), tokens[t]);
    for (index c = 0; c < 6; ++c) {
      fmt::print(" {:7.4f}", waves.data<float>()[static_cast<index>(t) * 6 + c]);
    }
    fmt::print("\n");
  }
}

/// Trains by teacher forcing: the decoder reads <start> and the true target, and every position learns to predict the next word.
void train(EncoderDecoder& model, ParameterStore& parameters, const PairStore& pairs) {
  constexpr index kSteps = 120;
  const PairSamples samples(pairs);
  const Loader loader(samples, 1);
  const Schedule learning_rate{.kind = Schedule::Kind::inverse_sqrt, .learning_rate = 5e-3, .warmup_steps = 20};
  AdamW adamw(parameters, {.beta2 = 0.98, .weight_decay = 0});
  Tape tape;
  Batch batch;
  fmt::print("\nlearning {} pairs, {} parameters\n", pairs.count(), parameters.parameter_count());
  for (index step = 0; step < kSteps; ++step) {
    loader.fill({step * pairs.count(), pairs.count()}, batch);
    Pass pass{.tape = tape, .training = true, .step = static_cast<std::uint64_t>(step)};
    const Shape shape{batch.rows, batch.lengths.cols};
    const auto encoded = model.encode(pass, tape.input<Token>({batch.rows, batch.lengths.source_cols}, batch.source),
                                      tape.input<std::int32_t>({batch.rows}, batch.source_lengths));
    const Tensor logits = model.logits(pass, model.features(pass, tape.input<Token>(shape, batch.inputs), encoded));
    const Tensor loss = cross_entropy(logits, tape.input<Token>(shape, batch.targets),
                                      {.weights = tape.input<float>(shape, batch.weights), .normalizer = batch.target_weight});
    tape.backward(loss);
    if (step % 20 == 0 || step == kSteps - 1) {
      fmt::print("step {:3}   loss {:.4f}\n", step, *loss.data<float>());
    }
    tape.reset();
    adamw.step(step + 1, learning_rate(step), 1);
  }
}

/// Prints the answer as it grows, and for each of its words the word of the question that it attends to most. Returns the answer.
std::string answer(const EncoderDecoder& model, const Tokenizer& tokenizer) {
  const std::vector<Token> source = encode_source(tokenizer, kQuestion, 16);
  fmt::print("\n{}\n", kQuestion);
  std::string text;
  for (index words = 1; words <= 16; ++words) {
    const Translation so_far = translate(model, tokenizer, std::span(&source, 1), {.max_new_tokens = words}).front();
    text = tokenizer.decode(so_far.tokens);
    fmt::print("  <start> {}{}\n", text, so_far.ended ? " <end>" : "");
    if (so_far.ended) {
      const LayerAttention cross = attention_of(model, tokenizer, source, so_far.tokens).back();
      for (index t = 0; t < cross.queries; ++t) {
        index most = 0;
        for (index s = 0; s < cross.keys; ++s) {
          most =
              cross.weights[static_cast<std::size_t>(t * cross.keys + s)] > cross.weights[static_cast<std::size_t>(t * cross.keys + most)]
                  ? s
                  : most;
        }
        const Token said =
            t < static_cast<index>(so_far.tokens.size()) ? so_far.tokens[static_cast<std::size_t>(t)] : tokenizer.sequence_tokens()->end;
        fmt::print("  {:<6} the first head of {} looks most at '{}'\n", tokenizer.decode(std::span(&said, 1)), cross.layer,
                   tokenizer.decode(std::span(&source[static_cast<std::size_t>(most)], 1)));
      }
      break;
    }
  }
  return text;
}

int run() {
  const auto tokenizer = vocabulary();
  show_input(*tokenizer);

  ParameterStore parameters;
  EncoderDecoder model(
      Scope(parameters),
      {.n_layer = 1, .n_encoder_layer = 1, .n_head = 2, .n_embd = 32, .block_size = 16, .vocab_size = tokenizer->vocab_size()});
  parameters.allocate(1);
  train(model, parameters, PairStore(*tokenizer, kPairs));
  return answer(model, *tokenizer) == "you win or you die" ? 0 : 1;
}

}  // namespace
}  // namespace dikkat

int main(int, char** argv) {
  dikkat::wait_briefly(argv);
  return dikkat::run();
}
