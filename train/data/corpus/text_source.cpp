#include "train/data/corpus/text_source.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "autograd/base/error.h"
#include "train/data/corpus/corpus.h"
#include "train/data/corpus/split.h"
#include "train/data/corpus/text_dataset.h"
#include "train/data/tokens/token_cache.h"
#include "train/data/tokens/tokenize.h"
#include "train/system/format_numbers.h"
#include "train/system/out_of_memory.h"
#include "train/text/tokenizer_kinds.h"

namespace dikkat {
namespace {

constexpr index kWorthKeeping = index{8} << 20;  // bytes of text; less text is tokenized again each time, which is fast

/// Returns how to read texts with these settings, for a tokenizer of this kind.
CorpusOptions corpus_options(const DataConfig& config, std::string_view tokenizer_kind, bool refuses_json, bool is_known) {
  return {.names = config.names(),
          .replace_invalid = config.invalid_utf8 == InvalidUtf8::replace,
          .any_bytes = dikkat::tokenizer_kind(tokenizer_kind, "tokenizer.kind").any_bytes,
          .refuses_json = refuses_json,
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
TokenizedCorpus tokens_of(const DataConfig& config, bool is_ours, const Corpus& corpus, const CorpusFacts& facts,
                          const Tokenizer& tokenizer, const FileSplit& split, const LoadingProgress& progress,
                          std::vector<std::string>& notes) {
  const auto report = [&](index bytes) {
    if (progress) {
      progress({.stage = LoadingReport::Stage::tokenizing,
                .bytes = bytes,
                .share = static_cast<double>(bytes) / static_cast<double>(facts.bytes)});
    }
  };
  return naming_memory("tokenizing the corpus", [&] {
    std::string folder = config.cache;
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
  TextSource(const DataConfig& config, const TextRules& rules, const SourceReading& reading)
      : OpenedSource(config), is_ours_(reading.is_ours), seed_(reading.seed) {
    const CorpusOptions options =
        corpus_options(config, reading.tokenizer != nullptr ? reading.tokenizer->kind() : std::string_view(rules.tokenizer_kind),
                       rules.refuses_json, reading.is_known);
    corpus_ = open_corpus(config.corpus, options);
    held_out_ = has_validation() ? open_corpus(config.validation, options) : Corpus();
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

  SourceData tokens(const Tokenizer& tokenizer, const LoadingProgress& progress, std::vector<std::string>& notes) override {
    FileSplit split;
    if (!has_validation()) {
      split = split_of(config_, of_corpus_.bytes_of_files, kLeastTextShare);
      add_note(notes, note_on_split(names_of(corpus_), of_corpus_.bytes_of_files, split));
    }
    TokenizedCorpus all = tokens_of(config_, is_ours_, corpus_, of_corpus_, tokenizer, split, progress, notes);
    if (has_validation()) {
      TokenizedCorpus others = tokens_of(config_, is_ours_, held_out_, of_held_out_, tokenizer, {}, progress, notes);
      all.parts[1] = std::move(others.parts[0]);
      all.bytes[1] = others.bytes[0];
    }
    const auto dataset = [&](std::size_t part) {
      return std::make_unique<TextDataset>(config_, seed_, tokenizer, std::move(all.parts[part]), all.bytes[part]);
    };
    return source_of_texts(dataset(0), dataset(1));
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
  std::uint64_t seed_;
  Corpus corpus_, held_out_;
  CorpusFacts of_corpus_, of_held_out_;
};

}  // namespace

std::unique_ptr<OpenedSource> open_text(const DataConfig& config, const TextRules& rules, const SourceReading& reading) {
  return std::make_unique<TextSource>(config, rules, reading);
}

LoadedText evaluation_of_text(const DataConfig& config, const Tokenizer& tokenizer, const std::vector<std::string>& paths,
                              const LoadingProgress& progress) {
  const CorpusOptions options = corpus_options(config, tokenizer.kind(), false, false);  // evaluations measure any text
  const Corpus corpus = open_corpus(paths, options);
  DocumentHashes documents;
  const CorpusFacts facts = survey(corpus, nullptr, reporting_reading(progress), &documents);
  std::vector<std::string> notes;
  add_note(notes, describe(corpus.skipped));
  notes.insert(notes.end(), facts.notes.begin(), facts.notes.end());
  TokenizedCorpus tokens = tokens_of(config, false, corpus, facts, tokenizer, {}, progress, notes);
  return {.data = std::make_unique<TextDataset>(config, 0, tokenizer, std::move(tokens.parts[0]), tokens.bytes[0]),
          .notes = std::move(notes),
          .documents = std::move(documents)};
}

}  // namespace dikkat
