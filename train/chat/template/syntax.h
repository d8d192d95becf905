#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "train/chat/template/arguments.h"
#include "train/chat/template/builtins.h"
#include "train/chat/template/value.h"

// The syntax tree of a template. An expression evaluates to a value; a statement prints and sets names.
namespace dikkat::jinja {

class Rendering;
struct Scope;

class Expression {
 public:
  virtual ~Expression() = default;
  /// Returns the value. Call Rendering::evaluate() instead, which keeps the limits.
  virtual Value evaluate(Rendering& rendering) const = 0;
};
using ExpressionPtr = std::unique_ptr<const Expression>;
using Expressions = std::vector<ExpressionPtr>;

/// Whether the statements after a statement are executed.
enum class Flow : std::uint8_t { next, break_loop, continue_loop };

class Statement {
 public:
  explicit Statement(int line) : line_(line) {}
  virtual ~Statement() = default;
  virtual Flow execute(Rendering& rendering) const = 0;
  int line() const { return line_; }

 private:
  int line_;
};
using Statements = std::vector<std::unique_ptr<const Statement>>;

// Expressions.

struct Literal : Expression {
  explicit Literal(Value what) : value(std::move(what)) {}
  Value evaluate(Rendering&) const override { return value; }
  Value value;
};

struct Name : Expression {
  explicit Name(std::string what) : name(std::move(what)) {}
  Value evaluate(Rendering& rendering) const override;
  std::string name;
};

/// [a, b], or (a, b).
struct ListExpression : Expression {
  Value evaluate(Rendering& rendering) const override;
  Expressions items;
  bool is_tuple = false;
};

/// {key: value}.
struct DictExpression : Expression {
  Value evaluate(Rendering& rendering) const override;
  std::vector<std::pair<ExpressionPtr, ExpressionPtr>> items;
};

/// a if condition else b. Without else it is undefined.
struct Conditional : Expression {
  Value evaluate(Rendering& rendering) const override;
  ExpressionPtr value, condition, otherwise;
};

/// not a, -a, +a.
struct Unary : Expression {
  enum class Op : std::uint8_t { negation, minus, plus };
  Value evaluate(Rendering& rendering) const override;
  Op op{};
  ExpressionPtr operand;
};

/// a and b and c, or: a or b or c.
struct Logical : Expression {
  Value evaluate(Rendering& rendering) const override;
  bool is_and = false;
  Expressions operands;
};

enum class BinaryOp : std::uint8_t { add, subtract, multiply, divide, floor_divide, modulo, power };

/// a + b - c: operators of one precedence, from left to right.
struct Arithmetic : Expression {
  Value evaluate(Rendering& rendering) const override;
  ExpressionPtr first;
  std::vector<std::pair<BinaryOp, ExpressionPtr>> rest;
};

/// a ~ b ~ c.
struct Concatenation : Expression {
  Value evaluate(Rendering& rendering) const override;
  Expressions parts;
};

enum class CompareOp : std::uint8_t { equal, unequal, less, less_equal, greater, greater_equal, in, not_in };

/// a < b <= c, which is a < b and b <= c.
struct Comparison : Expression {
  Value evaluate(Rendering& rendering) const override;
  ExpressionPtr first;
  std::vector<std::pair<CompareOp, ExpressionPtr>> rest;
};

/// The arguments of a call: f(a, *b, c=d, **e).
struct CallArguments {
  /// Evaluates the arguments of a call of `function`.
  Arguments evaluate(Rendering& rendering, std::string function) const;
  std::vector<std::pair<ExpressionPtr, bool>> placed;        // true: the value's items are the arguments
  std::vector<std::pair<std::string, ExpressionPtr>> named;  // without a name: a dict's items are the arguments
};

/// A suffix follows an operand: .name, [item], [a:b:c], (arguments), .method(arguments), |filter(arguments), is test(arguments).
struct Suffix {
  enum class Kind : std::uint8_t { attribute, item, slice, call, method, filter, test, negated_test };
  Kind kind{};
  std::string name{};                   // the name of an attribute, method, filter or test
  ExpressionPtr item{}, end{}, step{};  // an item, or the parts of a slice, which may be missing
  CallArguments arguments{};
  Filter filter = nullptr;  // nullptr: the language here does not have it
  Test test = nullptr;
};

struct Suffixed : Expression {
  Value evaluate(Rendering& rendering) const override;
  /// Evaluates an expression whose last suffix is a call, with `caller` as another argument of that call.
  Value evaluate_with(Rendering& rendering, Value caller) const;
  /// Returns whether the last suffix is a call.
  bool is_call() const;
  ExpressionPtr operand;
  std::string operand_name;  // the operand's name if it is a Name, for errors
  std::vector<Suffix> suffixes;
};

// Statements.

/// A name, names that a list is unpacked to, or an attribute of a namespace.
struct Target {
  /// Sets the names. Throws TemplateError if a list has another length.
  void assign(Rendering& rendering, const Value& value) const;
  std::vector<std::string> names;
  bool unpacks = false;
  std::string attribute{};  // an attribute of the namespace names[0]
};

struct TextStatement : Statement {
  TextStatement(int line, std::string what) : Statement(line), text(std::move(what)) {}
  Flow execute(Rendering& rendering) const override;
  MarkedText text;
};

struct PrintStatement : Statement {
  using Statement::Statement;
  Flow execute(Rendering& rendering) const override;
  ExpressionPtr value;
};

struct IfStatement : Statement {
  using Statement::Statement;
  Flow execute(Rendering& rendering) const override;
  std::vector<std::pair<ExpressionPtr, Statements>> branches;
  Statements otherwise;
};

struct ForStatement : Statement {
  using Statement::Statement;
  Flow execute(Rendering& rendering) const override;
  /// Loops over a value in a scope within `outer`. `depth` is 1, and more in a recursive loop that its body calls.
  void run(Rendering& rendering, const Value& over, Scope& outer, int depth) const;
  Target target;
  ExpressionPtr items, condition;
  bool is_recursive = false;
  Statements body, otherwise;
};

/// {% set name = value %}, or {% set name %} body {% endset %}, whose text may pass filters.
struct SetStatement : Statement {
  using Statement::Statement;
  Flow execute(Rendering& rendering) const override;
  Target target;
  ExpressionPtr value;  // nullptr: the body
  Statements body;
  std::vector<Suffix> filters;
};

/// The parameters and the body of a macro, or of a {% call %} block.
struct Signature {
  /// Returns the text that the body prints, in a scope within `outer`.
  Value call(Rendering& rendering, Arguments arguments, Scope& outer) const;
  std::vector<std::pair<std::string, ExpressionPtr>> parameters;  // with their defaults; nullptr: none
  Statements body;
  bool uses_caller = false, uses_kwargs = false, uses_varargs = false;  // names that the body reads and does not set itself
};

/// {% macro name(parameters) %} body {% endmacro %}.
class Macro : public Statement {
 public:
  using Statement::Statement;
  Flow execute(Rendering& rendering) const override;
  std::string name;
  Signature signature;
};

/// {% call(parameters) macro(arguments) %} body {% endcall %}. The macro calls the body as caller().
struct CallStatement : Statement {
  using Statement::Statement;
  Flow execute(Rendering& rendering) const override;
  std::unique_ptr<const Suffixed> call;
  Signature signature;
};

/// {% filter name %} body {% endfilter %}.
struct FilterStatement : Statement {
  using Statement::Statement;
  Flow execute(Rendering& rendering) const override;
  Statements body;
  std::vector<Suffix> filters;
};

/// {% with name = value %} body {% endwith %}.
struct WithStatement : Statement {
  using Statement::Statement;
  Flow execute(Rendering& rendering) const override;
  std::vector<std::pair<Target, ExpressionPtr>> values;
  Statements body;
};

/// {% generation %} body {% endgeneration %}: a model is trained to write the body.
struct GenerationStatement : Statement {
  using Statement::Statement;
  Flow execute(Rendering& rendering) const override;
  Statements body;
};

/// {% break %} and {% continue %}.
struct LoopControl : Statement {
  LoopControl(int line, Flow what) : Statement(line), flow(what) {}
  Flow execute(Rendering&) const override { return flow; }
  Flow flow;
};

/// Applies suffixes to a value, from left to right.
Value apply(Rendering& rendering, Value value, std::span<const Suffix> suffixes, std::string_view operand_name);

}  // namespace dikkat::jinja
