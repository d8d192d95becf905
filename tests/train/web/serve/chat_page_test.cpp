#include "train/web/serve/chat_page.h"

#include <algorithm>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "train/system/sha256.h"

namespace dikkat::serve {
namespace {

std::string header(const HttpResponse& response, const std::string& name) {
  const auto found = std::ranges::find(response.headers, name, [](const auto& one) { return one.first; });
  return found == response.headers.end() ? "" : found->second;
}

/// The texts between <name> and </name>.
std::vector<std::string> elements(const std::string& page, const std::string& name) {
  std::vector<std::string> found;
  const std::string begin = "<" + name + ">", end = "</" + name + ">";
  for (std::size_t at = 0; (at = page.find(begin, at)) != std::string::npos;) {
    at += begin.size();
    found.push_back(page.substr(at, page.find(end, at) - at));
  }
  return found;
}

std::vector<unsigned> decoded(const std::string& base64) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<unsigned> bytes;
  unsigned value = 0, bits = 0;
  for (const char c : base64.substr(0, base64.find('='))) {
    value = (value << 6) | static_cast<unsigned>(digits.find(c));
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes.push_back((value >> bits) & 255);
    }
  }
  return bytes;
}

TEST(ChatPage, PermitsOnlyItsOwnScriptsAndStyles) {
  const HttpResponse page = chat_page({});
  const std::string policy = header(page, "Content-Security-Policy");
  for (const char* expected : {"default-src 'none';", "connect-src 'self';", "frame-ancestors 'none'", "base-uri 'none'",
                               "form-action 'none'", "require-trusted-types-for 'script'"}) {
    EXPECT_NE(policy.find(expected), std::string::npos) << policy;
  }
  EXPECT_EQ(policy.find("unsafe"), std::string::npos) << policy;
  EXPECT_EQ(header(page, "Referrer-Policy"), "no-referrer");

  std::multiset<std::vector<unsigned>> permitted, found;
  const std::regex hash("'sha256-([A-Za-z0-9+/]{43}=)'");
  for (auto at = std::sregex_iterator(policy.begin(), policy.end(), hash); at != std::sregex_iterator(); ++at) {
    permitted.insert(decoded((*at)[1]));
  }
  std::vector<std::string> parts = elements(page.body, "script");
  ASSERT_EQ(parts.size(), 2U) << "the library and the page's own script";
  parts.push_back(elements(page.body, "style").at(0));
  for (const std::string& part : parts) {
    EXPECT_GT(part.size(), 1000U);
    const Digest digest = sha256(part);
    found.insert({digest.begin(), digest.end()});
  }
  EXPECT_EQ(permitted, found);
}

TEST(ChatPage, NeedsNothingFromElsewhere) {
  const std::string page = chat_page({}).body;
  EXPECT_TRUE(page.starts_with("<!doctype html>\n"));
  EXPECT_FALSE(std::regex_search(page, std::regex(R"(\{\{(styles|library|script|config|licenses)\}\})")));
  const std::regex loads(R"(<(link|img|script|iframe|source|object|embed)\b[^>]*\b(src|href|data)=["'](?!data:))");
  EXPECT_FALSE(std::regex_search(page, loads));
  EXPECT_FALSE(std::regex_search(page, std::regex(R"(<[^>]* (style|on[a-z]+)=)"))) << "the policy forbids them";
  EXPECT_FALSE(std::regex_search(page, std::regex(R"(\.(innerHTML|outerHTML|insertAdjacentHTML)\b|\beval\(|document\.write)")));
  for (const char* licensed : {"Vitaly Puzrin", "Felix B\xc3\xb6hm", "Mathias Bynens", "Redistributions in binary form"}) {
    EXPECT_NE(page.find(licensed), std::string::npos) << licensed;
  }
}

TEST(ChatPage, HasItsConfiguration) {
  const auto config = [](const ChatPageConfig& wanted) {
    const std::string page = chat_page(wanted).body, begin = R"(<script type="application/json" id="config">)";
    const std::size_t from = page.find(begin) + begin.size();
    return nlohmann::json::parse(page.substr(from, page.find("</script>", from) - from));
  };
  EXPECT_EQ(config({}), (nlohmann::json{{"feedback", false}, {"chat", true}, {"thinking", false}}));
  EXPECT_EQ(config({.takes_feedback = true, .takes_conversations = false, .can_switch_thinking = true}),
            (nlohmann::json{{"feedback", true}, {"chat", false}, {"thinking", true}}));
  EXPECT_EQ(header(chat_page({}), "Content-Security-Policy"), header(chat_page({.takes_feedback = true}), "Content-Security-Policy"));
}

}  // namespace
}  // namespace dikkat::serve
