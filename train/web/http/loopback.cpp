#include "train/web/http/loopback.h"

#include <algorithm>
#include <string_view>

#include <arpa/inet.h>

namespace dikkat {

bool is_loopback(const std::string& host) {
  in_addr four{};
  if (::inet_pton(AF_INET, host.c_str(), &four) == 1) {
    return ntohl(four.s_addr) >> 24 == 127;
  }
  in6_addr six{};
  if (::inet_pton(AF_INET6, host.c_str(), &six) == 1) {
    return IN6_IS_ADDR_LOOPBACK(&six);
  }
  constexpr std::string_view kName = "localhost";
  return std::ranges::equal(host, kName, [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; });
}

}  // namespace dikkat
