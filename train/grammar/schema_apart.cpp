#include "train/grammar/schema_apart.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace dikkat {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostReferences = 16;
constexpr int kMostLevels = 8;
constexpr std::size_t kMostComparisons = 4'000'000;
constexpr std::size_t kWorkOfKept = 8;  // additional work, because a schema's facts take memory until all have been compared

/// Known facts about the values of a schema. Malformed keywords are ignored here, because the reader refuses them.
struct Facts {
  unsigned allowed = kAllTypes;                             // types that match
  unsigned written = kAllTypes;                             // types of answers
  std::optional<std::map<std::string, unsigned>> values{};  // texts of the allowed values, and their types
  std::set<std::string> required{};
  std::map<std::string, std::vector<SchemaPlace>> properties{};
  std::vector<const Json*> closed{};  // the properties of schemas that allow no others; null: without properties
  bool writes_others = true;          // answers may have names that are not in `properties`
};

/// Collects a schema, the targets of its $ref, and allOf. More than kMostReferences mean that some are missing.
void collect(const SchemaPlace& place, std::vector<SchemaPlace>& all, std::size_t& comparisons) {
  if (!place.schema->is_object() || all.size() > kMostReferences) {
    return;
  }
  all.push_back(place);
  comparisons += place.work();
  if (place.has("$ref")) {
    try {
      collect(place.target(comparisons), all, comparisons);
    } catch (const SchemaError&) {  // the reader refuses it with its path
    }
  }
  if (place.has("allOf") && place["allOf"].is_array()) {
    for (const Json& part : place["allOf"]) {
      collect(place.part("allOf", part), all, comparisons);
    }
  }
}

void add_values(const Json& values, Facts& facts) {
  std::map<std::string, unsigned> found;
  for (const Json& value : values) {
    found.emplace(text_of_equal_values(value), type_of_value(value));
  }
  if (facts.values) {
    std::erase_if(found, [&](const auto& one) { return !facts.values->contains(one.first); });
  }
  facts.values = std::move(found);
}

void add_facts(const SchemaPlace& place, Facts& facts) {
  if (place.has("const")) {
    add_values(Json::array({place["const"]}), facts);
  }
  if (place.has("enum") && place["enum"].is_array()) {
    add_values(place["enum"], facts);
  }
  if (place.has("required") && place["required"].is_array()) {
    for (const Json& name : place["required"]) {
      if (name.is_string()) {
        facts.required.insert(name.get<std::string>());
      }
    }
  }
  const bool has_properties = place.has("properties") && place["properties"].is_object();
  if (has_properties) {
    facts.writes_others = false;
    for (const auto& [name, property] : place["properties"].items()) {
      facts.properties[name].push_back(place.part("properties", name, property));
    }
  }
  if (place.has("additionalProperties") && is_false_schema(place["additionalProperties"])) {
    facts.closed.push_back(has_properties ? &place["properties"] : nullptr);
  }
}

/// Returns the facts about a schema. Adds its work to `comparisons`.
Facts facts_of(const SchemaPlace& schema, std::size_t& comparisons, std::optional<unsigned> types_beside = std::nullopt) {
  // Collect the schemas; with too many of them, nothing is known.
  std::vector<SchemaPlace> all;
  collect(schema, all, comparisons);
  if (all.size() > kMostReferences) {
    return {};
  }
  Facts facts;
  // Combine their facts.
  bool has_type = false, is_nullable = false, has_choices = false, asks_for_others = false;
  unsigned implied = 0;
  for (const SchemaPlace& place : all) {
    if (place.has("nullable") && place["nullable"] == Json(true) && !place.has("type")) {
      is_nullable = true;
      continue;
    }
    if (place.has("type")) {
      try {
        facts.allowed &= types_of_keyword(place);
        has_type = true;
      } catch (const SchemaError&) {
      }
    }
    for (const TypeKeyword& keyword : type_keywords()) {
      implied |= place.has(keyword.name) ? keyword.types : 0U;
    }
    has_choices = has_choices || place.has("anyOf") || place.has("oneOf");
    asks_for_others = asks_for_others || (place.has("additionalProperties") && !is_false_schema(place["additionalProperties"]));
    add_facts(place, facts);
  }
  if (is_nullable) {
    return {};
  }
  // Find the types and names of answers, as the reader chooses them.
  facts.writes_others = (facts.writes_others && facts.closed.empty()) || asks_for_others || types_beside;
  const unsigned beside = types_beside.value_or(kAllTypes);
  facts.written = has_type || beside != kAllTypes ? facts.allowed & beside : has_choices || implied == 0 ? +kAllTypes : implied;
  if (facts.values) {
    unsigned types = 0;
    for (const auto& [text, type] : *facts.values) {
      types |= type;
    }
    facts.allowed &= types;
    facts.written = facts.allowed;
  }
  return facts;
}

class Comparison {
 public:
  Comparison(const std::vector<SchemaPlace>& schemas, std::string path, std::optional<unsigned> types_beside, std::size_t& comparisons)
      : path_(std::move(path)), comparisons_(comparisons) {
    for (const SchemaPlace& schema : schemas) {
      const std::size_t before = comparisons_;
      all_.push_back(facts_of(schema, comparisons_, types_beside));
      count(kWorkOfKept * (comparisons_ - before));
    }
  }

  void run() {
    if (have_own_values() || have_own_values_of_a_property()) {
      return;
    }
    for (std::size_t i = 0; i < all_.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (!misses(all_[i], all_[j], 0) || !misses(all_[j], all_[i], 0)) {
          refuse_schema(
              path_, "has schemas ", j, " and ", i,
              ", which a value may match both: use anyOf, or give both a required property with different values of const or enum");
        }
      }
    }
  }

 private:
  void count(std::size_t steps) {
    comparisons_ += steps;
    if (comparisons_ > kMostComparisons) {
      refuse_schema(path_, "has too many schemas and values to compare: use anyOf");
    }
  }

  /// Returns whether all schemas have values, and none shares one.
  bool have_own_values() {
    std::set<std::string> seen;
    return std::ranges::all_of(all_, [&](const Facts& one) { return one.values && add_new(*one.values, seen); });
  }

  /// Whether all schemas require a property that has values of its own in each.
  bool have_own_values_of_a_property() {
    return std::ranges::any_of(all_.front().required, [&](const std::string& name) {
      std::set<std::string> seen;
      return std::ranges::all_of(all_, [&](const Facts& one) {
        count(1);
        const auto property = one.properties.find(name);
        if (one.written != kObject || !one.required.contains(name) || property == one.properties.end()) {
          return false;
        }
        const Facts facts = facts_of(property->second.front(), comparisons_);
        return facts.values && add_new(*facts.values, seen);
      });
    });
  }

  bool add_new(const std::map<std::string, unsigned>& values, std::set<std::string>& seen) {
    count(values.size());
    return std::ranges::all_of(values, [&](const auto& one) { return seen.insert(one.first).second; });
  }

  /// Returns whether no answer under `a` matches `b`.
  bool misses(const Facts& a, const Facts& b, int level) {
    count(1);
    if ((a.written & b.allowed) == 0) {
      return true;
    }
    if (a.values && b.values) {
      count(a.values->size());
      if (std::ranges::none_of(*a.values, [&](const auto& one) { return b.values->contains(one.first); })) {
        return true;
      }
    }
    return a.written == kObject && misses_as_object(a, b, level);
  }

  bool misses_as_object(const Facts& a, const Facts& b, int level) {
    count(a.required.size() + b.required.size());
    // Look for a name that each answer has and `b` forbids, or whose value `b` refuses.
    for (const std::string& name : a.required) {
      if (std::ranges::any_of(b.closed, [&](const Json* names) { return names == nullptr || !names->contains(name); })) {
        return true;
      }
      const auto of_a = a.properties.find(name), of_b = b.properties.find(name);
      if (of_a == a.properties.end() || of_b == b.properties.end() || level >= kMostLevels) {
        continue;
      }
      for (const SchemaPlace& one : of_a->second) {
        for (const SchemaPlace& other : of_b->second) {
          if (misses(facts_of(one, comparisons_), facts_of(other, comparisons_), level + 1)) {
            return true;
          }
        }
      }
    }
    // Look for a name that `b` requires and no answer has.
    return !a.writes_others && std::ranges::any_of(b.required, [&](const std::string& name) {
      return !a.properties.contains(name) && !a.required.contains(name);
    });
  }

  std::vector<Facts> all_;
  std::string path_;
  std::size_t& comparisons_;
};

}  // namespace

void require_apart(const std::vector<SchemaPlace>& schemas, const std::string& path, std::optional<unsigned> types_beside,
                   std::size_t& comparisons) {
  Comparison(schemas, path, types_beside, comparisons).run();
}

}  // namespace dikkat
