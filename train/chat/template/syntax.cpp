#include "train/chat/template/syntax.h"

#include <algorithm>
#include <cmath>

#include "train/chat/template/rendering.h"
#include "train/chat/template/template_error.h"

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

/// Returns a text or a list, so many times.
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
    return Value(std::move(text));
  }
  std::vector<Value> items;
  for (std::size_t i = 0; i < count && !what.list()->items.empty(); ++i) {
    items.insert(items.end(), what.list()->items.begin(), what.list()->items.end());
  }
  return Value::list(std::move(items), what.list()->is_tuple);
}

constexpr const char* kOperators[] = {"+", "-", "*", "/", "//", "%", "**"};

Value compute(BinaryOp op, const Value& a, const Value& b) {
  if (a.is_whole() && b.is_whole() && !(a.is_integer() && b.is_integer())) {
    fail_overflow();
  }
  if (a.is_number() && b.is_number()) {
    return a.is_integer() && b.is_integer() ? integer_result(op, a.integer(), b.integer()) : real_result(op, a.real(), b.real());
  }
  if (op == BinaryOp::add && a.text() && b.text()) {
    MarkedText text = *a.text();
    text.append(*b.text());
    return Value(std::move(text));
  }
  if (op == BinaryOp::add && a.list() && b.list() && a.list()->is_tuple == b.list()->is_tuple) {
    std::vector<Value> items = a.list()->items;
    items.insert(items.end(), b.list()->items.begin(), b.list()->items.end());
    return Value::list(std::move(items), a.list()->is_tuple);
  }
  if (op == BinaryOp::multiply) {
    if ((a.text() || a.list()) && b.is_integer()) {
      return repeat(a, b.integer());
    }
    if (a.is_integer() && (b.text() || b.list())) {
      return repeat(b, a.integer());
    }
  }
  if (op == BinaryOp::modulo && a.text()) {
    fail_template("formats a str with the operator %, which is not supported");
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

/// Returns the attribute of a value: as in Jinja the item with this name, unless Python's type has an attribute with it.
Value attribute(const Value& object, const std::string& name) {
  if (const auto* undefined = object.as<Undefined>()) {
    fail_template("asks for .", name, " of ", undefined->name ? *undefined->name : "a value", ", which is undefined");
  }
  if (object.dict() && is_dict_method(name)) {
    fail_template("uses the method ", name, " of a dict without calling it, which is not supported");
  }
  if (object.dict() || object.names()) {
    return item(object, Value(name));
  }
  return Value(Undefined{std::make_shared<const std::string>(concat("attribute '", name, "' of a ", object.type_name()))});
}

}  // namespace

Value Name::evaluate(Rendering& rendering) const { return rendering.lookup(name); }

Value ListExpression::evaluate(Rendering& rendering) const {
  std::vector<Value> values;
  for (const auto& one : items) {
    values.push_back(rendering.evaluate(*one));
  }
  return Value::list(std::move(values), is_tuple);
}

Value DictExpression::evaluate(Rendering& rendering) const {
  std::vector<std::pair<MarkedText, Value>> values;
  for (const auto& [key_expression, value_expression] : items) {
    const Value key = rendering.evaluate(*key_expression);
    if (!key.text()) {
      fail_template("has a dict whose key is ", key.type_name(), ", expected a str");
    }
    Value value = rendering.evaluate(*value_expression);
    const auto found =
        std::find_if(values.begin(), values.end(), [&](const auto& one) { return one.first.bytes() == key.text()->bytes(); });
    if (found != values.end()) {
      found->second = std::move(value);
    } else {
      values.emplace_back(*key.text(), std::move(value));
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
  std::vector<Value> values;
  for (const auto& one : placed) {
    values.push_back(rendering.evaluate(*one));
  }
  std::vector<std::pair<std::string, Value>> named_values;
  for (const auto& [name, value] : named) {
    named_values.emplace_back(name, rendering.evaluate(*value));
  }
  return {std::move(function), std::move(values), std::move(named_values)};
}

Value apply(Rendering& rendering, Value value, const std::vector<Suffix>& suffixes, std::string_view operand_name) {
  const auto bound = [&](const ExpressionPtr& expression) { return expression ? rendering.evaluate(*expression) : Value(nullptr); };
  std::string name(operand_name);  // of the value, for errors
  for (const Suffix& suffix : suffixes) {
    switch (suffix.kind) {
      case Suffix::Kind::attribute: value = attribute(value, suffix.name); break;
      case Suffix::Kind::item: value = item(value, rendering.evaluate(*suffix.item)); break;
      case Suffix::Kind::slice: value = slice(value, bound(suffix.item), bound(suffix.end), bound(suffix.step)); break;
      case Suffix::Kind::call: value = rendering.call(value, name, suffix.arguments.evaluate(rendering, name)); break;
      case Suffix::Kind::method: {
        Arguments arguments = suffix.arguments.evaluate(rendering, concat("the method ", suffix.name));
        const bool is_attribute = value.names() || (value.dict() && !is_dict_method(suffix.name));
        value = is_attribute ? rendering.call(item(value, Value(suffix.name)), suffix.name, std::move(arguments))
                             : call_method(value, suffix.name, arguments);
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
    rendering.charge(1 + value.size() / 64 + (value.list() ? 4 * value.list()->items.size() : 0));
    name = suffix.name.empty() ? "a value" : suffix.name;
  }
  return value;
}

Value Suffixed::evaluate(Rendering& rendering) const { return apply(rendering, rendering.evaluate(*operand), suffixes, operand_name); }

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
  // A turn's condition is evaluated before the first turn, because loop.last and loop.length depend on it.
  std::vector<Value> values = items_of(rendering.evaluate(*items));
  rendering.charge(values.size() / 8);
  if (condition) {
    std::erase_if(values, [&](const Value& value) {
      Scope scope{.outer = rendering.scope()};
      return !rendering.holds_in(*condition, target, value, scope);
    });
  }
  if (values.empty()) {
    Scope scope{.outer = rendering.scope()};
    return rendering.execute_in(otherwise, scope);
  }
  const auto size = static_cast<std::int64_t>(values.size());
  for (std::int64_t i = 0; i < size; ++i) {
    const auto neighbour = [&](std::int64_t at) { return 0 <= at && at < size ? values[static_cast<std::size_t>(at)] : Value(); };
    Scope scope{.outer = rendering.scope()};
    std::vector<std::pair<MarkedText, Value>> loop;
    const auto add = [&](const char* name, Value value) { loop.emplace_back(MarkedText(name), std::move(value)); };
    add("index0", Value(i));
    add("index", Value(i + 1));
    add("first", Value(i == 0));
    add("last", Value(i + 1 == size));
    add("length", Value(size));
    add("revindex", Value(size - i));
    add("revindex0", Value(size - i - 1));
    add("previtem", neighbour(i - 1));
    add("nextitem", neighbour(i + 1));
    scope.names.emplace_back("loop", Value::dict(std::move(loop)));
    const Flow flow = rendering.execute_turn(target, values[static_cast<std::size_t>(i)], body, scope);
    if (flow == Flow::break_loop) {
      break;
    }
  }
  return Flow::next;
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

Value Macro::call(Rendering& rendering, Arguments arguments, Value caller) const {
  Scope scope{.outer = rendering.root()};
  scope.names.emplace_back("caller", std::move(caller));
  for (const auto& [parameter, otherwise] : parameters) {
    std::optional<Value> value = arguments.take(parameter);
    if (!value && otherwise) {
      value = rendering.evaluate_in(*otherwise, scope);
    }
    scope.names.emplace_back(parameter, value ? *std::move(value) : Value(Undefined{std::make_shared<const std::string>(parameter)}));
  }
  arguments.end();
  return Value(rendering.capture(body, scope));
}

Flow CallStatement::execute(Rendering& rendering) const {
  const Value macro = rendering.lookup(name);
  rendering.print(to_text(rendering.call_with_body(macro, name, arguments.evaluate(rendering, name), body)));
  return Flow::next;
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
