#include <algorithm>
#include <iterator>

#include "train/chat/template/builtins.h"
#include "train/chat/template/text_methods.h"

namespace dikkat::jinja {
namespace {

bool is_odd(const Value& value, Arguments& arguments) {
  if (!value.is_whole()) {
    fail_template("asks ", arguments.function(), " of ", value.type_name(), ", expected an int");
  }
  return (value.digits().back() - '0') % 2 != 0;
}

std::int64_t need_integer(const Value& value, Arguments& arguments) {
  if (!value.is_integer()) {
    fail_template("asks ", arguments.function(), " of ", value.type_name(), ", expected an int of 64 bits");
  }
  return value.integer();
}

bool is_divisible(const Value& value, Arguments& arguments) {
  const Value by = arguments.need("num");
  const std::int64_t divisor = need_integer(by, arguments);
  if (divisor == 0) {
    fail_template("divides by zero");
  }
  return divisor == -1 || need_integer(value, arguments) % divisor == 0;
}

bool is_iterable(const Value& value) { return value.text() || value.list() || value.dict() || value.loop() || value.is_undefined(); }

/// Returns whether Python's type has a length and indices.
bool is_sequence(const Value& value) {
  return value.list() ? value.list()->kind <= ListKind::range : value.text() || value.dict() || value.is_undefined();
}

bool is_callable(const Value& value) { return value.as<Callable>() || value.method() || value.loop() || value.is_undefined(); }

/// Returns whether two values are one object. Only for None, True and False this does not depend on Python's implementation.
bool is_same(const Value& value, Arguments& arguments) {
  const Value other = arguments.need("other");
  const auto is_single = [](const Value& one) { return one.is_none() || one.as<bool>(); };
  if (!is_single(value) && !is_single(other)) {
    fail_template("asks whether two values of the types ", value.type_name(), " and ", other.type_name(),
                  " are one object, which is supported only for None, true and false");
  }
  return is_single(value) && is_single(other) && value.is_none() == other.is_none() && equal(value, other);
}

bool equals(const Value& v, Arguments& a) { return equal(v, a.need("other")); }
bool differs(const Value& v, Arguments& a) { return !equal(v, a.need("other")); }
bool is_less(const Value& v, Arguments& a) { return compare(v, a.need("other")) < 0; }
bool is_less_or_equal(const Value& v, Arguments& a) { return compare(v, a.need("other")) <= 0; }
bool is_greater(const Value& v, Arguments& a) { return compare(v, a.need("other")) > 0; }
bool is_greater_or_equal(const Value& v, Arguments& a) { return compare(v, a.need("other")) >= 0; }

struct NamedTest {
  std::string_view name;
  Test test;
};

constexpr NamedTest kTests[] = {
    {"!=", differs},
    {"<", is_less},
    {"<=", is_less_or_equal},
    {"==", equals},
    {">", is_greater},
    {">=", is_greater_or_equal},
    {"boolean", [](const Value& v, Arguments&) { return v.as<bool>() != nullptr; }},
    {"callable", [](const Value& v, Arguments&) { return is_callable(v); }},
    {"defined", [](const Value& v, Arguments&) { return !v.is_undefined(); }},
    {"divisibleby", is_divisible},
    {"eq", equals},
    {"equalto", equals},
    {"escaped", [](const Value& v, Arguments&) { return v.is_safe(); }},
    {"even", [](const Value& v, Arguments& a) { return !is_odd(v, a); }},
    {"false", [](const Value& v, Arguments&) { return v.as<bool>() && !*v.as<bool>(); }},
    {"float", [](const Value& v, Arguments&) { return v.as<double>() != nullptr; }},
    {"ge", is_greater_or_equal},
    {"greaterthan", is_greater},
    {"gt", is_greater},
    {"in", [](const Value& v, Arguments& a) { return contains(a.need("seq"), v); }},
    {"integer", [](const Value& v, Arguments&) { return v.is_whole() && !v.as<bool>(); }},
    {"iterable", [](const Value& v, Arguments&) { return is_iterable(v); }},
    {"le", is_less_or_equal},
    {"lessthan", is_less},
    {"lower", [](const Value& v, Arguments&) { return is_in_case(to_text(v), false); }},
    {"lt", is_less},
    {"mapping", [](const Value& v, Arguments&) { return v.dict() != nullptr; }},
    {"ne", differs},
    {"none", [](const Value& v, Arguments&) { return v.is_none(); }},
    {"number", [](const Value& v, Arguments&) { return v.is_number(); }},
    {"odd", is_odd},
    {"sameas", is_same},
    {"sequence", [](const Value& v, Arguments&) { return is_sequence(v); }},
    {"string", [](const Value& v, Arguments&) { return v.text() != nullptr; }},
    {"true", [](const Value& v, Arguments&) { return v.as<bool>() && *v.as<bool>(); }},
    {"undefined", [](const Value& v, Arguments&) { return v.is_undefined(); }},
    {"upper", [](const Value& v, Arguments&) { return is_in_case(to_text(v), true); }},
};

}  // namespace

Test find_test(std::string_view name) {
  const auto* const found = std::lower_bound(std::begin(kTests), std::end(kTests), name,
                                             [](const NamedTest& some, std::string_view wanted) { return some.name < wanted; });
  return found != std::end(kTests) && found->name == name ? found->test : nullptr;
}

}  // namespace dikkat::jinja
