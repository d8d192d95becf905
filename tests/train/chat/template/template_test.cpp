#include "train/chat/template/template.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/support/throws.h"
#include "train/system/json.h"

namespace dikkat {
namespace {

using namespace jinja;

using Json = nlohmann::ordered_json;

const CalendarDate kDate{.year = 2026, .month = 3, .day = 9, .hour = 14, .minute = 5};
constexpr Origin kInput = 7;

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

MarkedText rendered(const std::string& source, const Json& variables = Json::object()) {
  return Template(source).render(*Value::from_json(variables, kInput).dict(), kDate);
}

/// Expects what Python's jinja2 gave: a text, or a refusal.
void expect_row(const Json& row, const std::string& source, const Json& variables) {
  SCOPED_TRACE(row.contains("case") ? row["template"].get<std::string>() + ", " + row["case"].get<std::string>() : source);
  if (row.contains("error")) {
    EXPECT_THROW(rendered(source, variables), TemplateError);
  } else {
    EXPECT_NO_THROW(EXPECT_EQ(rendered(source, variables).bytes(), row["text"].get<std::string>()));
  }
}

TEST(Template, RendersSnippetsAsPythonDoes) {
  const auto golden = parse_json<Json>(contents(DIKKAT_SOURCE_DIR "/tests/train/chat/template/golden.json"));
  ASSERT_GT(golden["rows"].size(), 350U);
  for (const Json& row : golden["rows"]) {
    expect_row(row, row["source"], golden["variables"]);
  }
}

TEST(Template, RendersRealTemplatesAsPythonDoes) {
  const std::filesystem::path folder = std::filesystem::path(DIKKAT_SHARED_DATA) / "templates";
  if (!std::filesystem::exists(folder)) {
    GTEST_SKIP() << folder << " is missing";
  }
  const Json rows = Json::parse(contents(folder / "golden.json"));
  ASSERT_EQ(rows.size(), 132U);
  for (const Json& row : rows) {
    expect_row(row, contents(folder / row["template"].get<std::string>()), row["variables"]);
  }
}

TEST(Template, NamesWhatItDoesNotSupport) {
  const auto refusal = [](const std::string& source) -> std::string {
    try {
      rendered("\n" + source);
    } catch (const TemplateError& error) {
      return error.what();
    }
    return "";
  };
  for (const auto& [source, name] : std::initializer_list<std::pair<const char*, const char*>>{
           {"{{ 'x'|urlize }}", "urlize"},
           {"{{ 'x' is filter }}", "filter"},
           {"{{ 'x'.encode() }}", "encode"},
           {"{{ [].append(1) }}", "append"},
           {"{{ [1].pop() }}", "pop"},
           {"{{ {}.update() }}", "update"},
           {"{% include 'x' %}", "include"},
           {"{% block x %}{% endblock %}", "block"},
           {"{% autoescape true %}{% endautoescape %}", "autoescape"},
           {"{{ {[1]: 2} }}", "list"},
           {"{{ dict(**[1]) }}", "**"},
           {"{{ '\\N{BULLET}' }}", "\\N"},
           {"{{ lipsum is defined }}", "lipsum"},
           {"{{ cycler(1) }}", "cycler"},
           {"{{ 'x'.upper }}", "method"},
           {"{% for x in [1] %}{% filter upper %}{% break %}{% endfilter %}{% endfor %}", "break"},
           {"{{ 1 .real }}", "real"},
           {"{{ range(3)[1:] }}", "range"},
           {"{{ ['x']|sort(attribute='a,b') }}", "a,b"},
           {"{{ 1 is sameas 1 }}", "int"},
           {"{{ ('<b>'|safe).format('<') }}", "format"},
           {"{{ ('<b>'|safe).replace('b', '<') }}", "replace"},
           {"{{ '{:.3}'.format(1.5) }}", "float"},
           {"{{ strftime_now('%Q') }}", "%Q"},
           {"{{ x.y }}", "of x, which is undefined"},
           {"{{ 'x'|trim(what=1) }}", "what"},
           {"{{ 'x'.split(1) }}", "sep"},
       }) {
    const std::string message = refusal(source);
    EXPECT_TRUE(message.starts_with("line 2: ") && message.find(name) != std::string::npos) << source << "\n" << message;
  }
}

// Expected texts are those of Python 3.12's jinja2.
TEST(Template, LargeIntegersKeepTheirDigits) {
  const auto with = [](const std::string& number, const std::string& source) {
    const Value variables = Value::dict({{Value("x"), Value::integer_of(number)}, {Value("n"), Value(std::int64_t{3})}});
    return Template(source).render(*variables.dict(), kDate).bytes();
  };
  for (const std::string number :
       {"9223372036854775808", "18446744073709551615", "-9223372036854775809", "123456789012345678901234567890123456789"}) {
    EXPECT_EQ(with(number, "{{ x }} {{ [x] }} {{ {'a': x}|tojson }} {{ x ~ '' }} {{ x|string }} {{ x|int }}"),
              number + " [" + number + "] {\"a\": " + number + "} " + number + " " + number + " " + number);
    EXPECT_EQ(with(number,
                   "{{ '" + number + "'|int == x }} {{ x is integer }} {{ x is number }} {{ x is float }} {{ x == n }} {{ x in [n, x] }}"),
              "True True True False False True");
    EXPECT_EQ(with(number, "{{ " + number + " }}"), number);
  }
  EXPECT_EQ(with("18446744073709551616",
                 "{{ x > n }} {{ -x < n }} {{ x == 18446744073709551616.0 }} {{ x < 18446744073709551617 }} "
                 "{{ x is odd }} {{ -x }} {{ x|abs }} {{ x|float }} {{ [x, n]|max }} {{ x + 0.5 }}"),
            "True True True True False -18446744073709551616 18446744073709551616 1.8446744073709552e+19 18446744073709551616 "
            "1.8446744073709552e+19");
  EXPECT_EQ(with("7",
                 "{{ 1e20|int }} {{ '1e20'|int }} {{ -1e30|int }} {{ '00012'|int }} {{ '1_000'|int }} {{ '_1'|int }} {{ '+5'|int }} "
                 "{{ '-0'|int }} {{ -0.5|int }}"),
            "100000000000000000000 100000000000000000000 -1000000000000000019884624838656 12 1000 0 5 0 0");
  for (const char* source : {"{{ x + n }}", "{{ n * x }}", "{{ x // n }}", "{{ x % n }}", "{{ [x]|sum }}", "{{ range(x) }}"}) {
    EXPECT_THROW(with("18446744073709551616", source), TemplateError) << source;
  }
}

// In Jinja these are generators: always true, printed as an address, and empty the second time.
TEST(Template, RefusesUsesOfGeneratorsThatSurprise) {
  for (const std::string filter :
       {"select", "reject", "map('upper')", "unique", "reverse", "batch(2)", "selectattr('x')", "rejectattr('x')"}) {
    const std::string set = "\n{%- set g = ['a', 'b']|" + filter + " -%}\n";
    for (const std::string use : {"{% if g %}{% endif %}", "{{ 'x' if not g }}", "{{ g and 1 }}", "{{ g|default(1, true) }}", "{{ g }}",
                                  "{{ g ~ '' }}", "{{ g|list }}{{ g|list }}", "{% for x in g %}{% endfor %}{{ g|join }}", "{{ g|tojson }}",
                                  "{{ g|length }}", "{{ 'a' in g }}{{ 'a' in g }}", "{{ g|first }}{{ g|first }}", "{{ g|last }}"}) {
      const std::string message = input_error_of([&] { rendered(set + use); });
      EXPECT_TRUE(message.starts_with("line ")) << filter << use << message;
    }
    EXPECT_EQ(rendered(set + "{{ g is defined }}{{ g|list|length < 3 }}").bytes(), "TrueTrue");
  }
  EXPECT_THROW(rendered("{% set g = {'a': 1}|items %}{% if g %}{% endif %}"), TemplateError);
}

TEST(Template, AnExceptionOfTheTemplateIsItsSentence) {
  try {
    rendered("{{ raise_exception('Roles must ' ~ 'alternate.') }}");
    FAIL();
  } catch (const TemplateRefusal& refusal) {
    EXPECT_STREQ(refusal.what(), "Roles must alternate.");
  }
}

// Characters that the template writes have origin 0; those of its input have the input's.
TEST(Template, PartsKeepTheirOrigin) {
  const auto parts = [](const std::string& source, const Json& variables) {
    const MarkedText text = rendered(source, variables);
    std::string marked;
    std::size_t begin = 0;
    for (const TextPart& part : text.parts()) {
      const std::string bytes = text.bytes().substr(begin, part.end - begin);
      marked += part.origin == kInput ? "<" + bytes + ">" : bytes;
      begin = part.end;
    }
    return marked;
  };
  const Json message = {{"m", {{"role", "user"}, {"content", " one two, three "}}}};
  EXPECT_EQ(parts("[{{ m.role }}]{{ m.content }}.", message), "[<user>]< one two, three >.");
  EXPECT_EQ(parts("{{ '[' + m.role + ']' ~ m['content']|trim }}", message), "[<user>]<one two, three>");
  EXPECT_EQ(parts("{{ m.content.split(',')|join('|')|upper }}", message), "< ONE TWO>|< THREE >");
  EXPECT_EQ(parts("{{ m.content[1:4] }}{{ m.content[::-1][1] }}{{ m.content.strip()[-1] }}", message),
            "<onee"
            "e>");
  EXPECT_EQ(parts("{{ m|tojson }}", message), R"({"<role>": "<user>", "<content>": "< one two, three >"})");
  EXPECT_EQ(parts("{{ m.content|replace('two', 'TWO') }}", message), "< one >TWO<, three >");
  EXPECT_EQ(parts("{{ 'a<b>'|replace('<b>', m.role) }}", message), "a<user>");
  EXPECT_EQ(parts("{{ [m.role, 'x'] }}", message), "['<user>', 'x']");
  EXPECT_EQ(parts("{{ x|tojson }}", {{"x", "a\"\nb"}}), R"("<a\"\nb>")");
  EXPECT_EQ(parts("{% set c %}<{{ m.role }}>{% endset %}{{ c * 2 }}", message), "<<user>><<user>>");
  EXPECT_EQ(parts("{% macro f(x) %}({{ x }}){% endmacro %}{{ f(m.role)|title }}", message), "(<User>)");
}

TEST(Template, GenerationIsMarked) {
  const MarkedText text = rendered("a{% for m in l %}{% generation %}{{ m }}!{% endgeneration %},{% endfor %}", {{"l", {"x", "y"}}});
  EXPECT_EQ(text.bytes(), "ax!,y!,");
  std::string generated;
  for (std::size_t i = 0; i < text.size(); ++i) {
    generated += text.marks_at(i).generated ? '1' : '0';
  }
  EXPECT_EQ(generated, "0110110");
  EXPECT_EQ(text.marks_at(1).origin, kInput);
  EXPECT_EQ(text.marks_at(2).origin, kFromTemplate);
}

// Each of these would take hours, or all memory.
TEST(Template, WorkMemoryAndDepthAreBounded) {
  const std::string deep(100'000, '(');
  std::string chain = "{{ 1";
  std::string conditions = "{{ 1";
  for (int i = 0; i < 10'000; ++i) {
    chain += " + 1";
    conditions += " if 1";
  }
  EXPECT_EQ(rendered(chain + " }}").bytes(), "10001");
  for (const std::string& source : {
           std::string("{{ 'x' * 100000000000 }}"),
           std::string("{{ [1] * 100000000000 }}"),
           std::string("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"),
           std::string("{% set ns = namespace(x='a') %}{% for a in range(100) %}{% set ns.x = ns.x + ns.x %}{% endfor %}"),
           std::string("{% set ns = namespace(x=[1]) %}{% for a in range(100) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}"),
           std::string("{% set ns = namespace(x=[1]) %}{% for a in range(99999) %}{% set ns.x = [ns.x] %}{% endfor %}"),
           std::string("{% set ns = namespace(x='a' * 1000000) %}{% for a in range(1000) %}{{ ns.x }}{% endfor %}"),
           std::string("{{ ('a' * 10000000).replace('a', 'b' * 10000000) }}"),
           std::string("{{ ('a' * 10000000)|list|length }}"),
           std::string("{% set x = 'a' * 8000000 %}{% for a in range(99999) %}{{ (x + 'b') in (x + x) }}{% endfor %}"),
           std::string("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"),
           std::string("{% macro m() %}{% if true %}{{ m() }}{% endif %}{{ m() }}{% endmacro %}{{ m() }}"),
           std::string("{{ 9223372036854775807 + 1 }}"),
           std::string("{{ 2 ** 64 }}"),
           std::string("{{ 10 ** 10 ** 10 }}"),
           std::string("{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}"),
           std::string(
               "{% macro m() %}{{ caller() }}{% endmacro %}{% macro n() %}{% call m() %}{{ n() }}{% endcall %}{% endmacro %}{{ n() }}"),
           std::string("{{ 'x'.ljust(100000000000) }}"),
           std::string("{{ '{:99999999999}'.format(1) }}"),
           std::string("{{ '{:90000}'.format(1) * 1000 }}"),
           std::string("{{ '%99999999999d' % 1 }}"),
           std::string("{{ [1]|batch(100000000000, 0)|list }}"),
           "{{ " + deep,
           "{{ " + std::string(100'000, '-') + "1 }}",
           "{{ " + std::string(100'000, '[') + std::string(100'000, ']') + " }}",
           conditions + " }}",
           std::string(2'000'000, 'x'),
       }) {
    EXPECT_THROW(rendered(source), TemplateError) << source.substr(0, 100);
  }
  std::string blocks;
  for (int i = 0; i < 10'000; ++i) {
    blocks += "{% if 1 %}";
  }
  EXPECT_THROW(Template{blocks}, TemplateError);
}

TEST(Template, RefusesASourceThatIsNotUtf8) { EXPECT_THROW(Template("a\xFF"), TemplateError); }

TEST(CalendarDate, IsReadStrictly) {
  EXPECT_EQ(CalendarDate::parse("2026-03-09 14:05"), kDate);
  EXPECT_EQ(CalendarDate::parse("2024-02-29"), (CalendarDate{.year = 2024, .month = 2, .day = 29}));
  for (const char* text : {"", "2026", "2026-3-9", "2026-02-30", "2025-02-29", "2026-13-01", "2026-03-09 24:00", "2026-03-09T14:05",
                           "2026-03-09 14:05:00", "-026-03-09", "0000-01-01", "2026-03-09 ", "tomorrow"}) {
    EXPECT_THROW(CalendarDate::parse(text), InputError) << text;
  }
}

}  // namespace
}  // namespace dikkat
