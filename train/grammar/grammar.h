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

/// The text itself. Throws InputError if it is not UTF-8.
Grammar literal(std::string_view text);
/// One character of these ranges, which may overlap. Without a character, no text matches.
Grammar one_character(std::vector<utf8::Range> ranges);
/// Texts of the parts, one after another. Without parts: the empty text.
Grammar sequence(std::vector<Grammar> parts);
/// Texts of any of the parts. Without parts, no text matches.
Grammar any_of(std::vector<Grammar> parts);
/// Texts that each of the parts has. The parts have no references, and no text_without(), separated() or spelled().
Grammar all_of(std::vector<Grammar> parts);
/// All texts that the part does not have. Only all_of() may have it as a part, and it has the same limits.
Grammar all_but(Grammar part);
/// The empty text, or one of the part.
Grammar optional(Grammar part);
/// `least` to `most` texts of the part, one after another; without `most`, any number from `least` on. Throws InputError unless
/// 0 <= least <= most <= 100,000. Large bounds need few states.
Grammar repeat(Grammar part, index least, std::optional<index> most = std::nullopt);
/// Any text in which `marker` does not occur, for example free text before a tool call. Throws InputError for an empty marker. A part that
/// begins with the marker may follow: sequence({text_without("<tool_call>"), literal("<tool_call>"), ...}).
Grammar text_without(std::string_view marker);

/// A part of separated().
struct Separable {
  Grammar part;
  bool is_optional = false;  // may be left out
};
/// Texts of the parts in their order, with a separator between those that are not left out. Unless `may_be_empty`, not all are left out.
Grammar separated(std::vector<Separable> parts, Grammar separator, bool may_be_empty = true);

/// Returns the text that stands for one character of these ranges.
using Spelling = Grammar (*)(const std::vector<utf8::Range>& ranges);
/// The texts of the part, each of whose characters is written as its spelling: json_character() writes them into a string of JSON. The part
/// has no references, and no text_without() or separated().
Grammar spelled(Grammar part, Spelling spelling);

/// The most states of a grammar's automaton.
inline constexpr index kMostGrammarStates = 100'000;

/// The grammar itself, with a name for GrammarTooLarge.
Grammar named(Grammar part, std::string name);
/// Thrown for a grammar that needs too many states.
class GrammarTooLarge : public InputError {
 public:
  GrammarTooLarge(std::string name, const std::string& what) : InputError(what), name_(std::move(name)) {}
  /// The named() part that needs most of them; empty if there is none.
  const std::string& name() const { return name_; }

 private:
  std::string name_;
};

/// The name of a grammar that may contain itself. Every value that is made differs from all others.
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
/// The texts of a rule, which with_rules() around it defines.
Grammar reference(const Rule& rule);
/// The texts of `start`, in which, as in the rules' own grammars, each reference() means the rule's grammar.
Grammar with_rules(Grammar start, std::vector<std::pair<Rule, Grammar>> rules);
/// The grammar itself, for which an automaton has states only once, however often the value that is returned is used.
inline Grammar shared(Grammar grammar) { return with_rules(std::move(grammar), {}); }

}  // namespace dikkat
