#include "train/sample/generate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "autograd/base/parallel.h"
#include "autograd/ops/basic.h"

namespace dikkat {
namespace {

constexpr index kRows = 8;  // samples generated together: a matrix product with up to 8 rows reads the weights once

/// A sample that is being generated.
struct Row {
  index number;
  std::vector<Token> text;      // prompt first
  std::vector<Token> distinct;  // the tokens of the text, each once
  std::vector<bool> has;        // for each id, whether it is in `distinct`
  Draw draw;
  std::vector<float> logits;  // (vocabulary), after penalties
  index begin;                // where the context begins, in the text

  Row(index sample, const std::vector<Token>& prompt, const TransformerConfig& model)
      : number(sample),
        has(static_cast<std::size_t>(model.vocab_size)),
        draw(model.vocab_size),
        logits(static_cast<std::size_t>(model.vocab_size)),
        begin(std::max<index>(static_cast<index>(prompt.size()) - model.block_size, 0)) {
    for (const Token token : prompt) {
      add(token);
    }
  }
  void add(Token token) {
    text.push_back(token);
    if (!has[static_cast<std::size_t>(token)]) {
      has[static_cast<std::size_t>(token)] = true;
      distinct.push_back(token);
    }
  }
  std::span<const Token> context() const { return std::span(text).subspan(static_cast<std::size_t>(begin)); }
};

/// The token that a row has drawn.
struct Drawn {
  Token token = 0;
  double log_probability = 0;
};

/// Generates samples in the order of their numbers, up to kRows together. All rows have read their context but for its last token, which
/// they read together; a row that is new, or whose context begins elsewhere than before, reads its context by itself and comes last.
class Generator {
 public:
  Generator(const Gpt& model, const Vocabulary& vocabulary, std::span<const std::vector<Token>> prompts, const SampleOptions& options,
            const GenerationEvents& events)
      : model_(model),
        vocabulary_(vocabulary),
        prompts_(prompts),
        options_(options),
        events_(events),
        block_(model.config().block_size),
        width_(model.config().vocab_size),
        drawing_{.temperature = options.temperature, .top_k = options.top_k, .top_p = options.top_p, .min_p = options.min_p},
        samples_(prompts.size() * static_cast<std::size_t>(options.num_samples)),
        own_(model.cache(options.prompts == nullptr ? 1 : 0)),
        held_(options.prompts != nullptr ? options.prompts->keys_and_values() : own_),
        cache_(model.cache(std::min(total(), kRows))),
        held_logits_(static_cast<std::size_t>(width_)),
        logits_(static_cast<std::size_t>(kRows * width_)) {}

  std::vector<Sample> run() {
    while (options_.max_new_tokens == 0 && next_ < total()) {
      end(next_++, Ending::length);
    }
    while ((count() > 0 || next_ < total()) && continue_rows() && begin_rows()) {
      draw();
    }
    for (const Row& one : rows_) {
      end(one.number, Ending::interrupted);
    }
    while (next_ < total()) {
      end(next_++, Ending::interrupted);
    }
    return std::move(samples_);
  }

 private:
  index total() const { return std::ssize(samples_); }
  index count() const { return std::ssize(rows_); }
  Row& row(index at) { return rows_[static_cast<std::size_t>(at)]; }
  float* logits_of(index at) { return logits_.data() + at * width_; }
  Sample& sample(index number) { return samples_[static_cast<std::size_t>(number)]; }
  bool stops() const { return events_.stop && events_.stop(); }

  void end(index number, Ending ending) {
    sample(number).ending = ending;
    if (events_.ended) {
      events_.ended(number, sample(number));
    }
  }

  /// Computes the logits for the next token of every row. False if it is stopped.
  bool continue_rows() {
    if (count() > 0 && stops()) {
      return false;
    }
    std::vector<Row> apart;
    for (index at = count() - 1; at >= 0; --at) {
      if (slid(row(at))) {
        apart.push_back(take_out(at));
      }
    }
    if (count() > 0) {
      read_last();
    }
    bool stopped = false;
    for (Row& one : apart) {
      stopped = stopped || !read_context(one);
      if (stopped) {
        rows_.push_back(std::move(one));  // it is interrupted with the others
        continue;
      }
      held_prompt_ = kNone;
      enter(std::move(one));
    }
    return !stopped;
  }

  /// Fills free rows with the samples that come next, and their logits. False if it is stopped.
  bool begin_rows() {
    for (; count() < kRows && next_ < total(); ++next_) {
      const index prompt = next_ / options_.num_samples;
      Row next(next_, prompts_[static_cast<std::size_t>(prompt)], model_.config());
      if (prompt != held_prompt_) {
        if (stops() || !read_context(next)) {
          return false;
        }
        held_prompt_ = prompt;
      }
      enter(std::move(next));
    }
    return true;
  }

  /// Whether the context was full, and has dropped tokens.
  bool slid(Row& full) {
    if (std::ssize(full.context()) <= block_) {
      return false;
    }
    full.begin += std::max<index>(block_ / 4, 1);
    if (events_.slide && !has_slid_) {
      events_.slide();
    }
    has_slid_ = true;
    return true;
  }

  /// Reads the whole context of one row by itself, so that its logits do not depend on the other rows. False if it is stopped.
  bool read_context(const Row& alone) {
    const auto context = alone.context();
    if (options_.prompts != nullptr) {
      return read_chunks(context);
    }
    held_.clear();
    take_logits(of_last(context), held_logits_.data());
    return true;
  }

  /// The same, pass by pass, but for what was read before.
  bool read_chunks(std::span<const Token> context) {
    PromptCache& prompts = *options_.prompts;
    const auto size = std::ssize(context);
    for (index begin = prompts.begin(context); begin < size; begin += PromptCache::kChunk) {
      if (begin > 0 && stops()) {
        return false;
      }
      const auto chunk =
          context.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(std::min(PromptCache::kChunk, size - begin)));
      if (begin + PromptCache::kChunk < size) {
        Pass pass{.tape = tape_};
        model_.features(pass, tape_.input<Token>({1, std::ssize(chunk)}, chunk), held_);
        tape_.reset();
      } else {
        take_logits(of_last(chunk), held_logits_.data());
      }
      prompts.add(chunk);
    }
    return true;
  }

  /// The logits after the last of these tokens.
  Tensor of_last(std::span<const Token> tokens) {
    Pass pass{.tape = tape_};
    const Tensor input = tape_.input<Token>({1, std::ssize(tokens)}, tokens);
    return model_.logits(pass, slice(model_.features(pass, input, held_), 1, std::ssize(tokens) - 1, 1));
  }

  /// Puts a row whose context is the one that was read last behind the others.
  void enter(Row entering) {
    std::copy(held_logits_.begin(), held_logits_.end(), logits_of(count()));
    cache_.copy_sequence(count(), held_, 0);
    rows_.push_back(std::move(entering));
  }

  /// Removes a row. The last one takes its place, but for its logits.
  Row take_out(index at) {
    const index last = count() - 1;
    if (at < last) {
      cache_.copy_sequence(at, cache_, last);
      std::swap(row(at), rows_.back());
    }
    Row taken = std::move(rows_.back());
    rows_.pop_back();
    return taken;
  }

  /// Reads the last token of all rows together.
  void read_last() {
    last_.clear();
    for (const Row& one : rows_) {
      last_.push_back(one.text.back());
    }
    Pass pass{.tape = tape_};
    take_logits(model_.logits(pass, model_.features(pass, tape_.input<Token>({count(), 1}, last_), cache_)), logits_.data());
  }

  void take_logits(Tensor logits, float* to) {
    std::copy_n(logits.data<float>(), logits.size(), to);
    require(std::none_of(to, to + logits.size(), [](float x) { return std::isnan(x); }),
            "sample: the model's logits are NaN, expected finite weights: take an earlier checkpoint");
    tape_.reset();
  }

  /// Draws a token for every row, and removes the rows that end.
  void draw() {
    drawn_.resize(rows_.size());
    parallel_for(count(), [&](index at) { draw_for(at); });
    for (index at = count() - 1; at >= 0; --at) {
      const Drawn& drawn = drawn_[static_cast<std::size_t>(at)];
      if (const auto ending = take(row(at), drawn, std::span(logits_of(at), static_cast<std::size_t>(width_)))) {
        end(take_out(at).number, *ending);
      }
    }
  }

  void draw_for(index at) {
    Row& one = row(at);
    std::copy_n(logits_of(at), vocabulary_.size, one.logits.begin());
    const std::span<float> logits = std::span(one.logits).first(static_cast<std::size_t>(vocabulary_.size));
    if (options_.repetition_penalty != 1) {
      penalize(logits, one.distinct, options_.repetition_penalty);
    }
    for (const Token token : vocabulary_.suppressed) {
      logits[static_cast<std::size_t>(token)] = -std::numeric_limits<float>::infinity();
    }
    const index of_prompt = one.number % options_.num_samples;
    const RandomStream stream(options_.seed, "sample", static_cast<std::uint64_t>(options_.first_sample + of_prompt));
    Drawn& drawn = drawn_[static_cast<std::size_t>(at)];
    drawn.token = static_cast<Token>(one.draw(logits, drawing_, stream.uniform(std::ssize(sample(one.number).tokens))));
    if (options_.log_probabilities) {
      drawn.log_probability = log_probability(std::span(logits_of(at), static_cast<std::size_t>(width_)), drawn.token);
    }
  }

  /// Adds a token to a row's sample, unless it is an end. Returns why the sample ends, if it does.
  std::optional<Ending> take(Row& one, const Drawn& drawn, std::span<const float> logits) {
    if (std::find(vocabulary_.ends.begin(), vocabulary_.ends.end(), drawn.token) != vocabulary_.ends.end()) {
      return Ending::end_token;
    }
    one.add(drawn.token);
    Sample& own = sample(one.number);
    own.tokens.push_back(drawn.token);
    if (options_.log_probabilities) {
      own.log_probabilities.push_back(drawn.log_probability);
    }
    if (events_.drawn) {
      events_.drawn(one.number, drawn.token, logits);
    }
    if (events_.token && !events_.token(one.number, drawn.token)) {
      return Ending::stopped;
    }
    return std::ssize(own.tokens) == options_.max_new_tokens ? std::optional(Ending::length) : std::nullopt;
  }

  static constexpr index kNone = -1;

  const Gpt& model_;
  const Vocabulary& vocabulary_;
  std::span<const std::vector<Token>> prompts_;
  const SampleOptions& options_;
  const GenerationEvents& events_;
  index block_, width_;  // V
  DrawOptions drawing_;
  Tape tape_{Recording::off};
  std::vector<Sample> samples_;
  index next_ = 0;                  // the number of the sample that begins next
  KeyValueCache own_;               // for a context, unless SampleOptions::prompts has one
  KeyValueCache& held_;             // of the context that was read last
  KeyValueCache cache_;             // of all rows
  std::vector<float> held_logits_;  // (V), of that context
  std::vector<float> logits_;       // (kRows, V)
  index held_prompt_ = kNone;       // the prompt that this context is, or kNone
  std::vector<Token> last_;
  std::vector<Row> rows_;
  std::vector<Drawn> drawn_;
  bool has_slid_ = false;
};

}  // namespace

index PromptCache::begin(std::span<const Token> prompt) {
  const index usable =
      std::min(std::ssize(prompt) - 1, keys_and_values_.length());  // what a pass that was broken off has written is not used
  const auto known =
      std::span<const Token>(tokens_).first(static_cast<std::size_t>(std::min(std::ssize(tokens_), std::max<index>(usable, 0))));
  const index same = std::ranges::mismatch(known, prompt).in1 - known.begin();
  const index kept = same / kChunk * kChunk;
  keys_and_values_.truncate(0, kept);
  tokens_.resize(static_cast<std::size_t>(kept));
  return kept;
}

void check(const SampleOptions& options) {
  require_input(options.max_new_tokens >= 0, "max-new-tokens is ", options.max_new_tokens, ", expected 0 or more");
  require_input(options.num_samples >= 1, "num-samples is ", options.num_samples, ", expected 1 or more");
  check(DrawOptions{.temperature = options.temperature, .top_k = options.top_k, .top_p = options.top_p, .min_p = options.min_p});
  require_input(options.repetition_penalty > 0 && std::isfinite(options.repetition_penalty), "repetition-penalty is ",
                options.repetition_penalty, ", expected more than 0 (1: none)");
}

std::vector<Sample> generate(const Gpt& model, const Vocabulary& vocabulary, std::span<const std::vector<Token>> prompts,
                             const SampleOptions& options, const GenerationEvents& events) {
  check(options);
  const index width = model.config().vocab_size;
  for (const std::vector<Token>& prompt : prompts) {
    require_input(!prompt.empty(), "the prompt is empty, expected one token or more to continue");
    for (const Token token : prompt) {
      require(0 <= token && token < width, "sample: the prompt has token ", token, ", expected 0 to ", width - 1);
    }
  }
  const auto usable = [&](Token token) { return 0 <= token && token < vocabulary.size; };
  require(0 < vocabulary.size && vocabulary.size <= width &&
              std::all_of(vocabulary.suppressed.begin(), vocabulary.suppressed.end(), usable) &&
              static_cast<index>(vocabulary.suppressed.size()) < vocabulary.size,
          "sample: a vocabulary of ", vocabulary.size, " with ", vocabulary.suppressed.size(),
          " that are never drawn, expected at most the model's ", width, " with at least one that can be drawn");
  return Generator(model, vocabulary, prompts, options, events).run();
}

std::vector<Sample> generate(const Gpt& model, const Vocabulary& vocabulary, const std::vector<Token>& prompt, const SampleOptions& options,
                             const GenerationEvents& events) {
  return generate(model, vocabulary, std::span(&prompt, 1), options, events);
}

}  // namespace dikkat
