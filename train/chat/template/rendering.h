#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "train/chat/template/syntax.h"
#include "train/chat/template/value.h"
#include "train/system/calendar_date.h"

namespace dikkat::jinja {

/// The names that are set in a part of a template: the whole, a loop's turn, or a macro's call.
struct Scope {
  Scope* outer = nullptr;
  std::vector<std::pair<std::string_view, Value>> names{};  // the keys are in the template's syntax tree
};

/// The state of a template while it is rendered: names, output and the rest of the limits. A template comes with a downloaded model, so its
/// steps, the depth of its calls and its output are bounded.
class Rendering {
 public:
  Rendering(const DictValue& variables, const CalendarDate& date) : variables_(variables), date_(date) {}

  Value evaluate(const Expression& expression);
  /// Executes statements, up to a {% break %} or {% continue %}.
  Flow execute(const Statements& statements);
  MarkedText take_output() { return std::move(*output_); }

  /// Returns the line of the statement that is executed.
  int line() const { return line_; }

  // For the syntax tree.

  /// Returns the value of a name; undefined if it is not set.
  Value lookup(std::string_view name);
  void assign(std::string_view name, Value value);
  void assign_in(const Target& target, const Value& value, Scope& scope);
  bool is_in_root_scope() const { return scope_ == &root_; }
  void print(const MarkedText& text);
  MarkedText& output() { return *output_; }
  /// Execute statements in a scope, or call `print`, and return the printed text.
  MarkedText capture(const Statements& statements, Scope& scope);
  MarkedText capture(const std::function<void()>& print, Scope& scope);
  Scope* scope() { return scope_; }
  Scope* root() { return &root_; }
  // Each of these works in a scope instead of the current one.
  Flow execute_in(const Statements& statements, Scope& scope);
  Value evaluate_in(const Expression& expression, Scope& scope);
  /// Executes a loop's turn, for a value of the loop.
  Flow execute_turn(const Target& target, const Value& value, const Statements& body, Scope& scope);
  /// Returns whether a loop's condition holds for a value of the loop.
  bool holds_in(const Expression& condition, const Target& target, const Value& value, Scope& scope);

  /// Calls a function of the template or the language. `name` is for errors.
  Value call(const Value& function, std::string_view name, Arguments arguments);
  /// Calls object.name(arguments): a method, or an attribute that is a function.
  Value call_method(const Value& object, const std::string& name, Arguments arguments);
  /// Evaluates a call while the body of a {% call %} block is available to the macro that is called.
  Value call_with_body(const Suffixed& call, const Signature& body);

  /// Counts work. Throws TemplateError when the limit is reached.
  void charge(std::size_t steps);

 private:
  Value make_namespace(Arguments arguments);
  Value call_loop(const LoopState& loop, Arguments arguments);

  const DictValue& variables_;
  const CalendarDate& date_;
  Scope root_;
  Scope* scope_ = &root_;
  MarkedText printed_;
  MarkedText* output_ = &printed_;
  std::deque<Namespace> namespaces_;
  struct Caller {
    const Signature* body;  // nullptr after the call
    Scope* scope;
  };
  std::vector<Caller> callers_;
  std::size_t steps_ = 0;
  int depth_ = 0;
  int line_ = 0;
};

}  // namespace dikkat::jinja
