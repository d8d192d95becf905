#pragma once

#include <string>
#include <vector>

#include "train/chat/example_findings.h"
#include "train/data/fingerprint.h"

namespace dikkat {

/// Examples of .jsonl files, one on each line, in the order of files and lines.
template <class Example>
struct ExampleCorpus {
  std::vector<Example> examples{};
  std::vector<std::string> places{};  // each example's place: "FILE: line 7"
  std::string fingerprint{};          // the fingerprint of the lines (fingerprint.h)
  DocumentHashes documents{};         // one hash for each line
  ExampleFindings found{};            // what the notes to the user report
  index files = 0;
  index bytes = 0;  // bytes of all files
};

}  // namespace dikkat
