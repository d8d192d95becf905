#include "train/chat/template/parser.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <set>

#include "train/chat/template/lexer.h"
#include "train/chat/template/template_error.h"

namespace dikkat::jinja {
namespace {

using Kind = TemplateToken::Kind;

constexpr int kMostLevels = 100;  // the most levels of nested expressions and blocks, which use the stack

/// Parses by recursive descent. Each function reads the construct in its name from the current token, and leaves the next one current.
class Parser {
 public:
  explicit Parser(std::string_view source) : tokens_(template_tokens(source)) {}

  Statements parse() {
    Statements statements = block({});
    return statements;
  }

 private:
  // Tokens.

  const TemplateToken& now() const { return tokens_[at_]; }
  const TemplateToken& ahead() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  bool is_symbol(std::string_view text) const { return now().is(Kind::symbol, text); }
  bool is_name(std::string_view text) const { return now().is(Kind::name, text); }

  const TemplateToken& take() {
    const TemplateToken& token = tokens_[at_];
    at_ = std::min(at_ + 1, tokens_.size() - 1);
    return token;
  }
  bool take_symbol(std::string_view text) { return is_symbol(text) && (take(), true); }
  bool take_name(std::string_view text) { return is_name(text) && (take(), true); }

  static std::string described(const TemplateToken& token) {
    switch (token.kind) {
      case Kind::text: return "text";
      case Kind::print_begin: return "{{";
      case Kind::print_end: return "}}";
      case Kind::statement_begin: return "{%";
      case Kind::statement_end: return "%}";
      case Kind::string: return concat("'", token.text, "'");
      case Kind::end: return "the end of the template";
      default: return token.text;
    }
  }

  [[noreturn]] void fail_expected(std::string_view expected) const {
    fail_template("line ", now().line, ": has ", described(now()), ", expected ", expected);
  }
  void need_symbol(std::string_view text) {
    if (!take_symbol(text)) {
      fail_expected(concat("'", text, "'"));
    }
  }
  void need(Kind kind, std::string_view what) {
    if (now().kind != kind) {
      fail_expected(what);
    }
    take();
  }
  std::string need_name() {
    if (now().kind != Kind::name) {
      fail_expected("a name");
    }
    return take().text;
  }

  /// Counts the levels of nesting.
  class Level {
   public:
    explicit Level(Parser& parser) : parser_(parser) {
      if (++parser_.levels_ > kMostLevels) {
        fail_template("line ", parser_.now().line, ": nests more than ", kMostLevels, " levels deep");
      }
    }
    ~Level() { --parser_.levels_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Parser& parser_;
  };

  // Statements.

  /// Reads statements up to a tag with one of these names, and leaves the name current; without names up to the end.
  Statements block(std::initializer_list<std::string_view> ends) {
    const Level level(*this);
    Statements statements;
    for (;;) {
      const int line = now().line;
      if (now().kind == Kind::text) {
        statements.push_back(std::make_unique<TextStatement>(line, take().text));
      } else if (now().kind == Kind::print_begin) {
        take();
        auto print = std::make_unique<PrintStatement>(line);
        print->value = tuple_or_expression();
        need(Kind::print_end, "}}");
        statements.push_back(std::move(print));
      } else if (now().kind == Kind::statement_begin) {
        take();
        if (now().kind != Kind::name) {
          fail_expected("the name of a tag");
        }
        if (std::find(ends.begin(), ends.end(), now().text) != ends.end()) {
          return statements;
        }
        statements.push_back(statement(line));
      } else if (ends.size() == 0) {
        return statements;
      } else {
        fail_expected(concat("{% ", *(ends.end() - 1), " %}"));
      }
    }
  }

  /// Reads a block up to one tag, and the tag.
  Statements block_until(std::string_view end) {
    need(Kind::statement_end, "%}");
    Statements statements = block({end});
    take();
    need(Kind::statement_end, "%}");
    return statements;
  }

  std::unique_ptr<const Statement> statement(int line) {
    const std::string tag = take().text;
    // Read the rest of a known statement.
    if (tag == "if") {
      return if_statement(line);
    }
    if (tag == "for") {
      return for_statement(line);
    }
    if (tag == "set") {
      return set_statement(line);
    }
    if (tag == "macro") {
      return macro(line);
    }
    if (tag == "call") {
      return call_statement(line);
    }
    if (tag == "filter") {
      return filter_statement(line);
    }
    if (tag == "with") {
      return with_statement(line);
    }
    if (tag == "print") {
      return print_statement(line);
    }
    if (tag == "generation") {
      auto generation = std::make_unique<GenerationStatement>(line);
      generation->body = block_until("endgeneration");
      return generation;
    }
    if (tag == "break" || tag == "continue") {
      if (loops_ == 0) {
        fail_template("line ", line, ": has {% ", tag, " %} outside of a loop, or in a block within a loop whose text becomes a value");
      }
      need(Kind::statement_end, "%}");
      return std::make_unique<LoopControl>(line, tag == "break" ? Flow::break_loop : Flow::continue_loop);
    }
    // Explain a tag that begins no statement.
    constexpr std::string_view kEnds[] = {"elif",    "else",          "endif",     "endfor",  "endset", "endmacro",
                                          "endcall", "endgeneration", "endfilter", "endwith", "endraw"};
    if (std::find(std::begin(kEnds), std::end(kEnds), tag) != std::end(kEnds)) {
      fail_template("line ", line, ": has {% ", tag, " %} without its beginning");
    }
    fail_template("line ", line, ": has the tag ", tag, ", which is not supported");
  }

  std::unique_ptr<const Statement> if_statement(int line) {
    auto made = std::make_unique<IfStatement>(line);
    for (;;) {
      ExpressionPtr condition = tuple_or_expression();
      need(Kind::statement_end, "%}");
      made->branches.emplace_back(std::move(condition), block({"elif", "else", "endif"}));
      const std::string tag = take().text;
      if (tag == "else") {
        made->otherwise = block_until("endif");
        return made;
      }
      if (tag == "endif") {
        need(Kind::statement_end, "%}");
        return made;
      }
    }
  }

  std::unique_ptr<const Statement> for_statement(int line) {
    auto made = std::make_unique<ForStatement>(line);
    made->target = target(false);
    if (!take_name("in")) {
      fail_expected("in");
    }
    made->items = logical("or");  // an if after it is the loop's condition
    if (is_symbol(",")) {
      made->items = tuple_from(std::move(made->items));
    }
    if (take_name("if")) {
      made->condition = expression();
    }
    made->is_recursive = take_name("recursive");
    need(Kind::statement_end, "%}");
    ++loops_;
    made->body = block({"else", "endfor"});
    --loops_;
    if (take().text == "else") {
      made->otherwise = block_until("endfor");
    } else {
      need(Kind::statement_end, "%}");
    }
    return made;
  }

  std::unique_ptr<const Statement> set_statement(int line) {
    auto made = std::make_unique<SetStatement>(line);
    made->target = target(true);
    if (take_symbol("=")) {
      made->value = tuple_or_expression();
      need(Kind::statement_end, "%}");
      return made;
    }
    while (is_symbol("|")) {
      made->filters.push_back(filter());
    }
    made->body = captured_block("endset");
    return made;
  }

  /// Reads a block up to one tag, and the tag. Its output becomes a value, so it cannot end a loop around it.
  Statements captured_block(std::string_view end) {
    const int loops = std::exchange(loops_, 0);
    Statements body = block_until(end);
    loops_ = loops;
    return body;
  }

  std::unique_ptr<const Statement> filter_statement(int line) {
    auto made = std::make_unique<FilterStatement>(line);
    do {
      made->filters.push_back(named_filter());
    } while (take_symbol("|"));
    made->body = captured_block("endfilter");
    return made;
  }

  std::unique_ptr<const Statement> with_statement(int line) {
    auto made = std::make_unique<WithStatement>(line);
    while (now().kind != Kind::statement_end) {
      if (!made->values.empty()) {
        need_symbol(",");
      }
      Target name = target(false);
      need_symbol("=");
      made->values.emplace_back(std::move(name), expression());
    }
    made->body = block_until("endwith");
    return made;
  }

  std::unique_ptr<const Statement> print_statement(int line) {
    auto parts = std::make_unique<Concatenation>();
    do {
      parts->parts.push_back(expression());
    } while (take_symbol(","));
    need(Kind::statement_end, "%}");
    auto made = std::make_unique<PrintStatement>(line);
    made->value = std::move(parts);
    return made;
  }

  Target target(bool with_attribute) {
    Target made;
    const bool in_brackets = take_symbol("(");
    made.names.push_back(target_name());
    if (with_attribute && take_symbol(".")) {
      made.attribute = need_name();
      return made;
    }
    while (take_symbol(",")) {
      made.unpacks = true;
      if (now().kind != Kind::name || is_name("in")) {
        break;
      }
      made.names.push_back(target_name());
    }
    if (in_brackets) {
      need_symbol(")");
    }
    return made;
  }

  std::string target_name() {
    constexpr std::string_view kReserved[] = {"true", "false", "none", "True", "False", "None", "not",
                                              "and",  "or",    "if",   "else", "in",    "is"};
    if (std::find(std::begin(kReserved), std::end(kReserved), now().text) != std::end(kReserved)) {
      fail_expected("a name to set");
    }
    for (BodyNames& names : body_names_) {
      names.set.insert(now().text);
    }
    return need_name();
  }

  std::unique_ptr<const Statement> macro(int line) {
    auto made = std::make_unique<Macro>(line);
    made->name = target_name();
    need_symbol("(");
    read_parameters(line, made->signature);
    read_body(line, "endmacro", made->signature);
    return made;
  }

  /// Reads parameters, after the opening bracket, and the closing one.
  void read_parameters(int line, Signature& made) {
    while (!take_symbol(")")) {
      std::string parameter = target_name();
      ExpressionPtr otherwise;
      if (take_symbol("=")) {
        otherwise = expression();
      } else if (!made.parameters.empty() && made.parameters.back().second) {
        fail_template("line ", line, ": has a parameter without a default behind one with a default");
      }
      made.parameters.emplace_back(std::move(parameter), std::move(otherwise));
      if (!is_symbol(")")) {
        need_symbol(",");
      }
    }
  }

  /// Reads the body of a macro or a call block, whose parameters were read.
  void read_body(int line, std::string_view end, Signature& made) {
    const auto parameter = [&](std::string_view name) {
      return std::ranges::find_if(made.parameters, [&](const auto& one) { return one.first == name; });
    };
    body_names_.emplace_back();
    made.body = captured_block(end);
    const BodyNames names = std::move(body_names_.back());
    body_names_.pop_back();
    const auto is_read = [&](std::string_view name) { return names.read.contains(name); };
    made.uses_caller = is_read("caller");
    made.uses_kwargs = is_read("kwargs") && parameter("kwargs") == made.parameters.end();
    made.uses_varargs = is_read("varargs") && parameter("varargs") == made.parameters.end();
    if (const auto caller = parameter("caller"); made.uses_caller && caller != made.parameters.end() && !caller->second) {
      fail_template("line ", line, ": has the parameter caller without a default, expected none of this name, or a default such as none");
    }
  }

  std::unique_ptr<const Statement> call_statement(int line) {
    auto made = std::make_unique<CallStatement>(line);
    if (take_symbol("(")) {
      read_parameters(line, made->signature);
    }
    ExpressionPtr called = expression();
    const auto* const call = dynamic_cast<const Suffixed*>(called.get());
    if (!call || !call->is_call()) {
      fail_template("line ", line, ": has a call block without a call, expected {% call macro(...) %}");
    }
    called.release();
    made->call.reset(call);
    read_body(line, "endcall", made->signature);
    return made;
  }

  // Expressions, from those that bind least.

  ExpressionPtr expression() {
    const Level level(*this);
    ExpressionPtr value = logical("or");
    for (int conditions = 1; take_name("if"); ++conditions) {
      if (conditions > kMostLevels) {
        fail_template("line ", now().line, ": has more than ", kMostLevels, " conditions behind a value");
      }
      auto made = std::make_unique<Conditional>();
      made->value = std::move(value);
      made->condition = logical("or");
      if (take_name("else")) {
        made->otherwise = expression();
      }
      value = std::move(made);
    }
    return value;
  }

  ExpressionPtr tuple_or_expression() {
    ExpressionPtr first = expression();
    return is_symbol(",") ? tuple_from(std::move(first)) : std::move(first);
  }

  /// Reads the rest of a tuple without brackets, whose first item was read.
  ExpressionPtr tuple_from(ExpressionPtr first) {
    auto made = std::make_unique<ListExpression>();
    made->is_tuple = true;
    made->items.push_back(std::move(first));
    while (take_symbol(",")) {
      if (now().kind == Kind::print_end || now().kind == Kind::statement_end || is_symbol(")")) {
        break;
      }
      made->items.push_back(expression());
    }
    return made;
  }

  ExpressionPtr logical(std::string_view op) {
    const bool is_and = op == "and";
    const auto operand = [&] { return is_and ? negation() : logical("and"); };
    ExpressionPtr first = operand();
    if (!is_name(op)) {
      return first;
    }
    auto made = std::make_unique<Logical>();
    made->is_and = is_and;
    made->operands.push_back(std::move(first));
    while (take_name(op)) {
      made->operands.push_back(operand());
    }
    return made;
  }

  ExpressionPtr negation() {
    if (!is_name("not")) {
      return comparison();
    }
    const Level level(*this);
    take();
    return unary_of(Unary::Op::negation, negation());
  }

  static ExpressionPtr unary_of(Unary::Op op, ExpressionPtr operand) {
    auto made = std::make_unique<Unary>();
    made->op = op;
    made->operand = std::move(operand);
    return made;
  }

  std::optional<CompareOp> take_comparison() {
    constexpr std::pair<std::string_view, CompareOp> kOps[] = {{"==", CompareOp::equal},  {"!=", CompareOp::unequal},
                                                               {"<", CompareOp::less},    {"<=", CompareOp::less_equal},
                                                               {">", CompareOp::greater}, {">=", CompareOp::greater_equal}};
    for (const auto& [symbol, op] : kOps) {
      if (take_symbol(symbol)) {
        return op;
      }
    }
    if (take_name("in")) {
      return CompareOp::in;
    }
    if (is_name("not") && ahead().is(Kind::name, "in")) {
      take();
      take();
      return CompareOp::not_in;
    }
    return std::nullopt;
  }

  ExpressionPtr comparison() {
    ExpressionPtr first = sum();
    std::optional<CompareOp> op = take_comparison();
    if (!op) {
      return first;
    }
    auto made = std::make_unique<Comparison>();
    made->first = std::move(first);
    for (; op; op = take_comparison()) {
      made->rest.emplace_back(*op, sum());
    }
    return made;
  }

  using Operators = std::initializer_list<std::pair<std::string_view, BinaryOp>>;

  ExpressionPtr arithmetic(Operators operators, ExpressionPtr (Parser::*operand)()) {
    ExpressionPtr first = (this->*operand)();
    std::unique_ptr<Arithmetic> made;
    for (;;) {
      const auto* const op = std::find_if(operators.begin(), operators.end(), [&](const auto& one) { return is_symbol(one.first); });
      if (op == operators.end()) {
        break;
      }
      take();
      if (!made) {
        made = std::make_unique<Arithmetic>();
        made->first = std::move(first);
      }
      made->rest.emplace_back(op->second, (this->*operand)());
    }
    return made ? ExpressionPtr(std::move(made)) : std::move(first);
  }

  ExpressionPtr sum() { return arithmetic({{"+", BinaryOp::add}, {"-", BinaryOp::subtract}}, &Parser::concatenation); }

  ExpressionPtr concatenation() {
    ExpressionPtr first = product();
    if (!is_symbol("~")) {
      return first;
    }
    auto made = std::make_unique<Concatenation>();
    made->parts.push_back(std::move(first));
    while (take_symbol("~")) {
      made->parts.push_back(product());
    }
    return made;
  }

  ExpressionPtr product() {
    return arithmetic({{"*", BinaryOp::multiply}, {"/", BinaryOp::divide}, {"//", BinaryOp::floor_divide}, {"%", BinaryOp::modulo}},
                      &Parser::power);
  }

  ExpressionPtr power() { return arithmetic({{"**", BinaryOp::power}}, &Parser::filtered); }

  /// Reads an operand with all its suffixes. A filter is applied to -a, not to a.
  ExpressionPtr filtered() {
    auto made = std::make_unique<Suffixed>();
    made->operand = signed_operand(*made);
    for (;;) {
      if (is_symbol("|")) {
        made->suffixes.push_back(filter());
      } else if (is_name("is")) {
        made->suffixes.push_back(test());
      } else if (is_symbol("(")) {
        take();
        made->suffixes.push_back({.kind = Suffix::Kind::call, .arguments = call_arguments()});
      } else {
        break;
      }
    }
    return made->suffixes.empty() ? std::move(made->operand) : ExpressionPtr(std::move(made));
  }

  ExpressionPtr signed_operand(Suffixed& named) {
    const Level level(*this);
    if (is_symbol("-") || is_symbol("+")) {
      const Unary::Op op = take().text == "-" ? Unary::Op::minus : Unary::Op::plus;
      return unary_of(op, signed_operand(named));
    }
    auto made = std::make_unique<Suffixed>();
    if (now().kind == Kind::name) {
      made->operand_name = named.operand_name = now().text;
    }
    made->operand = primary();
    while (is_symbol(".") || is_symbol("[") || is_symbol("(")) {
      made->suffixes.push_back(access());
    }
    return made->suffixes.empty() ? std::move(made->operand) : ExpressionPtr(std::move(made));
  }

  Suffix access() {
    const std::string symbol = take().text;
    if (symbol == "(") {
      return {.kind = Suffix::Kind::call, .arguments = call_arguments()};
    }
    if (symbol == "[") {
      return item_or_slice();
    }
    if (now().kind == Kind::integer) {
      return {.kind = Suffix::Kind::item, .item = primary()};
    }
    std::string name = need_name();
    if (take_symbol("(")) {
      return {.kind = Suffix::Kind::method, .name = std::move(name), .arguments = call_arguments()};
    }
    return {.kind = Suffix::Kind::attribute, .name = std::move(name)};
  }

  Suffix item_or_slice() {
    Suffix made{.kind = Suffix::Kind::item};
    const auto is_bound_missing = [&] { return is_symbol(":") || is_symbol("]"); };
    if (!is_symbol(":")) {
      made.item = expression();
    }
    if (take_symbol(":")) {
      made.kind = Suffix::Kind::slice;
      made.end = is_bound_missing() ? nullptr : expression();
      if (take_symbol(":")) {
        made.step = is_bound_missing() ? nullptr : expression();
      }
    }
    need_symbol("]");
    return made;
  }

  /// Reads the arguments of a call, after the opening bracket, and the closing one.
  CallArguments call_arguments() {
    CallArguments made;
    while (!take_symbol(")")) {
      if (take_symbol("**")) {
        made.named.emplace_back("", expression());
      } else if (take_symbol("*")) {
        made.placed.emplace_back(expression(), true);
      } else if (now().kind == Kind::name && ahead().is(Kind::symbol, "=")) {
        std::string name = take().text;
        take();
        made.named.emplace_back(std::move(name), expression());
      } else if (made.named.empty()) {
        made.placed.emplace_back(expression(), false);
      } else {
        fail_expected("an argument with a name, since the one before it has a name");
      }
      if (!is_symbol(")")) {
        need_symbol(",");
      }
    }
    return made;
  }

  Suffix filter() {
    take();
    return named_filter();
  }

  /// Reads a filter without the sign before it.
  Suffix named_filter() {
    Suffix made{.kind = Suffix::Kind::filter, .name = need_name()};
    made.filter = find_filter(made.name);
    if (take_symbol("(")) {
      made.arguments = call_arguments();
    }
    return made;
  }

  Suffix test() {
    take();
    Suffix made{.kind = take_name("not") ? Suffix::Kind::negated_test : Suffix::Kind::test};
    made.name = need_name();
    made.test = find_test(made.name);
    if (take_symbol("(")) {
      made.arguments = call_arguments();
      return made;
    }
    // A single argument needs no brackets.
    const bool is_operator =
        is_name("else") || is_name("or") || is_name("and") || is_name("is") || is_name("if") || is_name("not") || is_name("in");
    const bool begins_operand = now().kind == Kind::string || now().kind == Kind::integer || now().kind == Kind::real || is_symbol("[") ||
                                is_symbol("{") || (now().kind == Kind::name && !is_operator);
    if (begins_operand) {
      Suffixed unused;
      made.arguments.placed.emplace_back(signed_operand(unused), false);
    }
    return made;
  }

  ExpressionPtr primary() {
    const TemplateToken& token = now();
    // Read a name or a literal.
    switch (token.kind) {
      case Kind::name: return name_or_constant();
      case Kind::string: {
        std::string text;
        while (now().kind == Kind::string) {  // neighboring strings are one
          text += take().text;
        }
        return std::make_unique<Literal>(Value(text));
      }
      case Kind::integer: return std::make_unique<Literal>(Value::integer_of(take().text));
      case Kind::real: {
        double number = 0;
        std::from_chars(token.text.data(), token.text.data() + token.text.size(), number);
        take();
        return std::make_unique<Literal>(Value(number));
      }
      default: break;
    }
    // Read brackets: a group or tuple, a list, or a dict.
    if (take_symbol("(")) {
      return in_brackets();
    }
    if (take_symbol("[")) {
      auto made = std::make_unique<ListExpression>();
      while (!take_symbol("]")) {
        made->items.push_back(expression());
        if (!is_symbol("]")) {
          need_symbol(",");
        }
      }
      return made;
    }
    if (take_symbol("{")) {
      auto made = std::make_unique<DictExpression>();
      while (!take_symbol("}")) {
        ExpressionPtr key = expression();
        need_symbol(":");
        made->items.emplace_back(std::move(key), expression());
        if (!is_symbol("}")) {
          need_symbol(",");
        }
      }
      return made;
    }
    fail_expected("a value");
  }

  ExpressionPtr name_or_constant() {
    const std::string& name = take().text;
    if (name == "true" || name == "True" || name == "false" || name == "False") {
      return std::make_unique<Literal>(Value(name == "true" || name == "True"));
    }
    if (name == "none" || name == "None") {
      return std::make_unique<Literal>(Value(nullptr));
    }
    for (BodyNames& names : body_names_) {
      if (!names.set.contains(name)) {
        names.read.insert(name);
      }
    }
    return std::make_unique<Name>(name);
  }

  ExpressionPtr in_brackets() {
    if (take_symbol(")")) {
      auto empty = std::make_unique<ListExpression>();
      empty->is_tuple = true;
      return empty;
    }
    ExpressionPtr value = tuple_or_expression();
    need_symbol(")");
    return value;
  }

  std::vector<TemplateToken> tokens_;
  std::size_t at_ = 0;
  int levels_ = 0;
  int loops_ = 0;  // the number of open loops

  /// The names that the body of a macro or a call block reads before it sets them.
  struct BodyNames {
    std::set<std::string, std::less<>> read{}, set{};
  };
  std::vector<BodyNames> body_names_;  // the names in the open bodies
};

}  // namespace

Statements parse_template(std::string_view source) { return Parser(source).parse(); }

}  // namespace dikkat::jinja
