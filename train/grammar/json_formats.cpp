#include "train/grammar/json_formats.h"

#include <algorithm>
#include <iterator>

#include "autograd/base/error.h"

namespace dikkat {
namespace {

// RFC 3339, without leap seconds. A day exists in its month; 29 February is left out, because it depends on the year.
constexpr const char* kDate =
    "[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))";
constexpr const char* kTime = "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]{1,9})?(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])";
constexpr const char* kIpv4 = "(?:(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])\\.){3}(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";
constexpr const char* kLabel = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,29}[A-Za-z0-9])?";  // RFC 1123; shorter, so that a name has at most 253

struct Format {
  std::string_view name;
  std::string pattern;
};

const auto& formats() {
  static const std::string host = concat(kLabel, "(?:\\.", kLabel, "){0,6}");
  static const std::string segment = "(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})";
  static const std::string h = "[0-9a-fA-F]{1,4}";
  // Eight groups, of which one run of zeros may be left out (RFC 4291).
  static const std::string ipv6 = concat("(?:(?:", h, ":){7}", h, "|(?:", h, ":){1,7}:|(?:", h, ":){1,6}:", h, "|(?:", h, ":){1,5}(?::", h,
                                         "){1,2}|(?:", h, ":){1,4}(?::", h, "){1,3}|(?:", h, ":){1,3}(?::", h, "){1,4}|(?:", h,
                                         ":){1,2}(?::", h, "){1,5}|", h, ":(?::", h, "){1,6}|:(?::", h, "){1,7}|::)");
  static const std::string uuid = "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-V[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}";
  const auto uuid_of = [](const char* version) { return std::string(uuid).replace(uuid.find('V'), 1, version); };
  static const Format all[] = {
      {"date", kDate},
      {"time", kTime},
      {"date-time", concat(kDate, "T", kTime)},
      {"duration",
       "P(?:[0-9]{1,6}W|(?:[0-9]{1,6}D|[0-9]{1,6}M(?:[0-9]{1,6}D)?|[0-9]{1,6}Y(?:[0-9]{1,6}M(?:[0-9]{1,6}D)?)?)"
       "(?:T(?:[0-9]{1,6}H(?:[0-9]{1,6}M(?:[0-9]{1,6}S)?)?|[0-9]{1,6}M(?:[0-9]{1,6}S)?|[0-9]{1,6}S))?"
       "|T(?:[0-9]{1,6}H(?:[0-9]{1,6}M(?:[0-9]{1,6}S)?)?|[0-9]{1,6}M(?:[0-9]{1,6}S)?|[0-9]{1,6}S))"},
      {"uuid", "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"},
      {"uuid1", uuid_of("1")},
      {"uuid3", uuid_of("3")},
      {"uuid4", uuid_of("4")},
      {"uuid5", uuid_of("5")},
      {"email", concat("[A-Za-z0-9_+-]{1,20}(?:\\.[A-Za-z0-9_+-]{1,20}){0,2}@(?:", kLabel, "\\.){1,4}[A-Za-z]{2,20}")},
      {"hostname", host},
      {"ipv4", kIpv4},
      {"ipv6", ipv6},
      {"uri", concat("https?://", host, "(?::[1-9][0-9]{0,3})?(?:/", segment, "{0,40}){0,8}(?:\\?(?:", segment,
                     "|[/?]){0,80})?(?:#(?:", segment, "|[/?]){0,40})?")},
      {"base64", "(?:[0-9a-zA-Z+/]{4})*(?:[0-9a-zA-Z+/]{2}==|[0-9a-zA-Z+/]{3}=)?"},
      {"byte", "(?:[0-9a-zA-Z+/]{4})*(?:[0-9a-zA-Z+/]{2}==|[0-9a-zA-Z+/]{3}=)?"},
      // Any text.
      {"binary", "[\\s\\S]*"},
      {"password", "[\\s\\S]*"},
  };
  return all;
}

}  // namespace

std::optional<std::string> format_pattern(std::string_view format) {
  for (const Format& one : formats()) {
    if (one.name == format) {
      return one.pattern;
    }
  }
  return std::nullopt;
}

bool is_unknown_standard_format(std::string_view format) {
  constexpr std::string_view kStandard[] = {"idn-email",    "idn-hostname", "uri-reference",         "iri",  "iri-reference",
                                            "uri-template", "json-pointer", "relative-json-pointer", "regex"};
  return std::ranges::find(kStandard, format) != std::end(kStandard);
}

std::string format_names() {
  std::string names;
  const auto& all = formats();
  for (std::size_t i = 0; i < std::size(all); ++i) {
    names += i == 0 ? "" : i + 1 == std::size(all) ? " or " : ", ";
    names += all[i].name;
  }
  return names;
}

}  // namespace dikkat
