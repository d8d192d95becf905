#include "train/sample/generate.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/base/parallel.h"
#include "autograd/ops/basic.h"

namespace dikkat {
namespace {

constexpr index kRows = 8;  // samples generated together: a matrix product with up to 8 rows reads the weights once

/// A sample that is being generated.
struct Row {
  index sample;
  std::vector<Token> text;      // prompt first
  std::vector<Token> distinct;  // the tokens of the text, each once
  std::vector<bool> has;        // for each id, whether it is in `distinct`
  Draw draw;
  std::vector<float> logits;  // (vocabulary), after penalties

  Row(index number, const std::vector<Token>& prompt, index model_vocabulary)
      : sample(number),
        has(static_cast<std::size_t>(model_vocabulary)),
        draw(model_vocabulary),
        logits(static_cast<std::size_t>(model_vocabulary)) {
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
};

/// The token that a row has drawn.
struct Drawn {
  Token token = 0;
  double log_probability = 0;
};

class Generator {
 public:
  Generator(const Gpt& model, const Vocabulary& vocabulary, const std::vector<Token>& prompt, const SampleOptions& options,
            const GenerationEvents& events)
      : model_(model),
        vocabulary_(vocabulary),
        prompt_(prompt),
        options_(options),
        events_(events),
        block_(model.config().block_size),
        width_(model.config().vocab_size),
        drawing_{.temperature = options.temperature, .top_k = options.top_k, .top_p = options.top_p, .min_p = options.min_p},
        prompt_cache_(model.cache(options.cached ? 1 : 0)),
        cache_(model.cache(options.cached ? std::min(options.num_samples, kRows) : 0)),
        logits_(static_cast<std::size_t>(kRows * width_)),
        samples_(static_cast<std::size_t>(options.num_samples)) {}

  std::vector<Sample> run() {
    for (index first = 0; first < options_.num_samples; first += kRows) {
      run_block(first, std::min(options_.num_samples, first + kRows));
    }
    return std::move(samples_);
  }

 private:
  float* logits_of(index row) { return logits_.data() + row * width_; }
  Sample& sample_of(const Row& row) { return samples_[static_cast<std::size_t>(row.sample)]; }

  void run_block(index first, index end) {
    rows_.clear();
    for (index sample = first; sample < end; ++sample) {
      rows_.emplace_back(sample, prompt_, width_);
    }
    begin_ = std::max<index>(static_cast<index>(prompt_.size()) - block_, 0);
    for (index i = 0; i < options_.max_new_tokens && !rows_.empty(); ++i) {
      if (events_.stop && events_.stop()) {
        for (const Row& row : rows_) {
          sample_of(row).ending = Ending::interrupted;
        }
        break;
      }
      read(i);
      draw(i);
    }
    for (const Row& row : rows_) {
      report_ended(row);
    }
  }

  void report_ended(const Row& row) {
    if (events_.ended) {
      events_.ended(row.sample);
    }
  }

  /// Computes logits_ (rows, V) for the next tokens.
  void read(index i) {
    const auto length = static_cast<index>(rows_.front().text.size());
    const bool full = length - begin_ > block_;
    if (full) {
      begin_ += options_.slide == Slide::token ? 1 : std::max<index>(block_ / 4, 1);
      if (events_.slide && !has_slid_) {
        events_.slide();
      }
      has_slid_ = true;
    }
    if (i == 0) {  // all rows hold the prompt
      read_window(0);
      for (index row = 1; row < count(); ++row) {
        std::copy_n(logits_of(0), width_, logits_of(row));
        keep_window(row);
      }
    } else if (full || !options_.cached) {
      for (index row = 0; row < count(); ++row) {
        read_window(row);
      }
    } else {
      read_last();
    }
  }

  index count() const { return static_cast<index>(rows_.size()); }

  /// Reads the whole context of one row by itself, so that its logits do not depend on the other rows.
  void read_window(index row) {
    const std::vector<Token>& text = rows_[static_cast<std::size_t>(row)].text;
    const std::span window = std::span(text).subspan(static_cast<std::size_t>(begin_));
    const auto time = static_cast<index>(window.size());
    Pass pass{.tape = tape_};
    const Tensor tokens = tape_.input<Token>({1, time}, window);
    prompt_cache_.clear();
    const Tensor features = options_.cached ? model_.features(pass, tokens, prompt_cache_) : model_.features(pass, tokens);
    take_logits(model_.logits(pass, slice(features, 1, time - 1, 1)), row);
    keep_window(row);
  }

  void keep_window(index row) {
    if (options_.cached) {
      cache_.copy_sequence(row, prompt_cache_, 0);
    }
  }

  /// Reads the last token of all rows together.
  void read_last() {
    last_.clear();
    for (const Row& row : rows_) {
      last_.push_back(row.text.back());
    }
    Pass pass{.tape = tape_};
    take_logits(model_.logits(pass, model_.features(pass, tape_.input<Token>({count(), 1}, last_), cache_)), 0);
  }

  void take_logits(Tensor logits, index row) {
    std::copy_n(logits.data<float>(), logits.size(), logits_of(row));
    require(std::none_of(logits_of(row), logits_of(row) + logits.size(), [](float x) { return std::isnan(x); }),
            "sample: the model's logits are NaN, expected finite weights: take an earlier checkpoint");
    tape_.reset();
  }

  /// Draws a token for every row, and removes the rows that have ended.
  void draw(index i) {
    drawn_.resize(rows_.size());
    parallel_for(count(), [&](index row) { draw_for(row, i); });
    for (index at = count() - 1; at >= 0; --at) {
      Row& row = rows_[static_cast<std::size_t>(at)];
      if (!take(row, drawn_[static_cast<std::size_t>(at)])) {
        report_ended(row);
        remove(at);
      }
    }
  }

  void draw_for(index at, index i) {
    Row& row = rows_[static_cast<std::size_t>(at)];
    const auto size = static_cast<std::size_t>(vocabulary_.size);
    std::copy_n(logits_of(at), vocabulary_.size, row.logits.begin());
    const std::span<float> logits = std::span(row.logits).first(size);
    if (options_.repetition_penalty != 1) {
      penalize(logits, row.distinct, options_.repetition_penalty);
    }
    for (const Token token : vocabulary_.suppressed) {
      logits[static_cast<std::size_t>(token)] = -std::numeric_limits<float>::infinity();
    }
    const RandomStream stream(options_.seed, "sample", static_cast<std::uint64_t>(options_.first_sample + row.sample));
    Drawn& drawn = drawn_[static_cast<std::size_t>(at)];
    drawn.token = static_cast<Token>(row.draw(logits, drawing_, stream.uniform(i)));
    if (options_.log_probabilities) {
      drawn.log_probability = log_probability(std::span(logits_of(at), static_cast<std::size_t>(width_)), drawn.token);
    }
  }

  /// Returns false if the sample has ended.
  bool take(Row& row, const Drawn& drawn) {
    Sample& sample = sample_of(row);
    if (std::find(vocabulary_.ends.begin(), vocabulary_.ends.end(), drawn.token) != vocabulary_.ends.end()) {
      sample.ending = Ending::end_token;
      return false;
    }
    row.add(drawn.token);
    sample.tokens.push_back(drawn.token);
    if (options_.log_probabilities) {
      sample.log_probabilities.push_back(drawn.log_probability);
    }
    if (events_.token && !events_.token(row.sample, drawn.token)) {
      sample.ending = Ending::stopped;
      return false;
    }
    return true;
  }

  /// Removes a row. The last row takes its place.
  void remove(index row) {
    const index last = count() - 1;
    if (row < last) {
      if (options_.cached) {
        cache_.copy_sequence(row, cache_, last);
      }
      std::swap(rows_[static_cast<std::size_t>(row)], rows_.back());
    }
    rows_.pop_back();
  }

  const Gpt& model_;
  const Vocabulary& vocabulary_;
  const std::vector<Token>& prompt_;
  const SampleOptions& options_;
  const GenerationEvents& events_;
  index block_, width_;  // V
  DrawOptions drawing_;
  Tape tape_{Recording::off};
  KeyValueCache prompt_cache_, cache_;  // of one context; of all rows
  std::vector<float> logits_;           // (kRows, V)
  std::vector<Token> last_;
  std::vector<Row> rows_;
  std::vector<Drawn> drawn_;
  std::vector<Sample> samples_;
  index begin_ = 0;  // where the context begins, in every text
  bool has_slid_ = false;
};

}  // namespace

void check(const SampleOptions& options) {
  require_input(options.max_new_tokens >= 0, "max-new-tokens is ", options.max_new_tokens, ", expected 0 or more");
  require_input(options.num_samples >= 1, "num-samples is ", options.num_samples, ", expected 1 or more");
  check(DrawOptions{.temperature = options.temperature, .top_k = options.top_k, .top_p = options.top_p, .min_p = options.min_p});
  require_input(options.repetition_penalty > 0 && std::isfinite(options.repetition_penalty), "repetition-penalty is ",
                options.repetition_penalty, ", expected more than 0 (1: none)");
}

std::vector<Sample> generate(const Gpt& model, const Vocabulary& vocabulary, const std::vector<Token>& prompt, const SampleOptions& options,
                             const GenerationEvents& events) {
  check(options);
  const index width = model.config().vocab_size;
  require_input(!prompt.empty(), "the prompt is empty, expected one token or more to continue");
  for (const Token token : prompt) {
    require(0 <= token && token < width, "sample: the prompt has token ", token, ", expected 0 to ", width - 1);
  }
  const auto usable = [&](Token token) { return 0 <= token && token < vocabulary.size; };
  require(0 < vocabulary.size && vocabulary.size <= width &&
              std::all_of(vocabulary.suppressed.begin(), vocabulary.suppressed.end(), usable) &&
              static_cast<index>(vocabulary.suppressed.size()) < vocabulary.size,
          "sample: a vocabulary of ", vocabulary.size, " with ", vocabulary.suppressed.size(),
          " that are never drawn, expected at most the model's ", width, " with at least one that can be drawn");
  return Generator(model, vocabulary, prompt, options, events).run();
}

}  // namespace dikkat
