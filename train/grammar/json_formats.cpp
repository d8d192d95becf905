#include "train/grammar/json_formats.h"

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
  static const Format all[] = {
      {"date", kDate},
      {"time", kTime},
      {"date-time", concat(kDate, "T", kTime)},
      {"duration",
       "P(?:[0-9]{1,6}W|(?:[0-9]{1,6}D|[0-9]{1,6}M(?:[0-9]{1,6}D)?|[0-9]{1,6}Y(?:[0-9]{1,6}M(?:[0-9]{1,6}D)?)?)"
       "(?:T(?:[0-9]{1,6}H(?:[0-9]{1,6}M(?:[0-9]{1,6}S)?)?|[0-9]{1,6}M(?:[0-9]{1,6}S)?|[0-9]{1,6}S))?"
       "|T(?:[0-9]{1,6}H(?:[0-9]{1,6}M(?:[0-9]{1,6}S)?)?|[0-9]{1,6}M(?:[0-9]{1,6}S)?|[0-9]{1,6}S))"},
      {"uuid", "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"},
      {"email", concat("[A-Za-z0-9_%+-]{1,20}(?:\\.[A-Za-z0-9_%+-]{1,20}){0,2}@", kLabel, "(?:\\.", kLabel, "){1,4}")},
      {"hostname", host},
      {"ipv4", kIpv4},
      {"uri", concat("https?://", host, "(?::[1-9][0-9]{0,3})?(?:/[A-Za-z0-9._~-]{0,100}){0,16}(?:\\?[A-Za-z0-9._~=&-]{0,200})?")},
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
