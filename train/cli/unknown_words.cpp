#include "train/cli/unknown_words.h"

#include <algorithm>
#include <set>
#include <sstream>

#include "train/cli/terminal/streams.h"
#include "train/cli/terminal/text.h"
#include "train/text/word_tokenizer.h"

namespace dikkat {
namespace {

/// Returns the words of a text that are not in the tokenizer's vocabulary, each once.
std::string unknown_words(const Tokenizer& tokenizer, const std::string& text) {
  std::string list;
  std::set<std::string> listed;
  std::istringstream words(text);
  if (tokenizer.kind() != WordTokenizer::kKind) {
    return list;
  }
  for (std::string word; words >> word;) {
    const std::vector<Token> tokens = tokenizer.encode(word);
    if (std::find(tokens.begin(), tokens.end(), WordTokenizer::kUnknown) != tokens.end() && listed.insert(word).second) {
      list += (list.empty() ? "" : " ") + word;
    }
  }
  return list;
}

}  // namespace

void warn_of_unknown_words(const std::string& place, const Tokenizer& tokenizer, const std::string& text) {
  if (const std::string unknown = unknown_words(tokenizer, text); !unknown.empty()) {
    warn(for_terminal(concat(place, "the model does not know these words and reads each as <unk>: ", unknown)));
  }
}

}  // namespace dikkat
