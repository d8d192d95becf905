#include "train/web/serve/chat_page.h"

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/system/json.h"
#include "train/system/sha256.h"
#include "train/web/report/embedded_file.h"

namespace dikkat::serve {
namespace {

/// Returns bytes in base64 (RFC 4648, section 4).
std::string base64(const Digest& bytes) {
  constexpr const char* kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](std::size_t at) { return at < bytes.size() ? unsigned{bytes[at]} : 0U; };
    const unsigned three = (byte(i) << 16) | (byte(i + 1) << 8) | byte(i + 2);
    for (std::size_t digit = 0; digit < 4; ++digit) {
      text += i + digit <= bytes.size() ? kDigits[(three >> (18 - 6 * digit)) & 63] : '=';
    }
  }
  return text;
}

/// Returns the source expression of Content-Security-Policy that permits this script or style.
std::string permission_of(std::string_view text) { return concat("'sha256-", base64(sha256(text)), '\''); }

std::string html_text(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '<') {
      safe += "&lt;";
    } else if (c == '&') {
      safe += "&amp;";
    } else {
      safe += c;
    }
  }
  return safe;
}

}  // namespace

HttpResponse chat_page(const ChatPageConfig& config) {
  // Find the parts of the page.
  const std::string_view styles = embedded_file("chat.css");
  const std::string_view library = embedded_file("markdown-it.umd.min.js");
  const std::string_view script = embedded_file("chat.js");
  const std::string data = json_text(nlohmann::ordered_json{
      {"feedback", config.takes_feedback}, {"chat", config.takes_conversations}, {"thinking", config.can_switch_thinking}});
  const auto part = [&](std::string_view name) -> std::string {
    if (name == "styles") {
      return std::string(styles);
    }
    if (name == "library") {
      return std::string(library);
    }
    if (name == "script") {
      return std::string(script);
    }
    return name == "config" ? data : html_text(embedded_file("markdown-it.LICENSE"));
  };

  // Insert the parts in place of {{their names}}. Inserted text is not searched again.
  HttpResponse response{.type = "text/html; charset=utf-8"};
  const std::string_view frame = embedded_file("chat.html");
  std::size_t from = 0;
  for (std::size_t at = 0; (at = frame.find("{{", from)) != std::string_view::npos;) {
    const std::size_t end = frame.find("}}", at);
    response.body += concat(frame.substr(from, at - from), part(frame.substr(at + 2, end - at - 2)));
    from = end + 2;
  }
  response.body += frame.substr(from);

  // The icon of the page is a data: URL. The other headers are for browsers that other sites try to trick.
  response.headers = {
      {"Content-Security-Policy",
       concat("default-src 'none'; script-src ", permission_of(library), ' ', permission_of(script), "; style-src ", permission_of(styles),
              "; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
              "require-trusted-types-for 'script'; trusted-types 'none'")},
      {"Referrer-Policy", "no-referrer"},
      {"X-Frame-Options", "DENY"},
      {"Cross-Origin-Resource-Policy", "same-origin"},
      {"Permissions-Policy", "camera=(), geolocation=(), microphone=()"},
  };
  return response;
}

}  // namespace dikkat::serve
