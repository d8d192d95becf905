#include "train/sample/translate.h"

#include <algorithm>
#include <cmath>

#include "autograd/ops/basic.h"

namespace dikkat {
namespace {

constexpr index kBlockRows = 64;  // rows of a block: sources times beam width

/// A target that is being generated.
struct Hypothesis {
  std::vector<Token> tokens;  // start token first
  double log_probability = 0;
  bool ended = false;
};

/// The search for one source's target.
struct Search {
  index source = 0;  // row of the memory
  std::vector<Hypothesis> beam;

  bool done() const {
    return std::all_of(beam.begin(), beam.end(), [](const Hypothesis& h) { return h.ended; });
  }
};

/// A copy of the encoder's output for a block of sources, which outlives the tape's reset.
struct Encoded {
  index length = 0;  // S
  index width = 0;   // C
  std::vector<float> memory{};
  std::vector<std::int32_t> lengths{};
};

Encoded encode(const EncoderDecoder& model, Token pad, std::span<const std::vector<Token>> sources, Tape& tape) {
  Encoded out{.width = model.config().n_embd};
  for (const auto& source : sources) {
    out.length = std::max(out.length, static_cast<index>(source.size()));
    out.lengths.push_back(static_cast<std::int32_t>(source.size()));
  }
  std::vector<Token> tokens;
  for (const auto& source : sources) {
    tokens.insert(tokens.end(), source.begin(), source.end());
    tokens.resize(tokens.size() + static_cast<std::size_t>(out.length) - source.size(), pad);
  }
  const auto rows = static_cast<index>(sources.size());
  Pass pass{.tape = tape};
  const auto memory = model.encode(pass, tape.input<Token>({rows, out.length}, tokens), tape.input<std::int32_t>({rows}, out.lengths));
  out.memory.assign(memory.x.data<float>(), memory.x.data<float>() + memory.x.size());
  tape.reset();
  return out;
}

double score(const Hypothesis& h, double alpha) {
  const auto length = static_cast<double>(h.tokens.size() - 1 + (h.ended ? 1 : 0));
  return h.log_probability / std::pow((5 + length) / 6, alpha);
}

/// A candidate: hypothesis `from`, extended by `token`.
struct Candidate {
  double log_probability;
  std::size_t from;
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

/// Adds a candidate for each token that may follow: all but the start token and padding.
void add_candidates(const float* logits, index vocab, const SequenceTokens& special, const Hypothesis& h, std::size_t from,
                    std::vector<Candidate>& candidates) {
  const double highest = *std::max_element(logits, logits + vocab);
  double total = 0;
  for (index v = 0; v < vocab; ++v) {
    total += std::exp(static_cast<double>(logits[v]) - highest);
  }
  const double log_total = highest + std::log(total);
  for (index v = 0; v < vocab; ++v) {
    if (v != special.pad && v != special.start) {
      candidates.push_back({h.log_probability + static_cast<double>(logits[v]) - log_total, from, static_cast<Token>(v)});
    }
  }
}

/// Generates the targets of one block of sources.
class Block {
 public:
  Block(const EncoderDecoder& model, index vocab, const SequenceTokens& special, const TranslateOptions& options,
        std::span<const std::vector<Token>> sources, Tape& tape)
      : model_(model),
        vocab_(vocab),
        special_(special),
        options_(options),
        tape_(tape),
        encoded_(encode(model, special.pad, sources, tape)) {
    for (std::size_t i = 0; i < sources.size(); ++i) {
      searches_.push_back({.source = static_cast<index>(i), .beam = {{.tokens = {special.start}}}});
    }
  }

  bool done() const {
    return std::all_of(searches_.begin(), searches_.end(), [](const Search& search) { return search.done(); });
  }

  /// Adds one token to every hypothesis that has not ended.
  void step() {
    std::vector<Token> inputs;
    std::vector<float> memory;
    std::vector<std::int32_t> lengths;
    const auto memory_size = static_cast<std::size_t>(encoded_.length * encoded_.width);
    index time = 0;
    for (const Search& search : searches_) {
      for (const Hypothesis& h : search.beam) {
        if (!h.ended) {
          time = static_cast<index>(h.tokens.size());
          inputs.insert(inputs.end(), h.tokens.begin(), h.tokens.end());
          const auto at = encoded_.memory.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(search.source) * memory_size);
          memory.insert(memory.end(), at, at + static_cast<std::ptrdiff_t>(memory_size));
          lengths.push_back(encoded_.lengths[static_cast<std::size_t>(search.source)]);
        }
      }
    }
    const auto rows = static_cast<index>(lengths.size());
    Pass pass{.tape = tape_};
    const EncoderDecoder::Memory seen{tape_.input<float>({rows, encoded_.length, encoded_.width}, memory),
                                      tape_.input<std::int32_t>({rows}, lengths)};
    const Tensor features = model_.features(pass, tape_.input<Token>({rows, time}, inputs), seen);
    const Tensor logits = model_.logits(pass, slice(features, 1, time - 1, 1));  // (rows, 1, V)
    const float* row = logits.data<float>();
    for (Search& search : searches_) {
      row = advance(search, row);
    }
    tape_.reset();
  }

  Translation best(std::size_t i) const {
    const auto& beam = searches_[i].beam;
    const auto worse = [&](const Hypothesis& a, const Hypothesis& b) {
      return a.ended != b.ended ? b.ended : score(a, options_.length_penalty) < score(b, options_.length_penalty);
    };
    const Hypothesis& h = *std::max_element(beam.begin(), beam.end(), worse);
    return {.tokens = {h.tokens.begin() + 1, h.tokens.end()}, .log_probability = h.log_probability, .ended = h.ended};
  }

 private:
  /// Extends the hypotheses of one search by its rows of logits. Returns the first row of the next search.
  const float* advance(Search& search, const float* row) {
    std::vector<Candidate> candidates;
    std::vector<Hypothesis> next;
    for (std::size_t i = 0; i < search.beam.size(); ++i) {
      if (search.beam[i].ended) {
        next.push_back(search.beam[i]);
      } else {
        add_candidates(row, vocab_, special_, search.beam[i], i, candidates);
        row += model_.config().vocab_size;
      }
    }
    keep_best(candidates, static_cast<std::size_t>(options_.beam) - next.size());
    for (const Candidate& candidate : candidates) {
      Hypothesis h = search.beam[candidate.from];
      h.log_probability = candidate.log_probability;
      if (candidate.token == special_.end) {
        h.ended = true;
      } else {
        h.tokens.push_back(candidate.token);
      }
      next.push_back(std::move(h));
    }
    search.beam = std::move(next);
    return row;
  }

  const EncoderDecoder& model_;
  index vocab_;
  SequenceTokens special_;
  TranslateOptions options_;
  Tape& tape_;
  Encoded encoded_;
  std::vector<Search> searches_;
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
  require_input(options.beam >= 1 && options.beam < vocab - 1, "beam is ", options.beam, ", expected 1 to ", vocab - 2,
                " (fewer than the tokens that may follow)");
  require_input(options.length_penalty >= 0 && std::isfinite(options.length_penalty), "length-penalty is ", options.length_penalty,
                ", expected 0 or more");
  require_input(options.max_new_tokens >= 0, "max-new-tokens is ", options.max_new_tokens,
                ", expected 1 or more, or 0 for the model's limit");
  const index block_size = model.config().block_size;
  const index most = options.max_new_tokens == 0 ? block_size : std::min(options.max_new_tokens, block_size);

  std::vector<Translation> translations;
  Tape tape(Recording::off);
  const auto block_rows = static_cast<std::size_t>(std::max<index>(1, kBlockRows / options.beam));
  for (std::size_t first = 0; first < sources.size(); first += block_rows) {
    const auto some = sources.subspan(first, std::min(block_rows, sources.size() - first));
    Block block(model, vocab, special, options, some, tape);
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
  Tape tape(Recording::off);
  Pass pass{.tape = tape, .attention_observer = &observer};
  const auto memory = model.encode(pass, tape.input<Token>({1, static_cast<index>(source.size())}, source));
  model.features(pass, tape.input<Token>({1, static_cast<index>(inputs.size())}, inputs), memory);
  return layers;
}

}  // namespace dikkat
