#include "train/exchange/formats/json_reader.h"

#include <nlohmann/json.hpp>

#include "train/exchange/formats/weight_type.h"

namespace dikkat {
namespace {

using nlohmann::json;

/// Passes the library's events on to a JsonReader.
class SaxAdapter {
 public:
  SaxAdapter(JsonReader& reader, std::string about) : reader_(reader), about_(std::move(about)) {}

  // The library requires these names.
  bool null() { return other(); }
  bool boolean(bool /*value*/) { return other(); }
  bool number_integer(std::int64_t /*negative*/) { return number(std::nullopt); }
  bool number_unsigned(std::uint64_t value) { return number(value); }
  bool number_float(double /*value*/, const std::string& /*text*/) { return number(std::nullopt); }
  bool binary(const std::vector<std::uint8_t>& /*value*/) { return other(); }
  bool string(const std::string& text) {
    reader_.on_string(text);
    return true;
  }
  bool key(const std::string& text) {
    reader_.on_key(text);
    return true;
  }
  bool start_object(std::size_t /*unknown*/) {
    reader_.on_object();
    return true;
  }
  bool end_object() {
    reader_.on_object_end();
    return true;
  }
  bool start_array(std::size_t /*unknown*/) {
    reader_.on_array();
    return true;
  }
  bool end_array() {
    reader_.on_array_end();
    return true;
  }
  bool parse_error(std::size_t position, const std::string& /*token*/, const json::exception& /*error*/) {
    fail_input(about_, "is not valid JSON at byte ", position);
  }

 private:
  bool other() {
    reader_.on_other();
    return true;
  }
  bool number(std::optional<std::uint64_t> value) {
    reader_.on_number(value);
    return true;
  }

  JsonReader& reader_;
  std::string about_;
};

}  // namespace

void JsonReader::read(std::string_view text) {
  SaxAdapter adapter(*this, about());
  json::sax_parse(text.begin(), text.end(), &adapter);
}

std::string json_text(const std::string& text, const std::string& path) {
  try {
    return json(text).dump();
  } catch (const json::exception&) {
    fail_input(path, ": the name ", in_quotes(text), " is not UTF-8");
  }
}

}  // namespace dikkat
