#pragma once

#include <cctype>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>

#include "autograd/base/error.h"

namespace dikkat::testing {

/// A strict reader of Prometheus's text format, version 0.0.4. It also wants what the format leaves open: each metric with one HELP line,
/// then one TYPE line, then all its samples, counters that are named _total, and whole histograms.
class PrometheusText {
 public:
  /// Throws std::runtime_error, which names the line, for a text that is not in the format.
  explicit PrometheusText(const std::string& text) {
    std::string_view rest = text;
    require(!text.empty() && text.back() == '\n', "the last line has no end");
    while (!rest.empty()) {
      line_ = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(line_.size() + 1);
      line_.starts_with("#") ? read_comment() : read_sample();
    }
    end_metric();
  }

  /// The value of a sample, as it is written: value("requests_total{status=\"200\"}"). NaN if there is none.
  double value(const std::string& sample) const {
    const auto found = samples_.find(sample);
    return found == samples_.end() ? std::nan("") : found->second;
  }
  const std::map<std::string, std::string>& types() const { return types_; }

 private:
  void require(bool holds, const char* what) const {
    if (!holds) {
      throw std::runtime_error(concat(what, ": ", line_));
    }
  }
  static bool is_name(std::string_view text) {
    if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0])) != 0) {
      return false;
    }
    for (const char c : text) {
      if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != ':') {
        return false;
      }
    }
    return true;
  }

  void read_comment() {
    const bool is_help = line_.starts_with("# HELP ");
    require(is_help || line_.starts_with("# TYPE "), "neither HELP nor TYPE");
    const std::string_view rest = line_.substr(7);
    const std::string name(rest.substr(0, rest.find(' ')));
    require(is_name(name) && rest.size() > name.size() + 1, "no name, or nothing after it");
    if (is_help) {
      end_metric();
      require(!types_.contains(name), "a second HELP of a metric");
      name_ = name;
      return;
    }
    const std::string type(rest.substr(name.size() + 1));
    require(name == name_ && !types_.contains(name), "a TYPE that does not follow its HELP");
    require(type == "counter" || type == "gauge" || type == "histogram", "an unknown type");
    require((type == "counter") == name.ends_with("_total"), "only counters are named _total");
    types_[name] = type;
  }

  void read_sample() {
    // The name.
    const std::string name(line_.substr(0, line_.find_first_of("{ ")));
    require(is_name(name), "a sample without a name");
    require(types_.contains(name_), "a sample before its TYPE");
    const std::string& type = types_[name_];
    const std::string_view suffix = std::string_view(name).substr(std::min(name_.size(), name.size()));
    const bool is_of_histogram = suffix == "_bucket" || suffix == "_sum" || suffix == "_count";
    require(name.starts_with(name_) && (type == "histogram" ? is_of_histogram : suffix.empty()), "a sample of another metric");
    // The labels.
    std::string_view rest = line_.substr(name.size());
    std::map<std::string, std::string> labels;
    if (rest.starts_with("{")) {
      rest.remove_prefix(1);
      while (!rest.starts_with("}")) {
        read_label(rest, labels);
      }
      rest.remove_prefix(1);
    }
    // The value.
    require(rest.starts_with(" "), "no blank before the value");
    const std::string number(rest.substr(1));
    char* end = nullptr;
    const double value = std::strtod(number.c_str(), &end);
    require(!number.empty() && std::isspace(static_cast<unsigned char>(number[0])) == 0 && *end == '\0' && std::isfinite(value),
            "a value that is not a finite number");
    require(type == "gauge" || value >= 0, "a negative count");
    const std::string sample(line_.substr(0, line_.rfind(' ')));
    require(samples_.emplace(sample, value).second, "a sample that is there twice");
    if (suffix == "_bucket" && type == "histogram") {
      require(labels.size() == 1 && labels.contains("le"), "a bucket without its bound");
      const double bound = labels["le"] == "+Inf" ? HUGE_VAL : std::strtod(labels["le"].c_str(), nullptr);
      require(bound > last_bound_ && value >= last_count_, "buckets that are not in order, or not cumulative");
      last_bound_ = bound;
      last_count_ = value;
    }
  }

  void read_label(std::string_view& rest, std::map<std::string, std::string>& labels) const {
    const std::string name(rest.substr(0, rest.find('=')));
    require(is_name(name) && name.find(':') == std::string::npos && rest.substr(name.size()).starts_with("=\""), "a label without a name");
    rest.remove_prefix(name.size() + 2);
    std::string value;
    while (!rest.starts_with("\"")) {
      require(!rest.empty(), "a label that does not end");
      if (rest.starts_with("\\")) {
        require(rest.size() > 1 && (rest[1] == '\\' || rest[1] == '"' || rest[1] == 'n'), "an unknown escape");
        rest.remove_prefix(1);
      }
      value += rest[0];
      rest.remove_prefix(1);
    }
    rest.remove_prefix(1);
    require(labels.emplace(name, value).second, "a label that is there twice");
    require(rest.starts_with("}") || rest.starts_with(","), "no comma between labels");
    rest.remove_prefix(rest.starts_with(",") ? 1 : 0);
  }

  /// Checks that a histogram is whole.
  void end_metric() {
    if (name_.empty()) {
      return;
    }
    require(types_.contains(name_), "a metric without a TYPE");
    if (types_[name_] == "histogram") {
      require(last_bound_ == HUGE_VAL && value(name_ + "_count") == last_count_ && !std::isnan(value(name_ + "_sum")),
              "a histogram without +Inf, _sum or _count");
    }
    last_bound_ = -HUGE_VAL;
    last_count_ = 0;
  }

  std::string_view line_;
  std::string name_;  // of the metric that is being read
  std::map<std::string, std::string> types_;
  std::map<std::string, double> samples_;
  double last_bound_ = -HUGE_VAL, last_count_ = 0;
};

}  // namespace dikkat::testing
