#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "autograd/base/error.h"
#include "autograd/base/index.h"
#include "train/text/utf8.h"

namespace dikkat {

/// A set of texts, described by its parts. All texts are valid UTF-8. A value is immutable and cheap to copy; copies share their parts.
///
///   const Grammar call = sequence({literal("<tool_call>\n{\"name\": \"f\", \"arguments\": "), json_schema(parameters),
///                                  literal("}\n</tool_call>")});
///   const Grammar answer = sequence({text_without("<tool_call>"), repeat(call, 0, 4)});
///
/// TokenGrammar (token_grammar.h) restricts a sample to the texts of a grammar. Other parts: regex() (regex.h), json_schema()
/// (json_schema.h), json_value() and json_object() (json_grammar.h).
class Grammar {
 public:
  struct Node;

  explicit Grammar(std::shared_ptr<const Node> node) : node_(std::move(node)) {}

  const Node& node() const { return *node_; }

 private:
  std::shared_ptr<const Node> node_;
};

/// Matches the text itself. Throws InputError if it is not UTF-8.
Grammar literal(std::string_view text);
/// Matches one character of these ranges, which may overlap. Without a character, no text matches.
Grammar one_character(std::vector<utf8::Range> ranges);
/// Matches the parts, one after another. Without parts: the empty text.
Grammar sequence(std::vector<Grammar> parts);
/// Matches any of the parts. Without parts, no text matches.
Grammar any_of(std::vector<Grammar> parts);
/// Matches texts that match every part. The parts have no references, and no text_without(), separated() or spelled().
Grammar all_of(std::vector<Grammar> parts);
/// Matches all texts that the part does not match. Only all_of() may have it as a part, and it has the limits of all_of().
Grammar all_but(Grammar part);
/// Matches the empty text, or the part.
Grammar optional(Grammar part);
/// Matches the part `least` to `most` times; without `most`, `least` times or more. Throws InputError unless 0 <= least <= most <= 100,000.
/// Large bounds need few states.
Grammar repeat(Grammar part, index least, std::optional<index> most = std::nullopt);
/// Matches any text in which `marker` does not occur, such as free text before a tool call. Throws InputError for an empty marker. The next
/// part may begin with the marker: sequence({text_without("<tool_call>"), literal("<tool_call>"), ...}).
Grammar text_without(std::string_view marker);

/// A part of separated().
struct Separable {
  Grammar part;
  bool is_optional = false;  // may be left out
};
/// Matches the parts in their order, with a separator between those that are not left out. Unless `may_be_empty`, not all are left out.
Grammar separated(std::vector<Separable> parts, Grammar separator, bool may_be_empty = true);

/// Returns the text that stands for one character of these ranges.
using Spelling = Grammar (*)(const std::vector<utf8::Range>& ranges);
/// Matches the texts of the part with each character replaced by its spelling: json_character() writes them into a string of JSON. The part
/// has no references, and no text_without() or separated().
Grammar spelled(Grammar part, Spelling spelling);

/// The most states of a grammar's automaton.
inline constexpr index kMostGrammarStates = 100'000;

/// Returns the grammar with a name for GrammarTooLarge.
Grammar named(Grammar part, std::string name);
/// Thrown for a grammar that needs too many states.
class GrammarTooLarge : public InputError {
 public:
  GrammarTooLarge(std::string name, const std::string& what) : InputError(what), name_(std::move(name)) {}
  /// Returns the named() part that needs most of them; empty if there is none.
  const std::string& name() const { return name_; }

 private:
  std::string name_;
};

/// The name of a grammar that may contain itself. Each constructed Rule is different, even if names are equal.
class Rule {
 public:
  /// `name` is for messages.
  explicit Rule(std::string name);

  index id() const { return id_; }
  const std::string& name() const { return name_; }

 private:
  index id_;
  std::string name_;
};
/// Matches the texts of a rule, which with_rules() around it defines.
Grammar reference(const Rule& rule);
/// Matches the texts of `start`. In it, and in the rules' grammars, each reference() means the rule's grammar.
Grammar with_rules(Grammar start, std::vector<std::pair<Rule, Grammar>> rules);
/// Returns the grammar in a form whose states an automaton has only once, however often it is used.
inline Grammar shared(Grammar grammar) { return with_rules(std::move(grammar), {}); }

}  // namespace dikkat
