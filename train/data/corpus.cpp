#include "train/data/corpus.h"

#include "autograd/base/error.h"
#include "train/data/tasks.h"

namespace dikkat {

std::vector<Passage> Corpus::passages() const {
  std::vector<Passage> all;
  all.reserve(documents.size());
  for (const Document& document : documents) {
    all.push_back({.name = document.name, .text = document.text, .offset = 0});
  }
  return all;
}

std::vector<Document> read_documents(std::span<const std::string> paths, std::span<const std::string_view> extensions) {
  const std::vector<std::string> files = find_text_files(paths, extensions);
  std::vector<Document> documents(files.size());
  run_tasks(static_cast<index>(files.size()), [&](index i) {
    const auto at = static_cast<std::size_t>(i);
    documents[at] = {.name = files[at], .text = read_text_file(files[at])};
  });
  std::erase_if(documents, [](const Document& document) { return document.text.empty(); });
  if (documents.empty()) {
    fail_input("corpus: ", files.front(), files.size() == 1 ? " is" : concat(" and all other files (", files.size(), " in all) are"),
               " empty, expected text");
  }
  return documents;
}

Corpus read_corpus(std::span<const std::string> paths) { return {.documents = read_documents(paths)}; }

index byte_count(std::span<const Passage> passages) {
  index bytes = 0;
  for (const Passage& passage : passages) {
    bytes += static_cast<index>(passage.text.size());
  }
  return bytes;
}

}  // namespace dikkat
