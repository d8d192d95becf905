#include "train/data/corpus/text_source.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "autograd/base/error.h"
#include "train/data/corpus/corpus.h"
#include "train/data/corpus/split.h"
#include "train/data/samples/token_samples.h"
#include "train/data/tokens/token_cache.h"
#include "train/data/tokens/tokenize.h"
#include "train/system/format_numbers.h"
#include "train/system/out_of_memory.h"
#include "train/text/tokenizer_kinds.h"

namespace dikkat {
namespace {

constexpr index kWorthKeeping = index{8} << 20;  // bytes of text; less text is tokenized again each time, which is fast

/// Returns how to read texts with these settings. `tokenizer` is the known tokenizer, or nullptr. A run that starts from a trained model
/// adapts it to texts, not to the brackets and commas of data in another form.
CorpusOptions corpus_options(const Config& config, const Tokenizer* tokenizer, bool is_known) {
  return {.text_field = config.data.text_field,
          .replace_invalid = config.data.invalid_utf8 == InvalidUtf8::replace,
          .any_bytes = tokenizer_kind(tokenizer != nullptr ? tokenizer->kind() : config.tokenizer.kind, "tokenizer.kind").any_bytes,
          .refuses_json = !config.train.init_from.empty(),
          .is_known = is_known};
}

void add_note(std::vector<std::string>& notes, std::string note) {
  if (!note.empty()) {
    notes.push_back(std::move(note));
  }
}

/// Removes files from the default folder until it has at most `limit` bytes, and adds a note for the user. `file` was just written there
/// and is in use.
void note_kept(const std::string& folder, const std::string& file, index limit, std::vector<std::string>& notes) {
  const auto bytes_of = [](const std::vector<KeptTokens>& all) {
    return std::accumulate(all.begin(), all.end(), 0.0,
                           [](double sum, const KeptTokens& one) { return sum + static_cast<double>(one.bytes); });
  };
  const auto megabytes = [](double bytes) { return grouped_digits(static_cast<index>(std::ceil(bytes * 1e-6))) + " MB"; };
  const auto removed = remove_kept_tokens(folder, limit);
  notes.push_back(concat("the tokens of this text are kept in ", file, " for later runs; the cache has ",
                         megabytes(bytes_of(kept_tokens(folder))), " of at most ", megabytes(static_cast<double>(limit)),
                         " (DIKKAT_CACHE_GB)",
                         removed.empty() ? "" : concat("; ", megabytes(bytes_of(removed)), " of least recently used files were removed"),
                         "; see `dikkat cache`"));
}

/// Returns the tokens of a corpus that has been surveyed: from a token file, or tokenized now.
TokenizedCorpus tokens_of(const Config& config, bool is_ours, const Corpus& corpus, const CorpusFacts& facts, const Tokenizer& tokenizer,
                          const FileSplit& split, const LoadingProgress& progress, std::vector<std::string>& notes) {
  const auto report = [&](index bytes) {
    if (progress) {
      progress({.stage = LoadingReport::Stage::tokenizing,
                .bytes = bytes,
                .share = static_cast<double>(bytes) / static_cast<double>(facts.bytes)});
    }
  };
  return naming_memory("tokenizing the corpus", [&] {
    std::string folder = config.data.cache;
    if (!is_ours && folder != "off" && folder != "auto") {
      if (auto kept = find_tokens(folder, facts.fingerprint, tokenizer, split)) {
        return std::move(*kept);
      }
      folder = "auto";
    }
    const bool is_default = folder == "auto";
    const index limit = is_default ? token_folder_limit() : 0;
    if (is_default) {
      folder = facts.bytes < kWorthKeeping ? "off" : default_token_folder().value_or("off");
    }
    TokenizedCorpus tokens = folder == "off" ? tokenize(corpus, tokenizer, split, report, facts.fingerprint)
                                             : tokenize_once(folder, facts.fingerprint, corpus, tokenizer, split, report);
    if (is_default && !tokens.file.empty()) {
      note_kept(folder, tokens.file, limit, notes);
    }
    return tokens;
  });
}

std::function<void(index)> reporting_reading(const LoadingProgress& progress) {
  return [&progress](index bytes) {
    if (progress) {
      progress({.stage = LoadingReport::Stage::reading, .bytes = bytes});
    }
  };
}

class TextSource : public OpenedSource {
 public:
  TextSource(const Config& config, const SourceReading& reading) : OpenedSource(config), is_ours_(reading.is_ours) {
    const CorpusOptions options = corpus_options(config, reading.tokenizer, reading.is_known);
    corpus_ = open_corpus(config.data.corpus, options);
    held_out_ = has_validation() ? open_corpus(config.data.validation, options) : Corpus();
    add_note(reading.notes, describe(corpus_.skipped));
    add_note(reading.notes, describe(held_out_.skipped));
    const auto read = [&](const Corpus& some, DocumentHashes& documents) {
      return naming_memory("reading the corpus",
                           [&] { return survey(some, reading.maker, reporting_reading(reading.progress), wanted(documents)); });
    };
    of_corpus_ = read(corpus_, facts_.documents_of_training);
    of_held_out_ = has_validation() ? read(held_out_, facts_.documents_of_validation) : CorpusFacts();
    for (const CorpusFacts* facts : {&of_corpus_, &of_held_out_}) {
      reading.notes.insert(reading.notes.end(), facts->notes.begin(), facts->notes.end());
    }
    set_facts(facts_of(corpus_, of_corpus_), facts_of(held_out_, of_held_out_));
  }

  SplitText tokens(const Tokenizer& tokenizer, const LoadingProgress& progress, std::vector<std::string>& notes) override {
    FileSplit split;
    if (!has_validation()) {
      split = split_of(config_.data, of_corpus_.bytes_of_files, kLeastTextShare);
      add_note(notes, note_on_split(names_of(corpus_), of_corpus_.bytes_of_files, split));
    }
    TokenizedCorpus all = tokens_of(config_, is_ours_, corpus_, of_corpus_, tokenizer, split, progress, notes);
    if (has_validation()) {
      TokenizedCorpus others = tokens_of(config_, is_ours_, held_out_, of_held_out_, tokenizer, {}, progress, notes);
      all.parts[1] = std::move(others.parts[0]);
      all.bytes[1] = others.bytes[0];
    }
    return split_of_tokens(config_, tokenizer, evaluation_of_tokens(config_, tokenizer, std::move(all.parts[0]), all.bytes[0]),
                           evaluation_of_tokens(config_, tokenizer, std::move(all.parts[1]), all.bytes[1]));
  }

 private:
  static std::vector<std::string> names_of(const Corpus& corpus) {
    std::vector<std::string> names;
    std::ranges::transform(corpus.files, std::back_inserter(names), &CorpusFile::name);
    return names;
  }

  static SourceFacts facts_of(const Corpus& corpus, const CorpusFacts& facts) {
    return {.files = static_cast<index>(corpus.files.size()),
            .documents = facts.documents,
            .bytes = facts.bytes,
            .fingerprint = facts.fingerprint};
  }

  bool is_ours_;
  Corpus corpus_, held_out_;
  CorpusFacts of_corpus_, of_held_out_;
};

}  // namespace

std::unique_ptr<OpenedSource> open_text(const Config& config, const SourceReading& reading) {
  return std::make_unique<TextSource>(config, reading);
}

EvaluationText evaluation_of_text(const Config& config, const Tokenizer& tokenizer, const std::vector<std::string>& paths,
                                  const LoadingProgress& progress) {
  CorpusOptions options = corpus_options(config, &tokenizer, false);
  options.refuses_json = false;  // evaluations measure any text
  const Corpus corpus = open_corpus(paths, options);
  DocumentHashes documents;
  const CorpusFacts facts = survey(corpus, nullptr, reporting_reading(progress), &documents);
  std::vector<std::string> notes;
  add_note(notes, describe(corpus.skipped));
  notes.insert(notes.end(), facts.notes.begin(), facts.notes.end());
  TokenizedCorpus tokens = tokens_of(config, false, corpus, facts, tokenizer, {}, progress, notes);
  EvaluationText text = evaluation_of_tokens(config, tokenizer, std::move(tokens.parts[0]), tokens.bytes[0]);
  text.notes = std::move(notes);
  text.documents = std::move(documents);
  return text;
}

}  // namespace dikkat
