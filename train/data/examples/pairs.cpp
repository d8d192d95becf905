#include "train/data/examples/pairs.h"

#include <algorithm>
#include <numeric>

#include "autograd/base/error.h"
#include "train/data/corpus/corpus_files.h"
#include "train/data/corpus/fingerprint.h"
#include "train/data/corpus/split.h"
#include "train/system/pipeline.h"
#include "train/text/utf8.h"

namespace dikkat {
namespace {

constexpr std::string_view kPairExtensions[] = {".tsv"};
constexpr std::string_view kExpected = ", expected SOURCE<TAB>TARGET";

/// Returns whether all characters are white space. The text must be valid UTF-8.
bool is_blank(std::string_view text) {
  for (index at = 0; at < static_cast<index>(text.size());) {
    const utf8::Character character = utf8::decode(text, at);
    if (!utf8::is_white_space(character.code_point)) {
      return false;
    }
    at += character.bytes;
  }
  return true;
}

/// Returns the pair, which already has its name, line and offset, with the source and the target of `line`.
Pair parse(Pair pair, std::string_view line) {
  const auto require_text = [&](std::string_view text, const char* name) {
    require_input(!is_blank(text), pair, ": the ", name, text.empty() ? " is empty" : " is blank", kExpected);
  };
  require_input(!line.empty(), pair, ": the line is empty", kExpected);
  if (const auto at = utf8::first_invalid(line)) {
    fail_input(pair, ": byte ", pair.offset + *at, " of the file: ", utf8::refusal(line, *at));
  }
  const auto tabs = std::count(line.begin(), line.end(), '\t');
  require_input(tabs > 0, pair, ": no TAB", kExpected);
  require_input(tabs == 1, pair, ": ", tabs, " TABs", kExpected);
  const std::size_t tab = line.find('\t');
  pair.source = line.substr(0, tab);
  pair.target = line.substr(tab + 1);
  require_text(pair.source, "source");
  require_text(pair.target, "target");
  return pair;
}

std::vector<Pair> pairs_of(const Document& document) {
  const std::string_view text = document.text;
  std::vector<Pair> pairs;
  for (std::size_t at = text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
    }
    const Pair place{.name = document.name, .line = static_cast<index>(pairs.size()) + 1, .offset = static_cast<index>(at)};
    pairs.push_back(parse(place, line));
    at = end + 1;
  }
  return pairs;
}

/// Reads whole files into memory; skips empty ones.
std::vector<Document> read_documents(std::span<const std::string> paths) {
  const std::vector<CorpusFile> files = find_corpus_files(paths, kPairExtensions);
  std::vector<Document> documents(files.size());
  run_tasks(static_cast<index>(files.size()), [&](index i) {
    const auto at = static_cast<std::size_t>(i);
    documents[at] = {.name = files[at].name, .text = read_text_file(files[at])};
  });
  std::erase_if(documents, [](const Document& document) { return document.text.empty(); });
  require_input(!documents.empty(), "corpus: ", files.front().name,
                files.size() == 1 ? " is" : concat(" and all other files (", files.size(), " in all) are"), " empty, expected text");
  return documents;
}

}  // namespace

void append_to(std::string& out, const Pair& pair) { out += concat(pair.name, ": line ", pair.line); }

PairCorpus read_pairs(std::span<const std::string> paths) {
  PairCorpus corpus;
  corpus.documents = read_documents(paths);
  std::vector<std::vector<Pair>> of_document(corpus.documents.size());
  run_tasks(static_cast<index>(of_document.size()), [&](index i) {
    const auto at = static_cast<std::size_t>(i);
    of_document[at] = pairs_of(corpus.documents[at]);
  });
  for (const std::vector<Pair>& pairs : of_document) {
    corpus.pairs.insert(corpus.pairs.end(), pairs.begin(), pairs.end());
  }
  return corpus;
}

std::string fingerprint(const PairCorpus& corpus) {
  Fingerprint all;
  for (const Document& document : corpus.documents) {
    all.add(document.text);
    all.end_document();
  }
  return all.finish();
}

PairSplit split_pairs(PairCorpus& corpus, const DataConfig& config, std::vector<std::string>& notes) {
  std::vector<std::string> names;
  std::vector<index> sizes;
  for (const Document& document : corpus.documents) {
    names.push_back(document.name);
    const auto first = corpus.pairs.begin() + std::accumulate(sizes.begin(), sizes.end(), index{0});
    sizes.push_back(std::find_if(first, corpus.pairs.end(), [&](const Pair& pair) { return pair.name != document.name; }) - first);
  }
  const FileSplit split = split_of(config, sizes, 1);
  put_validation_last(corpus.pairs, sizes, split);
  if (std::string note = note_on_split(names, sizes, split); !note.empty()) {
    notes.push_back(std::move(note));
  }
  const std::span<const Pair> all = corpus.pairs;
  const auto training = static_cast<std::size_t>(std::accumulate(split.begin(), split.end(), index{0}));
  return {.train = all.first(training), .validation = all.subspan(training)};
}

}  // namespace dikkat
