#include "train/chat/template/syntax.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "train/chat/template/attributes.h"
#include "train/chat/template/loop_state.h"
#include "train/chat/template/print.h"
#include "train/chat/template/rendering.h"
#include "train/chat/template/template_error.h"
#include "train/chat/template/text_format.h"

namespace dikkat::jinja {
namespace {

[[noreturn]] void fail_operands(const char* op, const Value& a, const Value& b) {
  for (const Value* value : {&a, &b}) {
    if (const auto* undefined = value->as<Undefined>()) {
      fail_template("computes with ", undefined->name ? *undefined->name : "a value", ", which is undefined");
    }
  }
  fail_template("computes ", a.type_name(), " ", op, " ", b.type_name(), ", which is not possible");
}

[[noreturn]] void fail_overflow() { fail_template("computes an integer that does not fit into 64 bits"); }

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = a / b;
  return quotient - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

std::int64_t integer_power(std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  for (; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) {
      fail_overflow();
    }
    if (exponent > 1 && __builtin_mul_overflow(base, base, &base)) {
      fail_overflow();
    }
  }
  return result;
}

Value integer_result(BinaryOp op, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  bool overflows = false;
  switch (op) {
    case BinaryOp::add: overflows = __builtin_add_overflow(a, b, &result); break;
    case BinaryOp::subtract: overflows = __builtin_sub_overflow(a, b, &result); break;
    case BinaryOp::multiply: overflows = __builtin_mul_overflow(a, b, &result); break;
    case BinaryOp::power:
      if (b < 0) {
        return Value(std::pow(static_cast<double>(a), static_cast<double>(b)));
      }
      result = integer_power(a, b);
      break;
    case BinaryOp::divide:
    case BinaryOp::floor_divide:
    case BinaryOp::modulo:
      if (b == 0) {
        fail_template("divides by zero");
      }
      if (op == BinaryOp::divide) {
        return Value(static_cast<double>(a) / static_cast<double>(b));
      }
      if (b == -1) {  // the smallest integer has no opposite
        overflows = op == BinaryOp::floor_divide && __builtin_sub_overflow(std::int64_t{0}, a, &result);
      } else {
        const std::int64_t quotient = floor_quotient(a, b);
        result = op == BinaryOp::floor_divide ? quotient : a - quotient * b;
      }
      break;
  }
  return overflows ? fail_overflow() : void(), Value(result);
}

Value real_result(BinaryOp op, double a, double b) {
  switch (op) {
    case BinaryOp::add: return Value(a + b);
    case BinaryOp::subtract: return Value(a - b);
    case BinaryOp::multiply: return Value(a * b);
    case BinaryOp::power: return Value(std::pow(a, b));
    default: break;
  }
  if (b == 0) {
    fail_template("divides by zero");
  }
  if (op == BinaryOp::divide) {
    return Value(a / b);
  }
  double rest = std::fmod(a, b);
  if (rest != 0 && (rest < 0) != (b < 0)) {
    rest += b;
  }
  return Value(op == BinaryOp::modulo ? rest : std::floor((a - rest) / b + 0.5));
}

/// Returns a + b for two texts. A text that is added to a safe one is escaped.
Value joined_texts(const Value& a, const Value& b) {
  const bool is_safe = a.is_safe() || b.is_safe();
  const auto part = [&](const Value& value) { return is_safe && !value.is_safe() ? escaped(*value.text()) : *value.text(); };
  MarkedText text = part(a);
  text.append(part(b));
  return is_safe ? Value::safe(std::move(text)) : Value(std::move(text));
}

/// Returns a text or a list, repeated `times` times.
Value repeat(const Value& what, std::int64_t times) {
  const auto count = static_cast<std::size_t>(std::max(times, std::int64_t{0}));
  constexpr std::size_t kMost = std::size_t{16} << 20;
  if (const std::size_t one = std::max<std::size_t>(what.weight(), what.list() ? what.list()->items.size() : 0);
      one > 0 && count > kMost / one) {
    fail_template("repeats a ", what.type_name(), " ", times, " times, which is too long");
  }
  if (what.text()) {
    MarkedText text;
    for (std::size_t i = 0; i < count && what.text()->size() > 0; ++i) {
      text.append(*what.text());
    }
    return what.is_safe() ? Value::safe(std::move(text)) : Value(std::move(text));
  }
  std::vector<Value> items;
  for (std::size_t i = 0; i < count && !what.list()->items.empty(); ++i) {
    items.insert(items.end(), what.list()->items.begin(), what.list()->items.end());
  }
  return Value::list(std::move(items), what.list()->kind);
}

bool is_list_or_tuple(const Value& value) { return value.is(ListKind::list) || value.is(ListKind::tuple); }

constexpr const char* kOperators[] = {"+", "-", "*", "/", "//", "%", "**"};

Value compute(BinaryOp op, const Value& a, const Value& b) {
  if (a.is_whole() && b.is_whole() && !(a.is_integer() && b.is_integer())) {
    fail_overflow();
  }
  if (a.is_number() && b.is_number()) {
    return a.is_integer() && b.is_integer() ? integer_result(op, a.integer(), b.integer()) : real_result(op, a.real(), b.real());
  }
  if (op == BinaryOp::add && a.text() && b.text()) {
    return joined_texts(a, b);
  }
  if (op == BinaryOp::add && is_list_or_tuple(a) && is_list_or_tuple(b) && a.list()->kind == b.list()->kind) {
    std::vector<Value> items = a.list()->items;
    items.insert(items.end(), b.list()->items.begin(), b.list()->items.end());
    return Value::list(std::move(items), a.list()->kind);
  }
  if (op == BinaryOp::multiply) {
    if ((a.text() || is_list_or_tuple(a)) && b.is_integer()) {
      return repeat(a, b.integer());
    }
    if (a.is_integer() && (b.text() || is_list_or_tuple(b))) {
      return repeat(b, a.integer());
    }
  }
  if (op == BinaryOp::modulo && a.text()) {
    return percent_format(a, b);
  }
  fail_operands(kOperators[static_cast<int>(op)], a, b);
}

bool holds(CompareOp op, const Value& a, const Value& b) {
  switch (op) {
    case CompareOp::equal: return equal(a, b);
    case CompareOp::unequal: return !equal(a, b);
    case CompareOp::less: return compare(a, b) < 0;
    case CompareOp::less_equal: return compare(a, b) <= 0;
    case CompareOp::greater: return compare(a, b) > 0;
    case CompareOp::greater_equal: return compare(a, b) >= 0;
    case CompareOp::in: return contains(b, a);
    case CompareOp::not_in: return !contains(b, a);
  }
  return false;
}

}  // namespace

Value Name::evaluate(Rendering& rendering) const { return rendering.lookup(name); }

Value ListExpression::evaluate(Rendering& rendering) const {
  std::vector<Value> values;
  for (const auto& one : items) {
    values.push_back(rendering.evaluate(*one));
  }
  return Value::list(std::move(values), is_tuple ? ListKind::tuple : ListKind::list);
}

Value DictExpression::evaluate(Rendering& rendering) const {
  DictItems values;
  for (const auto& [key_expression, value_expression] : items) {
    Value key = rendering.evaluate(*key_expression);
    require_key(key);
    Value value = rendering.evaluate(*value_expression);
    rendering.charge(values.size() / 16);
    const auto found = std::ranges::find_if(values, [&](const auto& one) { return equal(one.first, key); });
    if (found != values.end()) {
      found->second = std::move(value);
    } else {
      values.emplace_back(std::move(key), std::move(value));
    }
  }
  return Value::dict(std::move(values));
}

Value Conditional::evaluate(Rendering& rendering) const {
  if (is_true(rendering.evaluate(*condition))) {
    return rendering.evaluate(*value);
  }
  return otherwise ? rendering.evaluate(*otherwise)
                   : Value(Undefined{std::make_shared<const std::string>("the value of an if without else")});
}

Value Unary::evaluate(Rendering& rendering) const {
  const Value value = rendering.evaluate(*operand);
  if (op == Op::negation) {
    return Value(!is_true(value));
  }
  if (!value.is_number()) {
    fail_template("negates ", value.type_name(), ", expected a number");
  }
  if (op == Op::plus) {
    return value.is_integer() ? Value(value.integer()) : value;
  }
  if (value.as<LargeInteger>()) {
    const std::string digits = value.digits();
    return Value::integer_of(digits.starts_with('-') ? digits.substr(1) : '-' + digits);
  }
  return value.is_integer() ? integer_result(BinaryOp::subtract, 0, value.integer()) : Value(-value.real());
}

Value Logical::evaluate(Rendering& rendering) const {
  Value value;
  for (const auto& operand : operands) {
    value = rendering.evaluate(*operand);
    if (is_true(value) != is_and) {
      break;
    }
  }
  return value;
}

Value Arithmetic::evaluate(Rendering& rendering) const {
  Value value = rendering.evaluate(*first);
  for (const auto& [op, operand] : rest) {
    value = compute(op, value, rendering.evaluate(*operand));
    rendering.charge(value.size() / 64);
  }
  return value;
}

Value Concatenation::evaluate(Rendering& rendering) const {
  MarkedText text;
  for (const auto& part : parts) {
    text.append(to_text(rendering.evaluate(*part)));
  }
  return Value(std::move(text));
}

Value Comparison::evaluate(Rendering& rendering) const {
  Value left = rendering.evaluate(*first);
  for (const auto& [op, operand] : rest) {
    Value right = rendering.evaluate(*operand);
    if (left.list() || left.dict() || right.list() || right.dict()) {
      rendering.charge(std::min(left.weight(), right.weight()) / 16 + right.size() / 16);
    }
    if (!holds(op, left, right)) {
      return Value(false);
    }
    left = std::move(right);
  }
  return Value(true);
}

Arguments CallArguments::evaluate(Rendering& rendering, std::string function) const {
  // Evaluate the arguments without names, and unpack lists.
  std::vector<Value> values;
  for (const auto& [one, unpacks] : placed) {
    Value value = rendering.evaluate(*one);
    if (!unpacks) {
      values.push_back(std::move(value));
      continue;
    }
    std::ranges::move(items_of(value), std::back_inserter(values));
    rendering.charge(values.size());
  }
  // Evaluate the arguments with names, and unpack dicts.
  std::vector<std::pair<std::string, Value>> named_values;
  const auto add = [&](const std::string& name, Value value) {
    rendering.charge(named_values.size() / 16);
    if (std::ranges::any_of(named_values, [&](const auto& one) { return one.first == name; })) {
      fail_template("gives ", function, " the argument ", name, " twice");
    }
    named_values.emplace_back(name, std::move(value));
  };
  for (const auto& [name, expression] : named) {
    Value value = rendering.evaluate(*expression);
    if (!name.empty()) {
      add(name, std::move(value));
      continue;
    }
    if (!value.dict()) {
      fail_template("unpacks ", value.type_name(), " with **, expected a dict");
    }
    for (const auto& [key, one] : value.dict()->items) {
      if (!key.text()) {
        fail_template("unpacks a dict with ** that has ", key.type_name(), " as a key, expected a str");
      }
      add(key.text()->bytes(), one);
    }
    rendering.charge(named_values.size());
  }
  return {std::move(function), std::move(values), std::move(named_values)};
}

Value apply(Rendering& rendering, Value value, std::span<const Suffix> suffixes, std::string_view operand_name) {
  const auto bound = [&](const ExpressionPtr& expression) { return expression ? rendering.evaluate(*expression) : Value(nullptr); };
  std::string name(operand_name);  // the value's name, for errors
  for (const Suffix& suffix : suffixes) {
    // Apply the suffix to the value.
    switch (suffix.kind) {
      case Suffix::Kind::attribute: value = attribute(value, suffix.name); break;
      case Suffix::Kind::item: value = subscript(value, rendering.evaluate(*suffix.item)); break;
      case Suffix::Kind::slice: value = slice(value, bound(suffix.item), bound(suffix.end), bound(suffix.step)); break;
      case Suffix::Kind::call: value = rendering.call(value, name, suffix.arguments.evaluate(rendering, name)); break;
      case Suffix::Kind::method: {
        value = rendering.call_method(value, suffix.name, suffix.arguments.evaluate(rendering, concat("the method ", suffix.name)));
        break;
      }
      case Suffix::Kind::filter: {
        if (!suffix.filter) {
          fail_template("uses the filter ", suffix.name, ", which is not supported");
        }
        Arguments arguments = suffix.arguments.evaluate(rendering, concat("the filter ", suffix.name));
        rendering.charge(value.weight() / 64);
        value = suffix.filter(value, arguments);
        arguments.end();
        rendering.charge(value.weight() / 64);
        break;
      }
      case Suffix::Kind::test:
      case Suffix::Kind::negated_test: {
        if (!suffix.test) {
          fail_template("uses the test ", suffix.name, ", which is not supported");
        }
        Arguments arguments = suffix.arguments.evaluate(rendering, concat("the test ", suffix.name));
        const bool result = suffix.test(value, arguments);
        arguments.end();
        value = Value(result == (suffix.kind == Suffix::Kind::test));
        break;
      }
    }
    // Charge the work by the size of the result.
    rendering.charge(1 + value.size() / 64 + (value.list() ? 4 * value.list()->items.size() : 0));
    name = suffix.name.empty() ? "a value" : suffix.name;
  }
  return value;
}

Value Suffixed::evaluate(Rendering& rendering) const { return apply(rendering, rendering.evaluate(*operand), suffixes, operand_name); }

bool Suffixed::is_call() const {
  return !suffixes.empty() && (suffixes.back().kind == Suffix::Kind::call || suffixes.back().kind == Suffix::Kind::method);
}

Value Suffixed::evaluate_with(Rendering& rendering, Value caller) const {
  const std::span<const Suffix> before = std::span(suffixes).first(suffixes.size() - 1);
  const Value callee = apply(rendering, rendering.evaluate(*operand), before, operand_name);
  const Suffix& last = suffixes.back();
  const bool is_method = last.kind == Suffix::Kind::method;
  const std::string name = is_method ? last.name : before.empty() ? operand_name : before.back().name;
  Arguments arguments = last.arguments.evaluate(rendering, name);
  arguments.add("caller", std::move(caller));
  return is_method ? rendering.call_method(callee, name, std::move(arguments)) : rendering.call(callee, name, std::move(arguments));
}

void Target::assign(Rendering& rendering, const Value& value) const {
  if (!attribute.empty()) {
    Namespace* const space = rendering.lookup(names.front()).names();
    if (!space) {
      fail_template("sets ", names.front(), ".", attribute, ", but ", names.front(), " is not a namespace");
    }
    const auto found = std::find_if(space->items.begin(), space->items.end(), [&](const auto& one) { return one.first == attribute; });
    if (found != space->items.end()) {
      found->second = value;
    } else {
      space->items.emplace_back(attribute, value);
    }
    return;
  }
  if (!unpacks) {
    return rendering.assign(names.front(), value);
  }
  const std::vector<Value> values = items_of(value);
  if (values.size() != names.size()) {
    fail_template("unpacks ", values.size(), " values, expected ", names.size());
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    rendering.assign(names[i], values[i]);
  }
}

Flow TextStatement::execute(Rendering& rendering) const {
  rendering.print(text);
  return Flow::next;
}

Flow PrintStatement::execute(Rendering& rendering) const {
  rendering.print(to_text(rendering.evaluate(*value)));
  return Flow::next;
}

Flow IfStatement::execute(Rendering& rendering) const {
  for (const auto& [condition, body] : branches) {
    if (is_true(rendering.evaluate(*condition))) {
      return rendering.execute(body);
    }
  }
  return rendering.execute(otherwise);
}

Flow ForStatement::execute(Rendering& rendering) const {
  run(rendering, rendering.evaluate(*items), *rendering.scope(), 1);
  return Flow::next;
}

void ForStatement::run(Rendering& rendering, const Value& over, Scope& outer, int depth) const {
  // A turn's condition is evaluated before the first turn, because loop.last and loop.length depend on it.
  std::vector<Value> values = items_of(over);
  rendering.charge(values.size() / 8);
  if (condition) {
    std::erase_if(values, [&](const Value& value) {
      Scope scope{.outer = &outer};
      return !rendering.holds_in(*condition, target, value, scope);
    });
  }
  if (values.empty()) {
    Scope scope{.outer = &outer};
    rendering.execute_in(otherwise, scope);
    return;
  }
  // The template may keep `loop`, which cannot be called when the loop is over.
  const auto state = std::make_shared<LoopState>(
      LoopState{.values = std::move(values), .depth = depth, .recursive = is_recursive ? this : nullptr, .outer = &outer});
  const std::unique_ptr<LoopState, void (*)(LoopState*)> end(state.get(), [](LoopState* loop) {
    loop->is_over = true;
    loop->changed.reset();
  });
  for (; state->at < state->values.size(); ++state->at) {
    Scope scope{.outer = &outer};
    scope.names.emplace_back("loop", Value(state));
    if (rendering.execute_turn(target, Value(state->values[state->at]), body, scope) == Flow::break_loop) {
      break;
    }
  }
}

Flow SetStatement::execute(Rendering& rendering) const {
  if (value) {
    target.assign(rendering, rendering.evaluate(*value));
  } else {
    Scope scope{.outer = rendering.scope()};
    Value text(rendering.capture(body, scope));
    target.assign(rendering, apply(rendering, std::move(text), filters, "a block"));
  }
  return Flow::next;
}

Flow Macro::execute(Rendering& rendering) const {
  if (!rendering.is_in_root_scope()) {
    fail_template("defines the macro ", name, " in a loop or a macro, expected it outside");
  }
  rendering.assign(name, Value(Callable{.kind = Callable::Kind::macro, .macro = this}));
  return Flow::next;
}

Value Signature::call(Rendering& rendering, Arguments arguments, Scope& outer) const {
  Scope scope{.outer = &outer};
  const auto set = [&](std::string_view name, std::optional<Value> value) {
    scope.names.emplace_back(name, value ? *std::move(value) : Value(Undefined{std::make_shared<const std::string>(name)}));
  };
  bool has_caller = false;
  for (const auto& [parameter, otherwise] : parameters) {
    std::optional<Value> value = arguments.take(parameter);
    if (!value && otherwise) {
      value = rendering.evaluate_in(*otherwise, scope);
    }
    has_caller = has_caller || parameter == "caller";
    set(parameter, std::move(value));
  }
  // The names that a body may read without a parameter.
  if (uses_caller && !has_caller) {
    set("caller", arguments.take_named("caller"));
  }
  if (uses_varargs) {
    set("varargs", Value::list(arguments.take_placed(), ListKind::tuple));
  }
  if (uses_kwargs) {
    DictItems rest;
    for (auto& [name, value] : arguments.take_named()) {
      rest.emplace_back(Value(name), std::move(value));
    }
    set("kwargs", Value::dict(std::move(rest)));
  }
  arguments.end();
  return Value(rendering.capture(body, scope));
}

Flow CallStatement::execute(Rendering& rendering) const {
  rendering.print(to_text(rendering.call_with_body(*call, signature)));
  return Flow::next;
}

Flow FilterStatement::execute(Rendering& rendering) const {
  Scope scope{.outer = rendering.scope()};
  Value text(rendering.capture(body, scope));
  rendering.print(to_text(apply(rendering, std::move(text), filters, "a block")));
  return Flow::next;
}

Flow WithStatement::execute(Rendering& rendering) const {
  std::vector<Value> results;
  for (const auto& [target, value] : values) {
    results.push_back(rendering.evaluate(*value));
  }
  Scope scope{.outer = rendering.scope()};
  for (std::size_t i = 0; i < values.size(); ++i) {
    rendering.assign_in(values[i].first, results[i], scope);
  }
  return rendering.execute_in(body, scope);
}

Flow GenerationStatement::execute(Rendering& rendering) const {
  const std::size_t before = rendering.output().size();
  Scope scope{.outer = rendering.scope()};
  const Flow flow = rendering.execute_in(body, scope);
  rendering.charge(rendering.output().size() / 64);
  rendering.output().mark_generated(before);
  return flow;
}

}  // namespace dikkat::jinja
