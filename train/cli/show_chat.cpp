#include "train/cli/show_chat.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/cli/terminal/color.h"
#include "train/cli/terminal/text.h"
#include "train/data/corpus/corpus_contents.h"
#include "train/data/examples/conversations.h"
#include "train/data/examples/preferences.h"
#include "train/system/format_numbers.h"

namespace dikkat {
namespace {

struct ShownExample {
  std::string place;
  ChatTokens tokens;
};

struct Shown {
  std::vector<ShownExample> first{};
  std::vector<std::string> notes{};
  index examples = 0, files = 0, tokens = 0, longest = 0, scored = 0;
};

/// Adds the tokens of an example, or of one side of it.
void add(Shown& shown, index example, const ChatToShow& options, const std::string& place, ChatTokens text) {
  const auto count = static_cast<index>(text.tokens.size());
  shown.tokens += count;
  shown.longest = std::max(shown.longest, count);
  shown.scored += count == 0 ? 0 : std::count(text.scored.begin() + 1, text.scored.end(), true);
  if (example < options.examples) {
    shown.first.push_back({place, std::move(text)});
  }
}

/// Calls f(i) for each example of a corpus, and adds the example's place to its errors.
template <class Corpus, class F>
Shown read(const Corpus& corpus, F&& f) {
  Shown shown{.notes = corpus.found.notes(), .examples = std::ssize(corpus.examples), .files = std::ssize(corpus.files.names)};
  for (std::size_t i = 0; i < corpus.examples.size(); ++i) {
    try {
      f(shown, i);
    } catch (const InputError& error) {
      fail_input("corpus: ", corpus.places[i], ": ", error.what());
    }
  }
  return shown;
}

Shown read_pairs_of_answers(const ChatToShow& options, const Tokenizer& tokenizer) {
  const PreferenceCorpus corpus = read_preferences(options.paths, options.names);
  return read(corpus, [&](Shown& shown, std::size_t i) {
    const Preference& example = corpus.examples[i];
    const auto at = static_cast<index>(i);
    auto [first, second] = encode_answers(tokenizer, options.form, example.chosen, example.is_pair() ? example.rejected : example.chosen);
    if (example.is_pair()) {
      add(shown, at, options, corpus.places[i] + ", chosen", std::move(first));
      add(shown, at, options, corpus.places[i] + ", rejected", std::move(second));
    } else {
      add(shown, at, options, corpus.places[i] + (*example.good ? ", good" : ", bad"), std::move(first));
    }
  });
}

Shown read_examples(const ChatToShow& options, const Tokenizer& tokenizer) {
  const CorpusContents found = contents_of(options.paths, options.names);
  if (found.kind == DataKind::pairs || found.kind == DataKind::judgments) {
    return read_pairs_of_answers(options, tokenizer);
  }
  if (found.kind != DataKind::conversations) {
    refuse(found,
           "conversations or preferences for --chat: objects with \"messages\", \"conversations\", \"prompt\" and \"completion\", "
           "\"instruction\" and \"output\", or \"chosen\" and \"rejected\"");
  }
  const ConversationCorpus corpus = read_conversations(options.paths, options.names);
  return read(corpus, [&](Shown& shown, std::size_t i) {
    for (ChatTokens& text : encode(tokenizer, options.form, corpus.examples[i], options.scored)) {
      add(shown, static_cast<index>(i), options, corpus.places[i], std::move(text));
    }
  });
}

/// Writes line breaks as \n, and those of Windows as \r\n.
std::string for_people(const std::string& text) {
  std::string shown;
  for (const char c : text) {
    shown += c == '\n' ? std::string("\\n") : c == '\r' ? std::string("\\r") : std::string(1, c);
  }
  return for_terminal(shown);
}

std::string text_of(const ChatTokens& example, const Tokenizer& tokenizer) {
  const bool has_color = colored("x", Color::good) != "x";
  std::string text;
  for (std::size_t i = 0; i < example.tokens.size(); ++i) {
    const std::string token = tokenizer.decode_inside(std::span(&example.tokens[i], 1));
    const bool is_scored = i > 0 && example.scored[i];
    if (is_scored) {
      append_to(text, has_color ? colored(for_people(token), Color::good) : concat('[', for_people(token), ']'));
    } else {
      append_to(text, for_people(token));
    }
    append_to(text, token.find('\n') != std::string::npos ? "\n" : is_scored && !has_color ? "" : "|");
  }
  return text.ends_with('\n') ? text : text + '\n';
}

}  // namespace

std::string show_chat(const ChatToShow& options, const Tokenizer& tokenizer) {
  const Shown shown = read_examples(options, tokenizer);
  std::string text;
  for (const ShownExample& example : shown.first) {
    append_to(text, concat(example.place, ", ", example.tokens.tokens.size(), " tokens:\n", text_of(example.tokens, tokenizer), '\n'));
  }
  append_to(text, concat("examples  ", grouped_digits(shown.examples), " in ", shown.files, shown.files == 1 ? " file\n" : " files\n",
                         "template  ", name_of(options.form.name()), "\ntokens    ", grouped_digits(shown.tokens),
                         "; the longest example has ", grouped_digits(shown.longest), "\nscored    ", grouped_digits(shown.scored),
                         " tokens (", name_of(options.scored), ")\n"));
  for (const std::string& note : shown.notes) {
    append_to(text, concat("note      ", for_terminal(note), '\n'));
  }
  return text;
}

nlohmann::ordered_json chat_to_json(const ChatToShow& options, const Tokenizer& tokenizer) {
  const Shown shown = read_examples(options, tokenizer);
  nlohmann::ordered_json examples = nlohmann::ordered_json::array();
  for (const ShownExample& example : shown.first) {
    examples.push_back({{"place", example.place},
                        {"text", tokenizer.decode(example.tokens.tokens)},
                        {"tokens", example.tokens.tokens},
                        {"scored", example.tokens.scored}});
  }
  return {{"template", name_of(options.form.name())},
          {"count", shown.examples},
          {"tokens", shown.tokens},
          {"longest", shown.longest},
          {"scored", shown.scored},
          {"notes", shown.notes},
          {"examples", examples}};
}

}  // namespace dikkat
