#include "train/assistant/facts.h"

#include <filesystem>
#include <span>

#include "autograd/base/error.h"
#include "train/assistant/assumptions.h"
#include "train/data/corpus/corpus_contents.h"
#include "train/data/corpus/corpus_files.h"
#include "train/data/corpus/corpus_statistics.h"
#include "train/data/examples/preferences.h"
#include "train/model/model_origin.h"
#include "train/model/precision.h"
#include "train/system/format_numbers.h"

namespace dikkat::assistant {
namespace {

/// Returns the bytes of the texts.
index bytes_of(std::span<const std::string> corpus) {
  index bytes = 0;
  for (const CorpusFile& file : find_corpus_files(corpus)) {
    std::error_code unknown;
    const auto size = std::filesystem::file_size(file.path, unknown);
    const bool is_compressed = file.name.ends_with(".gz") || file.name.ends_with(".zst");
    bytes += unknown ? 0 : static_cast<index>(size) * (is_compressed ? kCompression : 1);
  }
  return bytes;
}

PairFacts read_pairs(const std::string& path) {
  const std::vector paths = {path};
  const CorpusContents found = contents_of(paths, {});
  if (found.kind != DataKind::pairs && found.kind != DataKind::judgments) {
    refuse(found,
           "preferences (--pairs): \"chosen\" and \"rejected\", or \"prompt\", \"completion\" and \"label\"; --chats takes conversations");
  }
  const PreferenceCorpus pairs = read_preferences(paths);
  return {.examples = std::ssize(pairs.examples), .bytes = pairs.files.bytes, .are_pairs = pairs.are_pairs()};
}

void require_conversations(const std::string& path) {
  const CorpusContents found = contents_of(std::vector{path}, {});
  if (!is_of_conversations(found) && found.kind != DataKind::documents) {
    refuse(found, "conversations (--chats); --pairs takes preferences");
  }
}

void require_texts(const std::vector<std::string>& corpus) {
  const CorpusContents found = contents_of(corpus, {});
  if (found.kind != DataKind::text && found.kind != DataKind::documents) {
    refuse(found, "texts (--corpus); --chats takes conversations, and --pairs preferences");
  }
}

Precision precision_of_machine() {
  Config config;
  config.train.precision = Precision::auto_;
  settle_precision(config);
  return config.train.precision;
}

}  // namespace

Facts read_facts(const Wishes& wishes, const ShippedData& shipped) {
  Facts facts{.precision = precision_of_machine()};
  // Each option must hold data of its kind, which is known from the beginning of a file.
  if (!wishes.pairs.empty()) {
    facts.pairs = read_pairs(wishes.pairs);
  }
  if (!wishes.chats.empty()) {
    require_conversations(wishes.chats);
  }
  if (!wishes.corpus.empty()) {
    require_texts(wishes.corpus);
  }
  // Read what the assistant begins with, and the chats.
  if (wishes.from.empty()) {
    facts.repeats = share_of_repeats(open_corpus(wishes.corpus));
    facts.bytes = static_cast<index>((1 - facts.repeats) * static_cast<double>(bytes_of(wishes.corpus)));
    require_input(facts.bytes >= kFewestBytes, "--corpus has ", grouped_digits(facts.bytes), " bytes, expected at least ",
                  grouped_digits(kFewestBytes), " (some megabytes make a good model): add texts, or begin with a trained model (--from)");
  } else {
    facts.model = ModelOrigin::open(wishes.from).config().model;
  }
  if (wishes.has_chats()) {
    facts.chats = read_chats(wishes, shipped);
  }
  return facts;
}

}  // namespace dikkat::assistant
