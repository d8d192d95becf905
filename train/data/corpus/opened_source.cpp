#include "train/data/corpus/opened_source.h"

#include "train/system/sha256.h"

namespace dikkat {

void OpenedSource::set_facts(const SourceFacts& texts, const SourceFacts& held_out) {
  facts_.files = texts.files + held_out.files;
  facts_.documents = texts.documents + held_out.documents;
  facts_.bytes = texts.bytes + held_out.bytes;
  facts_.fingerprint = has_validation() ? to_hex(sha256(texts.fingerprint + held_out.fingerprint)) : texts.fingerprint;
}

}  // namespace dikkat
