#include "train/chat/template/rendering.h"

#include <algorithm>
#include <iterator>

#include "train/chat/template/attributes.h"
#include "train/chat/template/loop_state.h"
#include "train/chat/template/strftime.h"
#include "train/chat/template/template_error.h"

namespace dikkat::jinja {
namespace {

constexpr std::size_t kMostSteps = 10'000'000;
constexpr int kMostDepth = 1'000;                // levels of expressions in expressions, and of macros that call macros
constexpr std::int64_t kLongestRange = 100'000;  // as in Jinja's sandbox

struct FunctionName {
  std::string_view name;
  Callable::Kind kind;
};
constexpr FunctionName kFunctions[] = {{"range", Callable::Kind::range},
                                       {"dict", Callable::Kind::dict},
                                       {"namespace", Callable::Kind::make_namespace},
                                       {"raise_exception", Callable::Kind::raise_exception},
                                       {"strftime_now", Callable::Kind::strftime_now}};

/// Sets a variable for the life of this object.
template <class T>
class Replaced {
 public:
  Replaced(T& variable, T value) : variable_(variable), before_(std::exchange(variable, value)) {}
  ~Replaced() { variable_ = before_; }
  Replaced(const Replaced&) = delete;
  Replaced& operator=(const Replaced&) = delete;

 private:
  T& variable_;
  T before_;
};

Value range(Arguments arguments) {
  std::vector<std::int64_t> bounds;
  for (const Value& bound : arguments.take_placed()) {
    if (!bound.is_integer()) {
      fail_template("gives range ", bound.type_name(), ", expected an int");
    }
    bounds.push_back(bound.integer());
  }
  arguments.end();
  if (bounds.empty() || bounds.size() > 3) {
    fail_template("gives range ", bounds.size(), " arguments, expected one to three");
  }
  const std::int64_t first = bounds.size() == 1 ? 0 : bounds[0], end = bounds.size() == 1 ? bounds[0] : bounds[1];
  const std::int64_t step = bounds.size() == 3 ? bounds[2] : 1;
  if (step == 0) {
    fail_template("gives range the step 0");
  }
  std::vector<Value> items;
  for (std::int64_t at = first; step > 0 ? at < end : at > end;) {
    if (static_cast<std::int64_t>(items.size()) == kLongestRange) {
      fail_template("makes a range of more than ", kLongestRange, " numbers");
    }
    items.emplace_back(at);
    if (__builtin_add_overflow(at, step, &at)) {
      break;
    }
  }
  std::string printed = concat("range(", first, ", ", end, step == 1 ? "" : concat(", ", step), ")");
  return Value::list(std::move(items), ListKind::range, std::move(printed));
}

/// Returns dict(pairs, name=value).
Value make_dict(Rendering& rendering, Arguments arguments) {
  DictItems items;
  const auto set = [&](const Value& key, Value value) {
    require_key(key);
    rendering.charge(items.size() / 16);
    const auto found = std::ranges::find_if(items, [&](const auto& one) { return equal(one.first, key); });
    if (found != items.end()) {
      found->second = std::move(value);
    } else {
      items.emplace_back(key, std::move(value));
    }
  };
  if (const std::vector<Value> given = arguments.take_placed(); given.size() == 1 && given[0].dict()) {
    items = given[0].dict()->items;
  } else if (given.size() == 1) {
    for (const Value& pair : items_of(given[0])) {
      const std::vector<Value> parts = items_of(pair);
      if (parts.size() != 2) {
        fail_template("gives dict an item of ", parts.size(), " values, expected a key and a value");
      }
      set(parts[0], parts[1]);
    }
  } else if (!given.empty()) {
    fail_template("gives dict ", given.size(), " arguments, expected one, and others with names");
  }
  for (auto& [key, value] : arguments.take_named()) {
    set(Value(key), std::move(value));
  }
  return Value::dict(std::move(items));
}

/// Calls loop.cycle() or loop.changed().
Value call_method_of_loop(LoopState& loop, std::string_view name, Arguments arguments) {
  std::vector<Value> values = arguments.take_placed();
  arguments.end();
  if (name == "cycle") {
    if (values.empty()) {
      fail_template("calls loop.cycle without arguments, expected values to choose from");
    }
    return values[loop.at % values.size()];
  }
  if (loop.is_over) {
    fail_template("calls loop.changed after the end of the loop, which is not supported");
  }
  const bool is_changed = !loop.changed || !std::ranges::equal(*loop.changed, values, equal);
  if (is_changed) {
    loop.changed = std::move(values);
  }
  return Value(is_changed);
}

}  // namespace

void Rendering::charge(std::size_t steps) {
  steps_ += steps;
  if (steps_ > kMostSteps) {
    fail_template("takes more than ", kMostSteps, " steps");
  }
}

Value Rendering::evaluate(const Expression& expression) {
  const Replaced deeper(depth_, depth_ + 1);
  if (depth_ > kMostDepth) {
    fail_template("nests calls or expressions more than ", kMostDepth, " levels deep");
  }
  Value value = expression.evaluate(*this);
  charge(1 + value.size() / 64);
  return value;
}

Flow Rendering::execute(const Statements& statements) {
  for (const auto& statement : statements) {
    charge(1);
    line_ = statement->line();
    if (const Flow flow = statement->execute(*this); flow != Flow::next) {
      return flow;
    }
  }
  return Flow::next;
}

Value Rendering::lookup(std::string_view name) {
  for (const Scope* scope = scope_; scope; scope = scope->outer) {
    charge(scope->names.size() / 16);
    const auto found = std::find_if(scope->names.rbegin(), scope->names.rend(), [&](const auto& one) { return one.first == name; });
    if (found != scope->names.rend()) {
      return found->second;
    }
  }
  if (const Value* variable = variables_.find(name)) {
    return *variable;
  }
  for (const FunctionName& function : kFunctions) {
    if (function.name == name) {
      return Value(Callable{.kind = function.kind});
    }
  }
  constexpr std::string_view kOthers[] = {"cycler", "joiner", "lipsum"};
  if (std::ranges::find(kOthers, name) != std::end(kOthers)) {
    fail_template("uses the function ", name, ", which is not supported");
  }
  return Value(Undefined{std::make_shared<const std::string>(name)});
}

void Rendering::assign(std::string_view name, Value value) {
  auto& names = scope_->names;
  const auto found = std::find_if(names.begin(), names.end(), [&](const auto& one) { return one.first == name; });
  if (found != names.end()) {
    found->second = std::move(value);
  } else {
    names.emplace_back(name, std::move(value));
  }
}

void Rendering::print(const MarkedText& text) {
  charge(text.size() / 64);
  output_->append(text);
}

MarkedText Rendering::capture(const Statements& statements, Scope& scope) {
  return capture([&] { execute(statements); }, scope);
}

MarkedText Rendering::capture(const std::function<void()>& print, Scope& scope) {
  MarkedText printed;
  const Replaced output(output_, &printed);
  const Replaced inner(scope_, &scope);
  const Replaced line(line_, line_);
  const Replaced deeper(depth_, depth_ + 8);  // a macro's call uses more of the stack than an expression
  print();
  return printed;
}

Flow Rendering::execute_in(const Statements& statements, Scope& scope) {
  const Replaced inner(scope_, &scope);
  return execute(statements);
}

Value Rendering::evaluate_in(const Expression& expression, Scope& scope) {
  const Replaced inner(scope_, &scope);
  return evaluate(expression);
}

void Rendering::assign_in(const Target& target, const Value& value, Scope& scope) {
  const Replaced inner(scope_, &scope);
  target.assign(*this, value);
}

Flow Rendering::execute_turn(const Target& target, const Value& value, const Statements& body, Scope& scope) {
  const Replaced inner(scope_, &scope);
  target.assign(*this, value);
  return execute(body);
}

bool Rendering::holds_in(const Expression& condition, const Target& target, const Value& value, Scope& scope) {
  const Replaced inner(scope_, &scope);
  target.assign(*this, value);
  return is_true(evaluate(condition));
}

Value Rendering::make_namespace(Arguments arguments) {
  Namespace& names = namespaces_.emplace_back();
  const auto add = [&](std::string name, Value value) {
    charge(names.items.size() / 16);
    std::erase_if(names.items, [&](const auto& item) { return item.first == name; });
    names.items.emplace_back(std::move(name), std::move(value));
  };
  for (const Value& given : arguments.take_placed()) {
    if (!given.dict()) {
      fail_template("gives namespace ", given.type_name(), ", expected names with values");
    }
    for (const auto& [name, value] : given.dict()->items) {
      if (!name.text()) {
        fail_template("gives namespace a dict with ", name.type_name(), " as a key, expected a str");
      }
      add(name.text()->bytes(), value);
    }
  }
  for (auto& [name, value] : arguments.take_named()) {
    add(name, std::move(value));
  }
  return Value(&names);
}

Value Rendering::call_loop(const LoopState& loop, Arguments arguments) {
  const Value over = arguments.need("iterable");
  arguments.end();
  if (loop.recursive == nullptr || loop.is_over) {
    fail_template("calls a loop that is ", loop.is_over ? "over" : "not recursive", ", expected {% for ... recursive %}");
  }
  Scope& outer = *loop.outer;
  return Value(capture([&] { loop.recursive->run(*this, over, outer, loop.depth + 1); }, outer));
}

Value Rendering::call_method(const Value& object, const std::string& name, Arguments arguments) {
  if (LoopState* loop = object.loop(); loop && has_attribute(object, name)) {
    return call_method_of_loop(*loop, name, std::move(arguments));
  }
  if (is_changing_method(object, name)) {
    fail_template("calls the method ", name, " of a ", object.type_name(), ", which Jinja's sandbox forbids");
  }
  const bool is_function = object.names() || object.loop() || object.as<Callable>() || (object.dict() && !has_attribute(object, name));
  return is_function ? call(attribute(object, name), name, std::move(arguments)) : jinja::call_method(object, name, arguments);
}

Value Rendering::call(const Value& function, std::string_view name, Arguments arguments) {
  // Call a method or a recursive loop.
  if (const BoundMethod* method = function.method()) {
    return call_method(method->object, method->name, std::move(arguments));
  }
  if (const LoopState* loop = function.loop()) {
    return call_loop(*loop, std::move(arguments));
  }
  const auto* callable = function.as<Callable>();
  if (!callable) {
    fail_template("calls ", name, ", which is ", function.type_name(), ", expected a function");
  }
  // Call a macro, or a function of the language.
  switch (callable->kind) {
    case Callable::Kind::macro: return callable->macro->signature.call(*this, std::move(arguments), root_);
    case Callable::Kind::range: return range(std::move(arguments));
    case Callable::Kind::make_namespace: return make_namespace(std::move(arguments));
    case Callable::Kind::dict: return make_dict(*this, std::move(arguments));
    case Callable::Kind::raise_exception: {
      const MarkedText sentence = to_text(arguments.need("message"));
      arguments.end();
      throw TemplateRefusal(sentence.bytes());
    }
    case Callable::Kind::strftime_now: {
      const MarkedText format = arguments.need_text("format");
      arguments.end();
      return Value(strftime(date_, format.bytes()));
    }
    case Callable::Kind::caller: break;
  }
  // Call the body of a {% call %} block.
  const Caller caller = callers_[static_cast<std::size_t>(callable->caller)];
  if (!caller.body) {
    fail_template("calls the body of a call block after the block");
  }
  return caller.body->call(*this, std::move(arguments), *caller.scope);
}

Value Rendering::call_with_body(const Suffixed& call, const Signature& body) {
  const std::size_t number = callers_.size();
  callers_.push_back({&body, scope_});
  Value result = call.evaluate_with(*this, Value(Callable{.kind = Callable::Kind::caller, .caller = static_cast<int>(number)}));
  callers_[number].body = nullptr;
  return result;
}

}  // namespace dikkat::jinja
