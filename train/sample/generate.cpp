#include "train/sample/generate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "autograd/base/parallel.h"
#include "autograd/ops/basic.h"
#include "train/sample/prompt_cache.h"

namespace dikkat {
namespace {

constexpr index kRows = 8;  // samples generated together: a matrix product with up to 8 rows reads the weights once
constexpr index kNone = -1;

DrawOptions draw_options(const SampleOptions& o) {
  return {.temperature = o.temperature, .top_k = o.top_k, .top_p = o.top_p, .min_p = o.min_p};
}

/// A sample that is being generated.
struct Row {
  index number;
  index prompt_size;
  std::vector<Token> text;  // prompt first
  IdCounts in_text;         // the tokens of the text
  IdCounts in_answer;       // those without the prompt
  Draw draw;
  std::vector<float> logits;  // (V), after penalties
  index begin;                // where the context begins in the text
  bool is_stopped = false;

  Row(index sample, const std::vector<Token>& prompt, const TransformerConfig& model)
      : number(sample),
        prompt_size(std::ssize(prompt)),
        text(prompt),
        in_text(model.vocab_size),
        in_answer(model.vocab_size),
        draw(model.vocab_size),
        logits(static_cast<std::size_t>(model.vocab_size)),
        begin(std::max<index>(prompt_size - model.block_size, 0)) {
    for (const Token token : prompt) {
      in_text.add(token);
    }
  }
  void add(Token token) {
    text.push_back(token);
    in_text.add(token);
    in_answer.add(token);
  }
  index count() const { return std::ssize(text) - prompt_size; }  // new tokens
  std::span<const Token> context() const { return std::span(text).subspan(static_cast<std::size_t>(begin)); }
};

void check_tokens(const Gpt& model, const Vocabulary& vocabulary, std::span<const std::vector<Token>> prompts,
                  std::span<const LogitBias> logit_bias) {
  const index width = model.config().vocab_size;
  for (const std::vector<Token>& prompt : prompts) {
    require_input(!prompt.empty(), "the prompt is empty, expected one token or more to continue");
    for (const Token token : prompt) {
      require(0 <= token && token < width, "sample: the prompt has token ", token, ", expected 0 to ", width - 1);
    }
  }
  const auto is_usable = [&](Token token) { return 0 <= token && token < vocabulary.size; };
  for (const auto& [token, bias] : logit_bias) {
    require(is_usable(token), "sample: a bias of token ", token, ", expected 0 to ", vocabulary.size - 1);
  }
  require(0 < vocabulary.size && vocabulary.size <= width && std::ranges::all_of(vocabulary.suppressed, is_usable) &&
              std::ssize(vocabulary.suppressed) < vocabulary.size,
          "sample: a vocabulary of ", vocabulary.size, " with ", vocabulary.suppressed.size(),
          " that are never drawn, expected at most the model's ", width, " with at least one that can be drawn");
}

}  // namespace

/// Generates samples in the order of their numbers, up to kRows together. A round reads the last token of all rows in one pass, fills free
/// rows with the samples that begin next, draws a token for every row, and gives these tokens from the last row to the first. A row that is
/// new, or whose context has dropped tokens, reads its context in a pass of its own.
class Generation::State {
 public:
  State(const Gpt& model, Vocabulary vocabulary, std::vector<std::vector<Token>> prompts, SampleOptions options)
      : model_(model),
        vocabulary_(std::move(vocabulary)),
        prompts_(std::move(prompts)),
        options_(std::move(options)),
        block_(model.config().block_size),
        width_(model.config().vocab_size),
        total_(std::ssize(prompts_) * options_.num_samples),
        own_context_(model.cache(options_.prompts == nullptr ? 1 : 0)),
        context_(options_.prompts == nullptr ? own_context_ : options_.prompts->keys_and_values()),
        cache_(model.cache(std::min(total_, kRows))),
        context_logits_(static_cast<std::size_t>(width_)),
        logits_(static_cast<std::size_t>(kRows * width_)) {}

  std::optional<Event> next() {
    // The last event's token may have been the last one of its sample.
    if (const index at = std::exchange(given_, kNone); at != kNone) {
      if (row(at).is_stopped) {
        return ended(at, Ending::stop);
      }
      if (row(at).count() == options_.max_new_tokens) {
        return ended(at, Ending::length);
      }
    }
    if (options_.max_new_tokens == 0 && next_ < total_) {
      return Event{.number = next_++, .ending = Ending::length};
    }

    // A new round, once all rows have given the token that they had drawn.
    if (turn_ == 0 && !is_interrupted_ && (count() > 0 || next_ < total_)) {
      is_interrupted_ = !continue_rows() || !begin_rows();
      if (!is_interrupted_) {
        draw();
        turn_ = count();
      }
    }
    if (is_interrupted_) {
      return interruption();
    }
    if (turn_ == 0) {
      return std::nullopt;
    }

    // The token of the next row in turn.
    const index at = --turn_;
    const Token token = drawn_[static_cast<std::size_t>(at)];
    if (row(at).is_stopped) {
      return ended(at, Ending::stop);
    }
    if (std::ranges::find(vocabulary_.ends, token) != vocabulary_.ends.end()) {
      return ended(at, Ending::end);
    }
    row(at).add(token);
    given_ = at;
    return Event{.number = row(at).number, .token = token, .logits = logits_of(at)};
  }

  void end(index number) {
    const auto found = std::ranges::find(rows_, number, &Row::number);
    if (found != rows_.end()) {
      found->is_stopped = true;
    }
  }

  bool outgrew_context() const { return outgrew_context_; }

 private:
  index count() const { return std::ssize(rows_); }
  Row& row(index at) { return rows_[static_cast<std::size_t>(at)]; }
  std::span<float> logits_of(index at) { return std::span(logits_).subspan(static_cast<std::size_t>(at * width_), context_logits_.size()); }
  bool is_interrupted() const { return options_.interrupted && options_.interrupted(); }

  Event ended(index at, Ending ending) { return {.number = take_out(at).number, .ending = ending}; }

  /// The end of a sample after an interruption: first of those that have begun, then of the others.
  std::optional<Event> interruption() {
    if (rows_.empty()) {
      return next_ < total_ ? std::optional(Event{.number = next_++, .ending = Ending::interrupted}) : std::nullopt;
    }
    const Row& first = rows_.front();
    const Event event{.number = first.number, .ending = first.is_stopped ? Ending::stop : Ending::interrupted};
    rows_.erase(rows_.begin());
    return event;
  }

  /// Computes the logits for the next token of every row. Returns false if it is interrupted.
  bool continue_rows() {
    if (count() > 0 && is_interrupted()) {
      return false;
    }
    std::vector<Row> apart;
    for (index at = count() - 1; at >= 0; --at) {
      if (drop_oldest(row(at))) {
        apart.push_back(take_out(at));
      }
    }
    if (count() > 0) {
      read_last();
    }
    bool is_complete = true;
    for (Row& one : apart) {
      is_complete = is_complete && read_context(one);
      if (!is_complete) {
        rows_.push_back(std::move(one));  // it ends with the others
        continue;
      }
      context_prompt_ = kNone;
      enter(std::move(one));
    }
    return is_complete;
  }

  /// Fills free rows with the samples that come next, and computes their logits. Returns false if it is interrupted.
  bool begin_rows() {
    for (; count() < kRows && next_ < total_; ++next_) {
      const index prompt = next_ / options_.num_samples;
      Row next(next_, prompts_[static_cast<std::size_t>(prompt)], model_.config());
      if (prompt != context_prompt_) {
        if (is_interrupted() || !read_context(next)) {
          return false;
        }
        context_prompt_ = prompt;
      }
      enter(std::move(next));
    }
    return true;
  }

  /// Drops the oldest quarter of a context that has outgrown the model's. Returns whether it did.
  bool drop_oldest(Row& one) {
    if (std::ssize(one.context()) <= block_) {
      return false;
    }
    one.begin += std::max<index>(block_ / 4, 1);
    outgrew_context_ = true;
    return true;
  }

  /// Reads the whole context of one row in a pass of its own, so that its logits do not depend on the other rows. Returns false if it is
  /// interrupted.
  bool read_context(const Row& one) {
    if (options_.prompts != nullptr) {
      return read_chunks(one.context());
    }
    context_.clear();
    take_logits(logits_after(one.context()), context_logits_);
    return true;
  }

  /// Reads the tokens of a context that the cache of prompts does not have, chunk by chunk. Returns false if it is interrupted.
  bool read_chunks(std::span<const Token> context) {
    PromptCache& prompts = *options_.prompts;
    const auto size = std::ssize(context);
    for (index begin = prompts.begin(context); begin < size; begin += PromptCache::kChunk) {
      if (begin > 0 && is_interrupted()) {
        return false;
      }
      const auto chunk =
          context.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(std::min(PromptCache::kChunk, size - begin)));
      if (begin + PromptCache::kChunk < size) {
        Pass pass{.tape = tape_};
        model_.features(pass, tape_.input<Token>({1, std::ssize(chunk)}, chunk), context_);
        tape_.reset();
      } else {
        take_logits(logits_after(chunk), context_logits_);
      }
      prompts.add(chunk);
    }
    return true;
  }

  /// Reads tokens into context_. Returns the logits after the last of them.
  Tensor logits_after(std::span<const Token> tokens) {
    Pass pass{.tape = tape_};
    const Tensor input = tape_.input<Token>({1, std::ssize(tokens)}, tokens);
    return model_.logits(pass, slice(model_.features(pass, input, context_), 1, std::ssize(tokens) - 1, 1));
  }

  /// Adds a row behind the others. Its context must be the one that was read last.
  void enter(Row entering) {
    std::ranges::copy(context_logits_, logits_of(count()).begin());
    cache_.copy_sequence(count(), context_, 0);
    rows_.push_back(std::move(entering));
  }

  /// Removes a row. The last row takes its place, without its logits.
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

  /// Reads the last token of all rows in one pass.
  void read_last() {
    last_.clear();
    for (const Row& one : rows_) {
      last_.push_back(one.text.back());
    }
    Pass pass{.tape = tape_};
    take_logits(model_.logits(pass, model_.features(pass, tape_.input<Token>({count(), 1}, last_), cache_)), logits_);
  }

  void take_logits(Tensor logits, std::span<float> to) {
    to = to.first(static_cast<std::size_t>(logits.size()));
    std::copy_n(logits.data<float>(), logits.size(), to.begin());
    require(std::ranges::none_of(to, [](float x) { return std::isnan(x); }),
            "sample: the model's logits are NaN, expected finite weights: take an earlier checkpoint");
    tape_.reset();
  }

  /// Draws a token for every row.
  void draw() {
    drawn_.resize(rows_.size());
    parallel_for(count(), [&](index at) { drawn_[static_cast<std::size_t>(at)] = draw_for(row(at), logits_of(at)); });
  }

  Token draw_for(Row& one, std::span<const float> of_model) const {
    std::copy_n(of_model.begin(), vocabulary_.size, one.logits.begin());
    const std::span<float> logits = std::span(one.logits).first(static_cast<std::size_t>(vocabulary_.size));
    if (options_.repetition_penalty != 1) {
      penalize(logits, one.in_text.ids(), options_.repetition_penalty);
    }
    penalize_counts(logits, one.in_answer, options_.presence_penalty, options_.frequency_penalty);
    add_bias(logits, options_.logit_bias);
    for (const Token token : vocabulary_.suppressed) {
      logits[static_cast<std::size_t>(token)] = -std::numeric_limits<float>::infinity();
    }
    const index sample = options_.first_sample + one.number % options_.num_samples;
    const RandomStream random(options_.seed, "sample", static_cast<std::uint64_t>(sample));
    return static_cast<Token>(one.draw(logits, draw_options(options_), random.uniform(one.count())));
  }

  const Gpt& model_;
  const Vocabulary vocabulary_;
  const std::vector<std::vector<Token>> prompts_;
  const SampleOptions options_;
  const index block_, width_;  // width_ is V
  const index total_;          // samples of all prompts
  Tape tape_{Recording::off};
  index next_ = 0;  // the number of the sample that begins next

  KeyValueCache own_context_;          // used without SampleOptions::prompts
  KeyValueCache& context_;             // keys and values of the context that was read last
  index context_prompt_ = kNone;       // the prompt that this context is, or kNone
  KeyValueCache cache_;                // keys and values of all rows
  std::vector<float> context_logits_;  // (V), after the context that was read last
  std::vector<float> logits_;          // (kRows, V)

  std::vector<Row> rows_;
  std::vector<Token> last_;   // the last token of each row
  std::vector<Token> drawn_;  // the token that each row has drawn
  index turn_ = 0;            // rows [0, turn_) have not given this token yet
  index given_ = kNone;       // the row whose token was the last event, or kNone
  bool is_interrupted_ = false;
  bool outgrew_context_ = false;
};

Generation::Generation(const Gpt& model, Vocabulary vocabulary, std::vector<std::vector<Token>> prompts, SampleOptions options) {
  check(options);
  check_tokens(model, vocabulary, prompts, options.logit_bias);
  state_ = std::make_unique<State>(model, std::move(vocabulary), std::move(prompts), std::move(options));
}
Generation::Generation(Generation&&) noexcept = default;
Generation& Generation::operator=(Generation&&) noexcept = default;
Generation::~Generation() = default;

std::optional<Generation::Event> Generation::next() { return state_->next(); }
void Generation::end(index number) { state_->end(number); }
bool Generation::outgrew_context() const { return state_->outgrew_context(); }

void check(const SampleOptions& options) {
  require_input(options.max_new_tokens >= 0, "max-new-tokens is ", options.max_new_tokens, ", expected 0 or more");
  require_input(options.num_samples >= 1, "num-samples is ", options.num_samples, ", expected 1 or more");
  check(draw_options(options));
  require_input(options.repetition_penalty > 0 && std::isfinite(options.repetition_penalty), "repetition-penalty is ",
                options.repetition_penalty, ", expected more than 0 (1: none)");
  const auto require_finite = [](const char* name, double value) {
    require_input(std::isfinite(value), name, " is ", value, ", expected a finite number (0: none)");
  };
  require_finite("presence-penalty", options.presence_penalty);
  require_finite("frequency-penalty", options.frequency_penalty);
  for (const auto& [token, bias] : options.logit_bias) {
    require_finite("logit-bias", bias);
  }
}

void Sample::add(const Generation::Event& event, bool with_log_probability) {
  if (event.ending) {
    ending = *event.ending;
    return;
  }
  tokens.push_back(event.token);
  if (with_log_probability) {
    log_probabilities.push_back(log_probability(event.logits, event.token));
  }
}

std::vector<Sample> generate(const Gpt& model, const Vocabulary& vocabulary, std::span<const std::vector<Token>> prompts,
                             const SampleOptions& options) {
  Generation generation(model, vocabulary, std::vector(prompts.begin(), prompts.end()), options);
  std::vector<Sample> samples(prompts.size() * static_cast<std::size_t>(options.num_samples));
  while (const auto event = generation.next()) {
    samples[static_cast<std::size_t>(event->number)].add(*event, options.log_probabilities);
  }
  return samples;
}

std::vector<Sample> generate(const Gpt& model, const Vocabulary& vocabulary, const std::vector<Token>& prompt,
                             const SampleOptions& options) {
  return generate(model, vocabulary, std::span(&prompt, 1), options);
}

}  // namespace dikkat
