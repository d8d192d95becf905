#include "train/grammar/json_schema.h"

#include <algorithm>
#include <cctype>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "train/grammar/character_automaton.h"
#include "train/grammar/json_formats.h"
#include "train/grammar/json_grammar.h"
#include "train/grammar/node.h"
#include "train/grammar/number_range.h"
#include "train/grammar/regex.h"
#include "train/grammar/schema_apart.h"
#include "train/grammar/schema_place.h"
#include "train/system/json.h"

namespace dikkat {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMostSchemaLevels = 64;
constexpr index kMostItems = 100'000;
constexpr std::size_t kMostPrefixItems = 1000;
constexpr std::size_t kMostFacts = 100;
constexpr std::size_t kMostWork = 2'000'000;     // SchemaEffort::work
constexpr std::size_t kWorkOfProgress = 10'000;  // between two calls of on_progress
constexpr std::size_t kWorkOfPart = 4;           // work of a part of anyOf and oneOf, whose places take memory
constexpr int kMostReferencesAround = 500;       // $ref and allOf within one another, which use the stack

/// Keywords without effect on the texts.
constexpr std::string_view kAnnotations[] = {
    "title",           "description",      "default",       "examples",      "example",     "$schema", "$id",
    "$comment",        "$anchor",          "deprecated",    "readOnly",      "writeOnly",   "$defs",   "definitions",
    "contentEncoding", "contentMediaType", "contentSchema", "discriminator", "externalDocs"};
/// Keywords about values of all types.
constexpr std::string_view kGeneral[] = {"type", "enum", "const", "$ref", "allOf", "anyOf", "oneOf", "not", "nullable"};

bool is_keyword(std::string_view name) {
  return name.starts_with("x-") || std::ranges::find(kAnnotations, name) != std::end(kAnnotations) ||
         std::ranges::find(kGeneral, name) != std::end(kGeneral) ||
         std::ranges::find(type_keywords(), name, &TypeKeyword::name) != type_keywords().end();
}

/// Returns a grammar that matches no text.
Grammar nothing() { return any_of({}); }

Grammar ways_of(std::vector<Grammar> ways) {
  std::erase_if(ways, has_no_text);
  return ways.size() == 1 ? ways[0] : any_of(std::move(ways));
}

Grammar any_characters() { return repeat(one_character({{0, utf8::kLastCodePoint}}), 0); }

/// Schemas of which a value must match one.
struct Choice {
  std::vector<SchemaPlace> parts;
  bool is_one_of;    // it may not match two
  std::string path;  // path of the keyword
};

/// The schemas that a value must match: all facts and all choices. The $ref, allOf, anyOf, oneOf and nullable of facts have been read.
struct Demand {
  std::vector<SchemaPlace> facts;
  std::vector<std::shared_ptr<const Choice>> choices;
  bool is_impossible = false;
  bool has_reference = false;
  bool has_tags = false;                          // the object whose properties are the arguments between tags
  ArgumentTypes::value_type* argument = nullptr;  // the argument between tags whose value this is; null: not one

  void note_types(unsigned types) const {
    if (argument != nullptr) {
      argument->second |= types;
    }
  }
};

class SchemaReader {
 public:
  SchemaReader(const Json& root, const SchemaOptions& options, ArgumentTypes known = {})
      : root_(root), options_(options), known_(std::move(known)), effort_(options.effort == nullptr ? own_effort_ : *options.effort) {}

  Grammar read_all() {
    Demand all;
    all.has_tags = form_.has_tags();
    add({&root_, &root_, "", ""}, all);
    Grammar start = read(std::move(all), "", 0);
    if (has_no_text(start)) {
      refuse_schema("", "allows no value");
    }
    std::vector<std::pair<Rule, Grammar>> rules;
    while (!waiting_.empty()) {
      auto [rule, demand] = std::move(waiting_.front());
      waiting_.pop_front();
      const std::string path = demand.facts.empty() ? demand.choices.front()->path : demand.facts.front().path;
      Grammar grammar = read(std::move(demand), path, 0);
      rules.emplace_back(std::move(rule), with_name(std::move(grammar), path));
    }
    for (const auto& [choice, types_beside] : one_ofs_) {
      require_apart(choice->parts, choice->path, types_beside, effort_.comparisons);
      report_progress();
    }
    return with_rules(with_name(std::move(start), ""), std::move(rules));
  }

  /// Returns the types of the arguments between tags.
  ArgumentTypes read_types() {
    read_all();
    return types_;
  }

 private:
  /// Counts states that the grammar needs at least.
  void count(std::size_t states, const std::string& path) {
    effort_.states += states;
    if (effort_.states > static_cast<std::size_t>(kMostGrammarStates)) {
      refuse_schema(path, "makes the schema too large: it needs more than ", kMostGrammarStates, " states; shorten it, or leave parts out");
    }
  }

  /// Counts work, which is not proportional to the states: a target of $ref is read again each time.
  void spend(std::size_t work, const std::string& path) {
    effort_.work += work;
    if (effort_.work > kMostWork) {
      refuse_schema(path, "takes too much work: what $ref leads to is read each time, and anyOf beside anyOf has all pairs of their ",
                    "schemas; write fewer, and shorter patterns and names");
    }
    if (effort_.work >= next_progress_) {
      report_progress();
      next_progress_ = effort_.work + kWorkOfProgress;
    }
  }

  void report_progress() const {
    if (options_.on_progress) {
      options_.on_progress();
    }
  }

  Grammar with_name(Grammar grammar, const std::string& path) {
    const std::string& name = options_.name;
    spend(1 + path.size() / 32, path);
    return named(std::move(grammar), name.empty() || path.empty() ? name + path : concat(name, path.starts_with('[') ? "" : ".", path));
  }

  /// The $ref and allOf that led to a schema, from the innermost to the outermost.
  struct Around {
    const Json* target;  // target of $ref; null for allOf
    const Around* outer;
    int depth;
  };

  static bool has_target(const Around* around, const Json& schema) {
    while (around != nullptr && around->target != &schema) {
      around = around->outer;
    }
    return around != nullptr;
  }

  // Demands on a value.

  /// Adds a schema to a demand.
  void add(const SchemaPlace& place, Demand& demand, const Around* around = nullptr) {
    count(1, place.path);
    spend(place.work(), place.path);
    // Read a schema that is true or false.
    const Json& schema = *place.schema;
    if (is_false_schema(schema)) {
      demand.is_impossible = true;
    }
    if (schema.is_boolean()) {
      return;
    }
    if (!schema.is_object()) {
      refuse_schema(place.path, "is ", short_text(schema), ", expected an object with keywords, true or false");
    }
    // Refuse unknown keywords; skip a schema that is a fact already.
    check_keywords(place);
    if (std::ranges::any_of(demand.facts, [&](const SchemaPlace& one) { return one.schema == &schema; })) {
      return;
    }
    // Without `type`, `nullable` is a choice between null and the other keywords.
    if (place.has("nullable") && !place.has("type") && !place.without_null && place["nullable"].get<bool>()) {
      static const Json null = {{"type", "null"}};
      SchemaPlace value = place;
      value.without_null = true;
      add_choice({{value, {&null, &null, place.at("nullable"), ""}}, false, place.at("nullable")}, demand);
      return;
    }
    // Keep the schema as a fact if its own keywords limit values.
    const bool limits = std::ranges::any_of(schema.items(), [](const auto& one) {
      return one.key() == "type" || one.key() == "enum" || one.key() == "const" ||
             std::ranges::find(type_keywords(), one.key(), &TypeKeyword::name) != type_keywords().end();
    });
    if (limits) {
      require_few(demand, place.path);
      demand.facts.push_back(place);
    }
    // Add the schemas of $ref, allOf, anyOf and oneOf.
    const int depth = around == nullptr ? 1 : around->depth + 1;
    if (depth > kMostReferencesAround) {
      refuse_schema(place.path, "stands behind more than ", kMostReferencesAround,
                    " $ref or allOf that lead to one another: leave some out");
    }
    if (place.has("$ref")) {
      std::size_t looked_at = 0;
      const SchemaPlace target = place.target(looked_at);
      spend(looked_at / 8, place.path);
      if (target.schema == &schema || has_target(around, *target.schema)) {
        refuse_schema(place.at("$ref"), "refers to itself, expected a schema with a text of its own");
      }
      demand.has_reference = true;
      const Around behind{target.schema, around, depth};
      add(target, demand, &behind);
    }
    const Around within{nullptr, around, depth};
    for (const SchemaPlace& part : parts_of(place, "allOf")) {
      add(part, demand, &within);
    }
    for (const char* const keyword : {"anyOf", "oneOf"}) {
      if (std::vector<SchemaPlace> parts = parts_of(place, keyword); !parts.empty()) {
        add_choice({std::move(parts), std::string_view(keyword) == "oneOf", place.at(keyword)}, demand);
      }
    }
  }

  static void add_choice(Choice choice, Demand& demand) {
    require_few(demand, choice.path);
    demand.choices.push_back(std::make_shared<const Choice>(std::move(choice)));
  }

  static void require_few(const Demand& demand, const std::string& path) {
    if (demand.facts.size() + demand.choices.size() >= kMostFacts) {
      refuse_schema(path, "is one of more than ", kMostFacts, " schemas that one value must match");
    }
  }

  static void check_keywords(const SchemaPlace& place) {
    for (const auto& [name, value] : place.schema->items()) {
      if (!is_keyword(name)) {
        refuse_schema(place.at(name), "is a keyword that is not supported: leave it out, and check the answer instead");
      }
      if (name == "nullable" && !value.is_boolean()) {
        refuse_schema(place.at(name), "is ", short_text(value), ", expected true or false");
      }
      if (name == "not" && !is_false_schema(*place.schema)) {
        refuse_schema(place.at(name),
                      "is supported only as {\"not\": {}}, which nothing matches: leave it out, and check the answer instead");
      }
    }
  }

  /// Returns the schemas in the list of a keyword; none if it is missing.
  std::vector<SchemaPlace> parts_of(const SchemaPlace& place, const char* keyword) {
    std::vector<SchemaPlace> parts;
    if (place.has(keyword)) {
      const Json& list = place[keyword];
      if (!list.is_array() || list.empty()) {
        refuse_schema(place.at(keyword), "is ", short_text(list), ", expected a list of one schema or more");
      }
      spend(list.size() * (kWorkOfPart + place.work_of_path()), place.path);
      for (std::size_t i = 0; i < list.size(); ++i) {
        parts.push_back(place.part(keyword, i, list[i]));
      }
    }
    return parts;
  }

  Grammar read(Demand demand, const std::string& path, int level) {
    // Limit the nesting, and count the work.
    if (level > kMostSchemaLevels) {
      refuse_schema(path, "is nested more than ", kMostSchemaLevels, " levels deep");
    }
    for (const SchemaPlace& fact : demand.facts) {
      spend(fact.work(), path);
    }
    for (const std::shared_ptr<const Choice>& choice : demand.choices) {
      spend(1 + choice->parts.size(), path);
    }
    if (demand.is_impossible) {
      return nothing();
    }
    // A demand with a $ref becomes a rule, because it may contain itself.
    if (demand.has_reference && !(demand.facts.empty() && demand.choices.empty())) {
      demand.has_reference = false;
      const auto [found, is_new] = rules_.try_emplace(key_of(demand), concat("$ref in ", path.empty() ? "the schema" : path));
      if (is_new) {
        waiting_.emplace_back(found->second, std::move(demand));
      }
      return reference(found->second);
    }
    if (demand.choices.empty()) {
      return read_facts(demand, path, level);
    }
    // Read each part of the first choice together with the other demands.
    const std::shared_ptr<const Choice> choice = demand.choices.front();
    demand.choices.erase(demand.choices.begin());
    std::vector<Grammar> ways;
    for (const SchemaPlace& part : choice->parts) {
      Demand one = demand;
      one.has_reference = false;
      add(part, one);
      ways.push_back(read(std::move(one), part.path, level + 1));
    }
    if (choice->is_one_of) {
      const bool is_only = demand.facts.empty() && demand.choices.empty();
      one_ofs_.emplace_back(choice, is_only ? std::nullopt : std::optional(types_of_keywords(demand.facts)));
    }
    return ways_of(std::move(ways));
  }

  /// Returns a key that distinguishes a demand from others.
  static std::vector<std::pair<const void*, bool>> key_of(const Demand& demand) {
    std::vector<std::pair<const void*, bool>> key{{demand.argument, demand.has_tags}};
    for (const SchemaPlace& fact : demand.facts) {
      key.emplace_back(fact.schema, fact.without_null);
    }
    std::sort(key.begin() + 1, key.end());
    for (const std::shared_ptr<const Choice>& choice : demand.choices) {
      key.emplace_back(nullptr, choice->is_one_of);
      for (const SchemaPlace& part : choice->parts) {
        key.emplace_back(part.schema, part.without_null);
      }
    }
    return key;
  }

  // Facts of all types.

  /// Returns the types that the keyword `type` of all facts allows.
  static unsigned types_of_keywords(const std::vector<SchemaPlace>& facts) {
    unsigned types = kAllTypes;
    for (const SchemaPlace& fact : facts) {
      types &= fact.has("type") ? types_of_keyword(fact) : +kAllTypes;
    }
    return types;
  }

  Grammar read_facts(const Demand& demand, const std::string& path, int level) {
    const std::vector<SchemaPlace>& facts = demand.facts;
    if (std::ranges::any_of(facts, [](const SchemaPlace& fact) { return fact.has("enum") || fact.has("const"); })) {
      return read_values(demand);
    }
    const unsigned types = types_of(facts, path);
    demand.note_types(types);
    if (types == kAllTypes && std::ranges::none_of(facts, has_type_keyword)) {
      return demand.argument == nullptr ? json_value(inner_) : text_before({}, form_.end_of_value());
    }
    std::vector<Grammar> ways;
    if ((types & kObject) != 0) {
      ways.push_back(read_object(facts, path, level, demand.has_tags));
    }
    if ((types & kArray) != 0) {
      ways.push_back(read_list(facts, level));
    }
    if ((types & kString) != 0) {
      ways.push_back(read_string(facts, path, demand.argument));
    }
    if ((types & kNumber) != 0) {
      ways.push_back(read_number(facts, path, (types & kFraction) == 0));
    }
    if ((types & kBoolean) != 0) {
      ways.push_back(any_of({json_word("true", form_of(demand)), json_word("false", form_of(demand))}));
    }
    if ((types & kNull) != 0) {
      ways.push_back(json_word("null", form_of(demand)));
    }
    return ways_of(std::move(ways));
  }

  /// Returns the form of a value's words. A form with tags has its own words only for arguments.
  const JsonForm& form_of(const Demand& demand) const { return demand.argument == nullptr ? inner_ : form_; }

  /// Returns the types of answers. Without `type`, the keywords must all be about one type, which is then the type.
  static unsigned types_of(const std::vector<SchemaPlace>& facts, const std::string& path) {
    const unsigned allowed = types_of_keywords(facts);
    if (std::ranges::any_of(facts, [](const SchemaPlace& fact) { return fact.has("type"); })) {
      return allowed;
    }
    unsigned types = kAllTypes;
    std::string_view first;
    for (const SchemaPlace& fact : facts) {
      for (const TypeKeyword& keyword : type_keywords()) {
        if (!fact.has(keyword.name)) {
          continue;
        }
        if (!first.empty() && types != keyword.types) {
          refuse_schema(path, "has ", first, " and ", keyword.name,
                        ", which are about different types: say which one is meant with \"type\"");
        }
        types = keyword.types;
        first = keyword.name;
      }
    }
    return types;
  }

  static bool has_type_keyword(const SchemaPlace& fact) {
    return std::ranges::any_of(type_keywords(), [&](const TypeKeyword& keyword) { return fact.has(keyword.name); });
  }

  /// Returns the values that enum and const of all facts allow, and that have the right type.
  static std::vector<const Json*> values_of(const std::vector<SchemaPlace>& facts) {
    // Each list of values keeps those that are in all lists before it.
    std::map<std::string, const Json*> values;
    std::vector<const Json*> order;
    bool is_first = true;
    const auto keep = [&](const std::vector<const Json*>& found) {
      std::map<std::string, const Json*> both;
      std::vector<const Json*> both_in_order;
      for (const Json* const value : found) {
        std::string text = text_of_equal_values(*value);
        if ((is_first || values.contains(text)) && both.try_emplace(std::move(text), value).second) {
          both_in_order.push_back(value);
        }
      }
      values = std::move(both);
      order = std::move(both_in_order);
      is_first = false;
    };
    // Read const and enum of each fact.
    for (const SchemaPlace& fact : facts) {
      if (fact.has("const")) {
        keep({&fact["const"]});
      }
      if (fact.has("enum")) {
        const Json& list = fact["enum"];
        if (!list.is_array() || list.empty()) {
          refuse_schema(fact.at("enum"), "is ", short_text(list), ", expected a list of one value or more");
        }
        std::vector<const Json*> found;
        for (const Json& value : list) {
          found.push_back(&value);
        }
        keep(found);
      }
    }
    const unsigned types = types_of_keywords(facts);
    std::erase_if(order, [&](const Json* value) { return (type_of_value(*value) & types) == 0; });
    return order;
  }

  Grammar read_values(const Demand& demand) {
    const std::vector<SchemaPlace>& facts = demand.facts;
    const SchemaPlace& first = *std::ranges::find_if(facts, [](const SchemaPlace& fact) { return fact.has("enum") || fact.has("const"); });
    const std::string path = first.at(first.has("enum") ? "enum" : "const");
    const std::vector<const Json*> values = values_of(facts);
    if (demand.has_tags) {
      refuse_schema(path, "is not supported for all arguments together in the form of this model's calls: list the values of each of them");
    }
    if (values.empty() && facts.size() == 1) {
      refuse_schema(path, "has no value that the keywords beside it allow");
    }
    unsigned types = 0;
    std::vector<Grammar> ways;
    for (const Json* const value : values) {
      count(1 + (value->is_structured() ? value->size() : 0), path);
      types |= type_of_value(*value);
      const bool is_raw = demand.argument != nullptr && value->is_string();
      ways.push_back(is_raw ? raw_string({literal(value->get_ref<const std::string&>())}, *demand.argument)
                            : json_constant(*value, value->is_structured() ? inner_ : form_of(demand)));
    }
    demand.note_types(types);
    for (const SchemaPlace& fact : facts) {
      for (const TypeKeyword& keyword : type_keywords()) {
        if (fact.has(keyword.name) && (keyword.types & types) != 0) {
          refuse_schema(fact.at(keyword.name), "stands beside ", path,
                        ", which is not supported: leave it out, and list only values that it allows");
        }
      }
    }
    return ways_of(std::move(ways));
  }

  /// Returns a keyword that is a count; `by_default` if it is missing.
  static index count_of(const SchemaPlace& fact, const char* name, index by_default) {
    if (!fact.has(name)) {
      return by_default;
    }
    const Json& value = fact[name];
    const Decimal number = is_number(value) ? Decimal::of_json(json_text(value)) : Decimal(-1);
    if (number.is_negative() || !number.is_integer() || number > Decimal(kMostItems)) {
      refuse_schema(fact.at(name), "is ", short_text(value), ", expected an integer from 0 to ", kMostItems);
    }
    return static_cast<index>(value.get<double>());
  }

  struct Bounds {
    index least = 0, most = -1;  // -1: none
    std::string least_path{};
  };

  /// Returns the tightest bounds of all facts. Throws SchemaError if the lower one is above the upper one.
  static Bounds bounds_of(const std::vector<SchemaPlace>& facts, const char* least, const char* most) {
    Bounds bounds;
    for (const SchemaPlace& fact : facts) {
      if (const index low = count_of(fact, least, 0); low > bounds.least || bounds.least_path.empty()) {
        bounds.least = std::max(bounds.least, low);
        bounds.least_path = fact.at(least);
      }
      if (const index high = count_of(fact, most, -1); high >= 0) {
        bounds.most = bounds.most < 0 ? high : std::min(bounds.most, high);
      }
    }
    if (bounds.most >= 0 && bounds.least > bounds.most) {
      refuse_schema(bounds.least_path, "is ", bounds.least, ", but ", most, " is ", bounds.most);
    }
    return bounds;
  }

  // Objects.

  /// A rule for the names of properties.
  struct NameRule {
    bool is_impossible = false;
    std::optional<std::vector<std::string>> names{};  // no others
    std::vector<Grammar> parts{};                     // grammars that each name must match, without escapes
  };

  /// The schemas in `properties` of each fact, by name.
  using Properties = std::vector<std::unordered_map<std::string_view, const Json*>>;

  /// The names of an object's properties.
  struct Names {
    struct Name {
      std::string name;
      std::string path;
      bool is_required;
    };
    std::vector<Name> listed{};  // names in their order
    bool has_others = false;     // answers may have others
    std::string others_path{};
    Properties properties{};
  };

  NameRule name_rule(const std::vector<SchemaPlace>& facts) {
    Demand demand;
    for (const SchemaPlace& fact : facts) {
      if (fact.has("propertyNames")) {
        add(fact.part("propertyNames", fact["propertyNames"]), demand);
        if (!demand.choices.empty()) {
          refuse_schema(demand.choices.front()->path, "is not supported within propertyNames");
        }
      }
    }
    NameRule rule{.is_impossible = demand.is_impossible || (types_of_keywords(demand.facts) & kString) == 0};
    if (std::ranges::any_of(demand.facts, [](const SchemaPlace& fact) { return fact.has("enum") || fact.has("const"); })) {
      read_values(demand);  // refuses unsupported values
      rule.names.emplace();
      for (const Json* const value : values_of(demand.facts)) {
        if (value->is_string()) {
          rule.names->push_back(value->get<std::string>());
        }
      }
      return rule;
    }
    rule.parts = string_parts(demand.facts);
    return rule;
  }

  /// Returns the text of a name under a rule.
  static Grammar name_text(const std::string& name, const NameRule& rule, bool is_bare) {
    std::vector<Grammar> parts = rule.parts;
    parts.push_back(literal(name));
    return is_bare ? all_of(std::move(parts)) : rule.parts.empty() ? json_name(name) : quoted(parts);
  }

  /// Returns the texts of names other than the listed ones.
  Grammar other_name_texts(const Names& names, const NameRule& rule, bool is_bare) const {
    std::vector<Grammar> parts = rule.parts;
    if (!names.listed.empty()) {
      std::vector<Grammar> known;
      for (const Names::Name& one : names.listed) {
        known.push_back(literal(one.name));
      }
      parts.push_back(all_but(any_of(std::move(known))));
    }
    if (is_bare) {
      parts.push_back(bare_name(form_));
      return all_of(std::move(parts));
    }
    return parts.empty() ? json_string() : quoted(parts);
  }

  /// Returns the names that the facts require, in their order, and the paths of their lists.
  std::vector<std::pair<std::string, std::string>> required_of(const std::vector<SchemaPlace>& facts) {
    std::vector<std::pair<std::string, std::string>> required;
    std::set<std::string> seen;
    for (const SchemaPlace& fact : facts) {
      if (!fact.has("required")) {
        continue;
      }
      const Json& list = fact["required"];
      if (!list.is_array() || !std::ranges::all_of(list, [](const Json& one) { return one.is_string(); })) {
        refuse_schema(fact.at("required"), "is ", short_text(list), ", expected a list of names");
      }
      spend(list.size() * fact.work_of_path(), fact.path);
      for (const Json& name : list) {
        if (seen.insert(name.get<std::string>()).second) {
          required.emplace_back(name.get<std::string>(), fact.at("required"));
        }
      }
    }
    return required;
  }

  /// Returns the demand on the value of a property.
  Demand demand_of(const std::vector<SchemaPlace>& facts, const Properties& properties, const std::string& name) {
    Demand demand;
    for (std::size_t i = 0; i < facts.size(); ++i) {
      spend(1 + facts[i].schema->size() / 8, facts[i].path);
      if (const auto found = properties[i].find(name); found != properties[i].end()) {
        add(facts[i].part("properties", name, *found->second), demand);
      } else if (facts[i].has("additionalProperties")) {
        add(facts[i].part("additionalProperties", facts[i]["additionalProperties"]), demand);
      }
    }
    return demand;
  }

  Names names_of(const std::vector<SchemaPlace>& facts, const std::string& path, const NameRule& rule, bool allows_others) {
    Names names{.others_path = path};
    const auto required = required_of(facts);
    std::set<std::string_view> all_required, known;
    for (const auto& [name, list] : required) {
      all_required.insert(name);
    }
    // List the names in `properties` of all facts.
    bool has_properties = false, asks_for_others = false;
    for (const SchemaPlace& fact : facts) {
      names.properties.emplace_back();
      if (fact.has("properties")) {
        has_properties = true;
        if (!fact["properties"].is_object()) {
          refuse_schema(fact.at("properties"), "is ", short_text(fact["properties"]), ", expected an object of schemas");
        }
        spend(fact["properties"].size() * fact.work_of_path(), fact.path);
        for (const auto& [name, property] : fact["properties"].items()) {
          names.properties.back().emplace(name, &property);
          if (known.insert(name).second) {
            names.listed.push_back({name, path_in(fact.at("properties"), name), all_required.contains(name)});
          }
        }
      }
      if (fact.has("additionalProperties")) {
        asks_for_others = true;
        names.others_path = fact.at("additionalProperties");
      }
    }
    // Names of propertyNames are listed in place of unknown others.
    names.has_others = allows_others && !rule.is_impossible && (asks_for_others || !has_properties);
    if (rule.names && names.has_others) {
      for (const std::string& name : *rule.names) {
        if (known.insert(name).second) {
          names.listed.push_back({name, path_in(names.others_path, name), all_required.contains(name)});
        }
      }
      names.has_others = false;
    }
    // List the names that are only required.
    for (const auto& [name, list] : required) {
      if (known.insert(name).second) {
        if (!names.has_others) {
          refuse_schema(list, "has ", short_text(Json(name)), ", which is not one of the properties: add it to them");
        }
        names.listed.push_back({name, list, true});
      }
    }
    // Drop the names that propertyNames does not allow.
    if (rule.names) {
      const std::set<std::string_view> allowed(rule.names->begin(), rule.names->end());
      for (const Names::Name& one : names.listed) {
        if (one.is_required && !allowed.contains(one.name)) {
          refuse_schema(one.path, "is required, but propertyNames does not allow the name");
        }
      }
      std::erase_if(names.listed, [&](const Names::Name& one) { return !allowed.contains(one.name); });
    }
    if (inner_.sorts_names) {
      const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
      std::ranges::stable_sort(names.listed, [&](const Names::Name& a, const Names::Name& b) {
        return std::ranges::lexicographical_compare(a.name, b.name, {}, lower, lower);
      });
    }
    return names;
  }

  /// Refuses bounds of the number of properties that the lists of names do not keep. With other names, the number is unknown, because an
  /// answer may repeat a name.
  static void check_size(const Bounds& size, const Names& names, index properties, const std::string& path) {
    const auto required = std::ranges::count_if(names.listed, &Names::Name::is_required);
    if (size.least > std::max<index>(required, 1)) {
      refuse_schema(size.least_path, "is ", size.least, ", which is not supported with ", required, " required properties: require more");
    }
    if (size.most >= 0 && (names.has_others || size.most < properties)) {
      refuse_schema(path_in(path, "maxProperties"), "is ", size.most, ", which is not supported: list only so many properties");
    }
  }

  Grammar read_object(const std::vector<SchemaPlace>& facts, const std::string& path, int level, bool has_tags) {
    // Read the keywords.
    Demand of_others;
    for (const SchemaPlace& fact : facts) {
      if (fact.has("additionalProperties")) {
        add(fact.part("additionalProperties", fact["additionalProperties"]), of_others);
      }
    }
    const bool limits_others = !of_others.facts.empty() || !of_others.choices.empty();
    const NameRule rule = name_rule(facts);
    const Names names = names_of(facts, path, rule, !of_others.is_impossible);
    const Bounds size = bounds_of(facts, "minProperties", "maxProperties");
    if (!has_tags && names.listed.empty() && names.has_others && !limits_others && rule.parts.empty() && size.least == 0 && size.most < 0) {
      return json_object(inner_);
    }
    const bool is_bare = has_tags || !inner_.quote.empty();
    const auto field_of = [&](Grammar name, Grammar value) {
      return has_tags ? sequence({literal(form_.name_begin), std::move(name), literal(form_.name_end), std::move(value),
                                  literal(form_.value_end)})
                      : sequence({std::move(name), json_colon(inner_), std::move(value)});
    };

    // Read the properties in their order, then those that are only required, then others.
    std::vector<Separable> parts;
    for (const Names::Name& one : names.listed) {
      count(one.name.size(), one.path);
      if (is_bare && !form_.can_write_name(one.name)) {
        refuse_schema(one.path, "has a name that calls of this model cannot write: use letters, digits and _");
      }
      Demand demand = demand_of(facts, names.properties, one.name);
      demand.argument = has_tags ? &*types_.try_emplace(one.name).first : nullptr;
      const Grammar value = rule.is_impossible ? nothing() : read(std::move(demand), one.path, level + 1);
      if (!has_no_text(value)) {
        parts.push_back({with_name(field_of(name_text(one.name, rule, is_bare), value), one.path), !one.is_required});
      } else if (one.is_required) {
        refuse_schema(one.path, "is required, but no value is allowed for it");
      }
    }
    check_size(size, names, std::ssize(parts), path);
    of_others.argument = has_tags ? &*types_.try_emplace("").first : nullptr;
    const Grammar other = names.has_others ? read(std::move(of_others), names.others_path, level + 1) : nothing();
    const Grammar comma = has_tags ? sequence({}) : json_comma(inner_), space = json_space(inner_);
    if (!has_no_text(other)) {
      const Grammar field = shared(field_of(other_name_texts(names, rule, is_bare), shared(other)));
      parts.push_back({with_name(sequence({field, repeat(sequence({comma, field}), 0)}), names.others_path), true});
    }
    const bool can_be_empty = std::ranges::all_of(parts, &Separable::is_optional) && size.least == 0;
    if (has_tags) {
      return parts.empty() && !can_be_empty ? nothing()
                                            : sequence({separated(std::move(parts), comma, can_be_empty), literal(form_.close)});
    }
    if (parts.empty()) {
      return can_be_empty ? literal("{}") : nothing();
    }
    Grammar full = sequence({literal("{"), space, separated(std::move(parts), comma, size.least == 0), space, literal("}")});
    return can_be_empty ? any_of({literal("{}"), std::move(full)}) : full;
  }

  // Lists.

  /// The schemas of a list's first items, and of those after them; null if there is none. Draft 7 writes items and additionalItems for
  /// prefixItems and items.
  struct Items {
    const Json* first = nullptr;
    const char* first_keyword = "prefixItems";
    const Json* rest = nullptr;
    const char* rest_keyword = "items";

    std::size_t size() const { return first == nullptr ? 0 : first->size(); }
  };

  static Items items_of(const SchemaPlace& fact) {
    Items items;
    if (fact.has("items") && fact["items"].is_array()) {
      if (fact.has("prefixItems")) {
        refuse_schema(fact.at("items"), "is a list beside prefixItems, expected a schema");
      }
      items.first_keyword = "items";
      items.rest_keyword = "additionalItems";
    }
    items.first = fact.has(items.first_keyword) ? &fact[items.first_keyword] : nullptr;
    items.rest = fact.has(items.rest_keyword) ? &fact[items.rest_keyword] : nullptr;
    if (items.first != nullptr && !items.first->is_array()) {
      refuse_schema(fact.at(items.first_keyword), "is ", short_text(*items.first), ", expected a list of schemas");
    }
    if (items.size() > kMostPrefixItems) {
      refuse_schema(fact.at(items.first_keyword), "has ", items.size(), " schemas, expected at most ", kMostPrefixItems);
    }
    return items;
  }

  /// Returns the demand on an item. Items after the first ones have the index of the first of them.
  Demand demand_of_item(const std::vector<SchemaPlace>& facts, std::size_t number) {
    Demand demand;
    for (const SchemaPlace& fact : facts) {
      spend(1 + fact.schema->size() / 2, fact.path);
      const Items items = items_of(fact);
      if (number < items.size()) {
        add(fact.part(items.first_keyword, number, (*items.first)[number]), demand);
      } else if (items.rest != nullptr) {
        add(fact.part(items.rest_keyword, *items.rest), demand);
      }
    }
    return demand;
  }

  Grammar read_list(const std::vector<SchemaPlace>& facts, int level) {
    // Read the keywords.
    std::size_t first = 0;
    bool has_first = false, has_rest = false;
    for (const SchemaPlace& fact : facts) {
      const Items items = items_of(fact);
      first = std::max(first, items.size());
      has_first = has_first || items.first != nullptr;
      has_rest = has_rest || items.rest != nullptr;
    }
    Demand of_rest = demand_of_item(facts, first);
    const std::string& path = facts.front().path;
    Bounds size = bounds_of(facts, "minItems", "maxItems");
    const bool has_more = !of_rest.is_impossible && (has_rest || !has_first || first == 0);
    if (!has_more) {
      size.most = size.most < 0 ? static_cast<index>(first) : std::min(size.most, static_cast<index>(first));
    }

    // Read the first items. One that nothing matches ends the list.
    std::vector<Grammar> parts;
    for (std::size_t i = 0; i < first && (size.most < 0 || std::cmp_less(i, size.most)); ++i) {
      Demand demand = demand_of_item(facts, i);
      const std::string place = demand.facts.empty() ? path_in(path, i) : demand.facts.front().path;
      parts.push_back(read(std::move(demand), place, level + 1));
      if (has_no_text(parts.back())) {
        parts.pop_back();
        size.most = static_cast<index>(i);
      }
    }
    // Read the schema of the items after them.
    Grammar item = nothing();
    if (has_more && (size.most < 0 || size.most > static_cast<index>(first))) {
      item = read(std::move(of_rest), path_in(path, "items"), level + 1);
      item = has_no_text(item) ? item : shared(item);
    }
    if (has_no_text(item)) {
      size.most = size.most < 0 ? static_cast<index>(first) : std::min(size.most, static_cast<index>(first));
    }
    // Refuse bounds that no list keeps, and unique items.
    if (size.most >= 0 && size.least > size.most) {
      refuse_schema(size.least_path, "is ", size.least, ", but the list can have at most ", size.most, " items");
    }
    for (const SchemaPlace& fact : facts) {
      if (fact.has("uniqueItems") && fact["uniqueItems"] != Json(false) && (size.most < 0 || size.most > 1)) {
        refuse_schema(fact.at("uniqueItems"), "is ", short_text(fact["uniqueItems"]),
                      ", which is not supported for lists of more than one item: leave it out, and check the answer instead");
      }
    }
    if (size.most == 0) {
      return literal("[]");
    }

    // Build the grammar from the last item to the first.
    const auto before = std::max<index>(std::ssize(parts), 1);  // items that stand before the repeated ones
    Grammar rest = sequence({});
    if (size.most < 0 || size.most > before) {
      rest = repeat(sequence({json_comma(), item}), std::max<index>(size.least - before, 0),
                    size.most < 0 ? std::nullopt : std::optional(size.most - before));
    }
    for (index i = (size.most < 0 ? before : std::min(before, size.most)) - 1; i > 0; --i) {
      rest = sequence({json_comma(), parts[static_cast<std::size_t>(i)], std::move(rest)});
      if (i >= size.least) {
        rest = optional(std::move(rest));
      }
    }
    Grammar full = sequence({literal("["), json_space(), parts.empty() ? item : parts[0], std::move(rest), json_space(), literal("]")});
    return size.least == 0 ? any_of({literal("[]"), std::move(full)}) : full;
  }

  // Strings.

  /// Returns the JSON texts of strings that are texts of all parts.
  static Grammar quoted(const std::vector<Grammar>& parts) {
    return sequence(
        {literal("\""), spelled(parts.size() == 1 ? all_of({any_characters(), parts[0]}) : all_of(parts), json_character), literal("\"")});
  }

  /// Returns the texts between tags that match all parts and that a reader does not take for a value of another type of the argument.
  Grammar raw_string(std::vector<Grammar> parts, const ArgumentTypes::value_type& argument) const {
    constexpr std::pair<unsigned, const char*> kTextsOfTypes[] = {{kNumber, R"(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)"},
                                                                  {kBoolean, "[Tt]rue|[Ff]alse"},
                                                                  {kNull, "null|None"},
                                                                  {kObject, R"(\{[\s\S]*)"},
                                                                  {kArray, R"(\[[\s\S]*)"}};
    for (const auto& [type, texts] : kTextsOfTypes) {
      if (const auto known = known_.find(argument.first); known != known_.end() && (known->second & type) != 0) {
        parts.push_back(all_but(regex(texts)));
      }
    }
    return text_before(std::move(parts), form_.end_of_value());
  }

  Grammar expression(const SchemaPlace& fact, const char* keyword, const std::string& pattern, bool is_whole) {
    spend(pattern.size(), fact.at(keyword));
    try {
      Grammar texts = regex(pattern, {.whole = is_whole});
      count(characters_in(texts), fact.at(keyword));
      return texts;
    } catch (const RegexError& error) {
      refuse_schema(fact.at(keyword), "is not supported: ", error.what());
    }
  }

  /// Returns the grammars that a string must match: patterns, formats, and a length that these do not imply.
  std::vector<Grammar> string_parts(const std::vector<SchemaPlace>& facts) {
    const Bounds size = bounds_of(facts, "minLength", "maxLength");
    std::vector<Grammar> parts;
    // Read patterns and formats.
    for (const SchemaPlace& fact : facts) {
      for (const char* const keyword : {"pattern", "format"}) {
        if (fact.has(keyword) && !fact[keyword].is_string()) {
          refuse_schema(fact.at(keyword), "is ", short_text(fact[keyword]), ", expected a text");
        }
      }
      if (fact.has("pattern")) {
        parts.push_back(expression(fact, "pattern", fact["pattern"].get<std::string>(), false));
      }
      if (fact.has("format")) {
        const std::string format = fact["format"].get<std::string>();
        const std::optional<std::string> known = format_pattern(format);
        if (!known && (!fact.has("pattern") || is_unknown_standard_format(format))) {
          refuse_schema(fact.at("format"), "is ", short_text(Json(format)), ", which is not supported, expected ", format_names(),
                        ", or a pattern");
        }
        if (known) {
          parts.push_back(expression(fact, "format", *known, true));
        }
      }
    }
    // Limit the length, unless a part does.
    const bool is_implied = std::ranges::any_of(parts, [&](const Grammar& part) {
      const TextLengths lengths = text_lengths(part);
      return lengths.shortest >= size.least && (size.most < 0 || (lengths.longest && *lengths.longest <= size.most));
    });
    if (!is_implied && (size.least > 0 || size.most >= 0)) {
      parts.push_back(
          repeat(one_character({{0, utf8::kLastCodePoint}}), size.least, size.most < 0 ? std::nullopt : std::optional(size.most)));
    }
    return parts;
  }

  Grammar read_string(const std::vector<SchemaPlace>& facts, const std::string& path, const ArgumentTypes::value_type* argument) {
    // Equal strings share their states.
    std::string key = argument == nullptr ? "" : argument->first + '\n';
    for (const SchemaPlace& fact : facts) {
      for (const char* const keyword : {"minLength", "maxLength", "pattern", "format"}) {
        key += concat(fact.has(keyword) ? json_text(fact[keyword]) : "", '\n');
      }
    }
    if (const auto known = strings_.find(key); known != strings_.end()) {
      return known->second;
    }
    const std::vector<Grammar> parts = string_parts(facts);
    const bool has_expression =
        std::ranges::any_of(facts, [](const SchemaPlace& fact) { return fact.has("pattern") || fact.has("format"); });
    Grammar texts = nothing();
    if (argument != nullptr) {
      texts = raw_string(parts, *argument);
    } else if (!inner_.quote.empty()) {
      texts = sequence({literal(inner_.quote), text_before(parts, inner_.quote), literal(inner_.quote)});
    } else if (!has_expression) {
      const Bounds size = bounds_of(facts, "minLength", "maxLength");
      texts = json_string(size.least, size.most < 0 ? std::nullopt : std::optional(size.most));
    } else if (parts.size() == 1) {
      texts = sequence({literal("\""), spelled(parts[0], json_character), literal("\"")});
    } else {
      try {
        const Grammar common = all_of(parts);
        texts = CharacterAutomaton(common.node(), effort_.steps).states() == 0 ? nothing() : quoted(parts);
      } catch (const GrammarTooLarge& error) {
        refuse_schema(path, "is too large: ", error.what());
      }
    }
    return strings_.emplace(std::move(key), has_no_text(texts) ? texts : shared(texts)).first->second;
  }

  // Numbers.

  /// Returns the tightest bound of numbers.
  static std::optional<NumberBound> bound_of(const std::vector<SchemaPlace>& facts, const char* inclusive, const char* exclusive,
                                             bool is_low) {
    std::optional<NumberBound> bound;
    for (const SchemaPlace& fact : facts) {
      for (const char* const key : {inclusive, exclusive}) {
        if (!fact.has(key)) {
          continue;
        }
        if (!is_number(fact[key])) {
          refuse_schema(fact.at(key), "is ", short_text(fact[key]), ", expected a number");
        }
        NumberBound found{Decimal::of_json(json_text(fact[key])), key == exclusive};
        const bool is_tighter = !bound || (is_low ? found.value > bound->value : found.value < bound->value) ||
                                (found.value == bound->value && found.is_exclusive);
        if (is_tighter) {
          bound = std::move(found);
        }
      }
    }
    return bound;
  }

  Grammar read_number(const std::vector<SchemaPlace>& facts, const std::string& path, bool is_integer) {
    const auto low = bound_of(facts, "minimum", "exclusiveMinimum", true);
    const auto high = bound_of(facts, "maximum", "exclusiveMaximum", false);
    if (!low && !high) {
      return is_integer ? json_integer() : json_number();
    }
    const auto text = [](const std::optional<NumberBound>& bound) {
      return bound ? concat(bound->is_exclusive ? "not " : "", bound->value.text()) : "";
    };
    const std::string key = concat(is_integer ? "integer " : "number ", text(low), " to ", text(high));
    if (const auto known = numbers_.find(key); known != numbers_.end()) {
      return known->second;
    }
    try {
      Grammar numbers = is_integer ? integers_within(low, high) : numbers_within(low, high);
      count(characters_in(numbers), path);
      return numbers_.emplace(key, shared(std::move(numbers))).first->second;
    } catch (const SchemaError&) {
      throw;
    } catch (const InputError& error) {
      refuse_schema(path, "has bounds that cannot be used: ", error.what());
    }
  }

  const Json& root_;
  const SchemaOptions& options_;
  const JsonForm& form_ = options_.form;                                                    // of the arguments
  const JsonForm& inner_ = form_.has_tags() ? kJsonForms[0] : form_;                        // of the values in them
  ArgumentTypes known_;                                                                     // the types of the arguments between tags
  ArgumentTypes types_;                                                                     // the same, as they are found
  std::map<std::vector<std::pair<const void*, bool>>, Rule> rules_;                         // the key is key_of()
  std::deque<std::pair<Rule, Demand>> waiting_;                                             // rules that have no grammar so far
  std::vector<std::pair<std::shared_ptr<const Choice>, std::optional<unsigned>>> one_ofs_;  // to check when all has been read
  std::map<std::string, Grammar> strings_, numbers_;                                        // the key is made of their keywords
  SchemaEffort own_effort_{};
  SchemaEffort& effort_;  // own_effort_, unless several schemas share one
  std::size_t next_progress_ = kWorkOfProgress;
};

}  // namespace

Grammar json_schema(const Json& schema, const SchemaOptions& options) {
  return SchemaReader(schema, options, options.form.has_tags() ? argument_types(schema, options) : ArgumentTypes()).read_all();
}

ArgumentTypes argument_types(const Json& schema, SchemaOptions options) {
  options.effort = nullptr;  // the schema is read again
  return SchemaReader(schema, options).read_types();
}

}  // namespace dikkat
