#include "train/sample/translate.h"

#include <algorithm>
#include <cmath>

#include "autograd/base/parallel.h"
#include "train/sample/draw.h"

namespace dikkat {
namespace {

// The number of hypotheses that are extended together. Products with up to 16 rows read the weights once, and rows are independent.
constexpr index kTogether = 16;

/// A target that is being generated.
struct Hypothesis {
  std::int32_t source = 0;    // index of its source in the block
  index row = 0;              // its row of the cache, until it has ended
  std::vector<Token> tokens;  // start token first
  double log_probability = 0;
  bool ended = false;
};

/// The hypotheses for one source.
using Beam = std::vector<Hypothesis>;

double score(const Hypothesis& h, double alpha) {
  const auto length = static_cast<double>(h.tokens.size() - 1 + (h.ended ? 1 : 0));
  return h.log_probability / std::pow((5 + length) / 6, alpha);
}

/// A hypothesis of a beam, extended by a token.
struct Candidate {
  double log_probability;
  const Hypothesis* from;
  Token token;
};

/// Keeps the k likeliest candidates, likeliest first.
void keep_best(std::vector<Candidate>& candidates, std::size_t k) {
  const auto better = [](const Candidate& a, const Candidate& b) {
    return a.log_probability != b.log_probability ? a.log_probability > b.log_probability
           : a.from != b.from                     ? a.from < b.from
                                                  : a.token < b.token;
  };
  const auto end = candidates.begin() + static_cast<std::ptrdiff_t>(std::min(k, candidates.size()));
  std::partial_sort(candidates.begin(), end, candidates.end(), better);
  candidates.erase(end, candidates.end());
}

/// Extends a hypothesis by each of the k likeliest tokens that may follow.
std::vector<Candidate> likeliest(const Hypothesis& h, std::span<const float> logits, const std::vector<Token>& may_follow, std::size_t k) {
  const double total = log_sum_exp(logits);
  require(!std::isnan(total), "translate: the model's logits are NaN, expected finite weights: take an earlier checkpoint");
  const auto logit = [&](Token token) { return logits[static_cast<std::size_t>(token)]; };
  std::vector<Token> best(k);
  std::partial_sort_copy(may_follow.begin(), may_follow.end(), best.begin(), best.end(),
                         [&](Token a, Token b) { return logit(a) != logit(b) ? logit(a) > logit(b) : a < b; });
  std::vector<Candidate> candidates;
  for (const Token token : best) {
    candidates.push_back({h.log_probability + static_cast<double>(logit(token)) - total, &h, token});
  }
  return candidates;
}

/// Generates the targets of one block of sources.
class Block {
 public:
  Block(const EncoderDecoder& model, index vocab, const SequenceTokens& special, const TranslateOptions& options, index most,
        std::span<const std::vector<Token>> sources, Tape& tape)
      : model_(model),
        vocab_(vocab),
        special_(special),
        options_(options),
        sources_(sources),
        tape_(tape),
        cache_(model.cache(std::ssize(sources) * options.beam, most, std::ssize(sources), longest(sources))) {
    for (Token token = 0; token < vocab; ++token) {
      if (token != special.pad && token != special.start) {
        may_follow_.push_back(token);
      }
    }
    for (std::size_t i = 0; i < sources.size(); ++i) {
      beams_.push_back({{.source = static_cast<std::int32_t>(i), .row = static_cast<index>(i), .tokens = {special.start}}});
      Pass pass{.tape = tape};
      model.add_source(pass, encode(pass, i), cache_);
      tape.reset();
    }
    arrange();
  }

  bool done() const { return rows_.empty(); }

  /// Adds one token to every hypothesis that has not ended.
  void step() {
    candidates_.resize(rows_.size());
    read_last();
    for (Beam& beam : beams_) {
      advance(beam);
    }
    arrange();
  }

  Translation best(std::size_t i) const {
    const Beam& beam = beams_[i];
    const auto worse = [&](const Hypothesis& a, const Hypothesis& b) {
      return a.ended != b.ended ? b.ended : score(a, options_.length_penalty) < score(b, options_.length_penalty);
    };
    const Hypothesis& h = *std::max_element(beam.begin(), beam.end(), worse);
    return {.tokens = {h.tokens.begin() + 1, h.tokens.end()}, .log_probability = h.log_probability, .ended = h.ended};
  }

 private:
  static index longest(std::span<const std::vector<Token>> sources) {
    const auto shorter = [](const auto& a, const auto& b) { return a.size() < b.size(); };
    return std::ssize(*std::max_element(sources.begin(), sources.end(), shorter));
  }

  /// Encodes one source in its own pass, so that a result does not depend on the others.
  EncoderDecoder::EncoderOutput encode(Pass& pass, std::size_t i) const {
    return model_.encode(pass, pass.tape.input<Token>({1, std::ssize(sources_[i])}, sources_[i]));
  }

  /// Reads the last token of all rows together.
  void read_last() {
    std::vector<Token> last;
    std::vector<std::int32_t> sources;
    for (const Hypothesis* h : rows_) {
      last.push_back(h->tokens.back());
      sources.push_back(h->source);
    }
    Pass pass{.tape = tape_};
    const Tensor tokens = tape_.input<Token>({std::ssize(last), 1}, last);
    take_logits(model_.logits(pass, model_.features(pass, tokens, sources, cache_)));
  }

  /// Computes the candidates of all rows.
  void take_logits(Tensor logits) {
    const index width = model_.config().vocab_size;
    parallel_for(logits.size() / width, Work::elements(logits.size()), [&](index i) {
      const auto row = static_cast<std::size_t>(i);
      const std::span of_row(logits.data<float>() + i * width, static_cast<std::size_t>(vocab_));
      candidates_[row] = likeliest(*rows_[row], of_row, may_follow_, static_cast<std::size_t>(options_.beam));
    });
    tape_.reset();
  }

  /// Replaces the unfinished hypotheses of one source by the likeliest of their candidates.
  void advance(Beam& beam) {
    std::vector<Candidate> candidates;
    Beam next;
    for (const Hypothesis& h : beam) {
      if (h.ended) {
        next.push_back(h);
      } else {
        const auto& of_row = candidates_[static_cast<std::size_t>(h.row)];
        candidates.insert(candidates.end(), of_row.begin(), of_row.end());
      }
    }
    keep_best(candidates, static_cast<std::size_t>(options_.beam) - next.size());
    for (const Candidate& candidate : candidates) {
      Hypothesis h = *candidate.from;
      h.log_probability = candidate.log_probability;
      if (candidate.token == special_.end) {
        h.ended = true;
      } else {
        h.tokens.push_back(candidate.token);
      }
      next.push_back(std::move(h));
    }
    beam = std::move(next);
  }

  /// Assigns a row to each unfinished hypothesis, starting at 0: the row of the hypothesis that it continues, or a copy of that row.
  void arrange() {
    std::vector<Hypothesis*> unfinished, others;
    for (Beam& beam : beams_) {
      for (Hypothesis& h : beam) {
        if (!h.ended) {
          unfinished.push_back(&h);
        }
      }
    }
    rows_.assign(unfinished.size(), nullptr);
    for (Hypothesis* h : unfinished) {
      const auto row = static_cast<std::size_t>(h->row);
      if (row < rows_.size() && rows_[row] == nullptr) {
        rows_[row] = h;
      } else {
        others.push_back(h);
      }
    }
    auto free = rows_.begin();  // no unfinished hypothesis continues a row without an owner, so it can be overwritten
    for (Hypothesis* h : others) {
      free = std::find(free, rows_.end(), nullptr);
      const index to = free - rows_.begin();
      cache_.targets.copy_sequence(to, cache_.targets, h->row);
      h->row = to;
      *free = h;
    }
  }

  const EncoderDecoder& model_;
  index vocab_;
  SequenceTokens special_;
  TranslateOptions options_;
  std::span<const std::vector<Token>> sources_;
  Tape& tape_;
  EncoderDecoder::Cache cache_;
  std::vector<Token> may_follow_;  // all tokens except the start token and padding
  std::vector<Beam> beams_;
  std::vector<Hypothesis*> rows_;                   // the hypothesis in each row of the cache
  std::vector<std::vector<Candidate>> candidates_;  // candidates of each row
};

SequenceTokens sequence_tokens_of(const Tokenizer& tokenizer) {
  const auto special = tokenizer.sequence_tokens();
  require_input(special.has_value(), "the ", tokenizer.kind(), " tokenizer has no start and end tokens, expected the word tokenizer");
  return *special;
}

}  // namespace

std::vector<Token> encode_source(const Tokenizer& tokenizer, std::string_view text, index block_size) {
  std::vector<Token> tokens = tokenizer.encode(text);
  require_input(!tokens.empty(), "the source has no words, expected one or more");
  tokens.push_back(sequence_tokens_of(tokenizer).end);
  require_input(static_cast<index>(tokens.size()) <= block_size, "the source has ", tokens.size(),
                " tokens with the end token, but the model reads at most ", block_size, " (model.block_size); shorten it");
  return tokens;
}

std::vector<Translation> translate(const EncoderDecoder& model, const Tokenizer& tokenizer, std::span<const std::vector<Token>> sources,
                                   const TranslateOptions& options, const std::function<bool()>& stop,
                                   const std::function<void(double)>& progress) {
  const SequenceTokens special = sequence_tokens_of(tokenizer);
  const index vocab = tokenizer.vocab_size();
  // Check the options.
  require_input(options.beam >= 1 && options.beam < vocab - 1, "beam is ", options.beam, ", expected 1 to ", vocab - 2,
                " (fewer than the tokens that may follow)");
  require_input(options.length_penalty >= 0 && std::isfinite(options.length_penalty), "length-penalty is ", options.length_penalty,
                ", expected 0 or more");
  require_input(options.max_new_tokens >= 0, "max-new-tokens is ", options.max_new_tokens,
                ", expected 1 or more, or 0 for the model's limit");
  const index block_size = model.config().block_size;
  const index most = options.max_new_tokens == 0 ? block_size : std::min(options.max_new_tokens, block_size);

  // Translate blocks of sources, a token of each hypothesis at a time.
  std::vector<Translation> translations;
  Tape tape(Recording::off);
  const auto block_rows = static_cast<std::size_t>(std::max<index>(1, kTogether / options.beam));
  for (std::size_t first = 0; first < sources.size(); first += block_rows) {
    const auto some = sources.subspan(first, std::min(block_rows, sources.size() - first));
    Block block(model, vocab, special, options, most, some, tape);
    for (index t = 0; t < most && !block.done(); ++t) {
      if (stop && stop()) {
        return {};
      }
      block.step();
    }
    for (std::size_t i = 0; i < some.size(); ++i) {
      translations.push_back(block.best(i));
    }
    if (progress) {
      progress(static_cast<double>(translations.size()) / static_cast<double>(sources.size()));
    }
  }
  return translations;
}

std::vector<LayerAttention> attention_of(const EncoderDecoder& model, const Tokenizer& tokenizer, const std::vector<Token>& source,
                                         const std::vector<Token>& target) {
  std::vector<LayerAttention> layers;
  const AttentionObserver observer = [&](std::string_view layer, Tensor weights) {
    const Shape& shape = weights.shape();  // (1, H, queries, keys)
    layers.push_back({.layer = std::string(layer),
                      .heads = shape[1],
                      .queries = shape[2],
                      .keys = shape[3],
                      .weights = {weights.data<float>(), weights.data<float>() + weights.size()}});
  };
  std::vector<Token> inputs{sequence_tokens_of(tokenizer).start};
  inputs.insert(inputs.end(), target.begin(), target.end());
  if (std::ssize(inputs) > model.config().block_size) {  // a target that fills the block has no room for an end token
    inputs.pop_back();
  }
  Tape tape(Recording::off);
  Pass pass{.tape = tape, .attention_observer = &observer};
  const auto encoded = model.encode(pass, tape.input<Token>({1, static_cast<index>(source.size())}, source));
  model.features(pass, tape.input<Token>({1, static_cast<index>(inputs.size())}, inputs), encoded);
  return layers;
}

}  // namespace dikkat
