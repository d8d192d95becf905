#pragma once

#include <string>
#include <vector>

#include "train/chat/example_findings.h"
#include "train/data/corpus/corpus_files.h"
#include "train/data/corpus/fingerprint.h"

namespace dikkat {

/// Examples of files with JSON objects, in the order of files and objects.
template <class Example>
struct ExampleCorpus {
  std::vector<Example> examples{};
  std::vector<std::string> places{};  // each example's place: "FILE: line 7", "FILE: object 7"
  std::string fingerprint{};          // the fingerprint of the objects' texts (fingerprint.h)
  DocumentHashes documents{};         // one hash for each object
  ExampleFindings found{};            // findings for the notes to the user
  ObjectFiles files{};
};

}  // namespace dikkat
