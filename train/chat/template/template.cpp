#include "train/chat/template/template.h"

#include "train/chat/template/parser.h"
#include "train/chat/template/rendering.h"
#include "train/text/utf8.h"

namespace dikkat::jinja {
namespace {

constexpr std::size_t kMostSource = std::size_t{1} << 20;

}  // namespace

struct Template::Tree {
  Statements statements;
};

Template::Template(std::string_view source) : source_(source) {
  if (source.size() > kMostSource) {
    fail_template("has ", source.size(), " bytes, expected at most ", kMostSource);
  }
  if (const std::optional<index> invalid = utf8::first_invalid(source)) {
    fail_template("is ", utf8::refusal(source, *invalid));
  }
  auto tree = std::make_unique<Tree>();
  tree->statements = parse_template(source_);
  tree_ = std::move(tree);
}

Template::Template(Template&&) noexcept = default;
Template& Template::operator=(Template&&) noexcept = default;
Template::~Template() = default;

MarkedText Template::render(const DictValue& variables, const CalendarDate& date) const {
  Rendering rendering(variables, date);
  try {
    rendering.execute(tree_->statements);
  } catch (const TemplateRefusal&) {
    throw;
  } catch (const TemplateError& error) {
    throw TemplateError(concat("line ", rendering.line(), ": ", error.what()));
  }
  return rendering.take_output();
}

}  // namespace dikkat::jinja
