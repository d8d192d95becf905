#include "train/data/corpus/opened_source.h"

#include "autograd/base/error.h"
#include "train/system/sha256.h"

namespace dikkat {

void OpenedSource::set_facts(const SourceFacts& texts, const SourceFacts& held_out) {
  facts_.files = texts.files + held_out.files;
  facts_.documents = texts.documents + held_out.documents;
  facts_.bytes = texts.bytes + held_out.bytes;
  facts_.fingerprint = has_validation() ? to_hex(sha256(texts.fingerprint + held_out.fingerprint)) : texts.fingerprint;
}

void require_known(const Config& config, const KnownCorpus* known, const std::string& fingerprint) {
  require_input(known == nullptr || known->fingerprint.empty() || fingerprint == known->fingerprint,
                "the corpus has changed since the run began: its sha256 is ", fingerprint, ", the checkpoint's is ",
                known == nullptr ? "" : known->fingerprint, "; restore the original text (", config.data.training_paths().front(),
                "), begin a new run with `dikkat train`, or evaluate another text with `dikkat eval --corpus`");
}

TokenizerOptions tokenizer_options(const TokenizerConfig& config) {
  return {.kind = config.kind, .vocab_size = config.vocab_size, .splitter = config.splitter, .min_count = config.min_count};
}

}  // namespace dikkat
