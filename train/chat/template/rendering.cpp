#include "train/chat/template/rendering.h"

#include <algorithm>

#include "train/chat/template/template_error.h"

namespace dikkat::jinja {
namespace {

constexpr std::size_t kMostSteps = 10'000'000;
constexpr int kMostDepth = 1'000;                // of expressions within expressions, and of macros that call macros
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
  return Value::list(std::move(items));
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
  MarkedText printed;
  const Replaced output(output_, &printed);
  const Replaced inner(scope_, &scope);
  const Replaced line(line_, line_);
  const Replaced deeper(depth_, depth_ + 8);  // a macro's call uses more of the stack than an expression
  execute(statements);
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
    std::erase_if(names.items, [&](const auto& item) { return item.first == name; });
    names.items.emplace_back(std::move(name), std::move(value));
  };
  for (const Value& given : arguments.take_placed()) {
    if (!given.dict()) {
      fail_template("gives namespace ", given.type_name(), ", expected names with values");
    }
    for (const auto& [name, value] : given.dict()->items) {
      add(name.bytes(), value);
    }
  }
  for (auto& [name, value] : arguments.take_named()) {
    add(name, std::move(value));
  }
  return Value(&names);
}

Value Rendering::call(const Value& function, std::string_view name, Arguments arguments) {
  const auto* callable = function.as<Callable>();
  if (!callable) {
    fail_template("calls ", name, ", which is ", function.type_name(), ", expected a function");
  }
  switch (callable->kind) {
    case Callable::Kind::macro: return callable->macro->call(*this, std::move(arguments), Value());
    case Callable::Kind::range: return range(std::move(arguments));
    case Callable::Kind::make_namespace: return make_namespace(std::move(arguments));
    case Callable::Kind::dict: {
      std::vector<std::pair<MarkedText, Value>> items;
      for (auto& [key, value] : arguments.take_named()) {
        items.emplace_back(MarkedText(key), std::move(value));
      }
      arguments.end();
      return Value::dict(std::move(items));
    }
    case Callable::Kind::raise_exception: {
      const MarkedText sentence = to_text(arguments.need("message"));
      arguments.end();
      throw TemplateRefusal(sentence.bytes());
    }
    case Callable::Kind::strftime_now: {
      const MarkedText format = arguments.need_text("format");
      arguments.end();
      return Value(date_.format(format.bytes()));
    }
    case Callable::Kind::caller: break;
  }
  arguments.end();
  const Caller& caller = callers_[static_cast<std::size_t>(callable->caller)];
  if (!caller.body) {
    fail_template("calls the body of a call block after the block");
  }
  Scope scope{.outer = caller.scope};
  return Value(capture(*caller.body, scope));
}

Value Rendering::call_with_body(const Value& function, std::string_view name, Arguments arguments, const Statements& body) {
  const auto* callable = function.as<Callable>();
  if (!callable || callable->kind != Callable::Kind::macro) {
    fail_template("has a call block of ", name, ", which is ", function.type_name(), ", expected a macro");
  }
  const std::size_t number = callers_.size();
  callers_.push_back({&body, scope_});
  Value text = callable->macro->call(*this, std::move(arguments),
                                     Value(Callable{.kind = Callable::Kind::caller, .caller = static_cast<int>(number)}));
  callers_[number].body = nullptr;
  return text;
}

}  // namespace dikkat::jinja
