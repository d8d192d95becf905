#include "train/system/pickle.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_map>

#include "autograd/base/error.h"
#include "train/system/byte_reader.h"
#include "train/system/in_quotes.h"

namespace dikkat {
namespace {

using Kind = PickleValue::Kind;

// Limits above what torch.save writes for real models. They keep memory in proportion to the file.
constexpr std::size_t kMostPickleBytes = std::size_t{1} << 23;
constexpr std::size_t kMostContainers = std::size_t{1} << 20;
constexpr std::size_t kMostExtents = 8;  // of a tensor

/// Names, for messages, of the instructions that are refused.
struct Instruction {
  unsigned code;
  const char* name;
};
constexpr std::array kRefused{
    Instruction{'0', "POP"},
    Instruction{'1', "POP_MARK"},
    Instruction{'2', "DUP"},
    Instruction{'F', "FLOAT"},
    Instruction{'I', "INT"},
    Instruction{'L', "LONG"},
    Instruction{'P', "PERSID"},
    Instruction{'S', "STRING"},
    Instruction{'T', "BINSTRING"},
    Instruction{'U', "SHORT_BINSTRING"},
    Instruction{'V', "UNICODE"},
    Instruction{'d', "DICT"},
    Instruction{'g', "GET"},
    Instruction{'i', "INST"},
    Instruction{'l', "LIST"},
    Instruction{'o', "OBJ"},
    Instruction{'p', "PUT"},
    Instruction{'B', "BINBYTES"},
    Instruction{'C', "SHORT_BINBYTES"},
    Instruction{0x81, "NEWOBJ"},
    Instruction{0x82, "EXT1"},
    Instruction{0x83, "EXT2"},
    Instruction{0x84, "EXT4"},
    Instruction{0x8B, "LONG4"},
    Instruction{0x8E, "BINBYTES8"},
    Instruction{0x8F, "EMPTY_SET"},
    Instruction{0x90, "ADDITEMS"},
    Instruction{0x91, "FROZENSET"},
    Instruction{0x92, "NEWOBJ_EX"},
    Instruction{0x96, "BYTEARRAY8"},
    Instruction{0x97, "NEXT_BUFFER"},
    Instruction{0x98, "READONLY_BUFFER"},
};

constexpr std::string_view kOrderedDict = "collections OrderedDict";
constexpr std::string_view kRebuildTensor = "torch._utils _rebuild_tensor_v2";
/// The names that a pickle may use, as "module name".
constexpr std::array<std::string_view, 14> kGlobals{
    kOrderedDict,          kRebuildTensor,      "torch FloatStorage",        "torch HalfStorage",         "torch BFloat16Storage",
    "torch DoubleStorage", "torch LongStorage", "torch IntStorage",          "torch ShortStorage",        "torch CharStorage",
    "torch ByteStorage",   "torch BoolStorage", "torch ComplexFloatStorage", "torch ComplexDoubleStorage"};

const char* kind_name(Kind kind) {
  switch (kind) {
    case Kind::none: return "None";
    case Kind::boolean: return "a bool";
    case Kind::integer: return "an int";
    case Kind::real: return "a float";
    case Kind::text: return "a text";
    case Kind::tuple: return "a tuple";
    case Kind::list: return "a list";
    case Kind::dict: return "a dict";
    case Kind::global: return "a name of a module";
    case Kind::storage: return "a storage";
    case Kind::tensor: return "a tensor";
  }
  return "?";
}

/// Executes a pickle's instructions on a stack of values.
class Unpickler {
 public:
  Unpickler(std::span<const std::byte> bytes, const std::string& name) : reader_(bytes, name), name_(name) {}

  Pickle run() {
    while (!stopped_) {
      begin_ = reader_.at();
      step(reader_.number<std::uint8_t>("an instruction of the pickle"));
    }
    return std::move(pickle_);
  }

 private:
  struct Storage {
    std::string_view type;
    std::string_view key;
    index elements;
  };

  template <class... Parts>
  void check(bool ok, const Parts&... parts) const {
    if (!ok) [[unlikely]] {
      fail_input(name_, ": the pickle, at byte ", begin_, ", ", parts...);
    }
  }

  void step(unsigned code) {
    switch (code) {
      case 0x80: return protocol();
      case 0x95: return frame();
      case '.': return stop();
      case '(': marks_.push_back(stack_.size()); return;
      case 'N': return push({});
      case 0x88: return push(value(Kind::boolean, 1));
      case 0x89: return push(value(Kind::boolean, 0));
      case 'J': return push(value(Kind::integer, reader_.number<std::int32_t>("an int")));
      case 'K': return push(value(Kind::integer, reader_.number<std::uint8_t>("an int")));
      case 'M': return push(value(Kind::integer, reader_.number<std::uint16_t>("an int")));
      case 0x8A: return push_long();
      case 'G': return push_real();
      case 'X': return push_text(reader_.number<std::uint32_t>("a text"));
      case 0x8C: return push_text(reader_.number<std::uint8_t>("a text"));
      case 0x8D: return push_text(reader_.number<std::uint64_t>("a text"));
      case '}': return push_container(Kind::dict, {});
      case ']': return push_container(Kind::list, {});
      case ')': return push_container(Kind::tuple, {});
      case 't': return push_container(Kind::tuple, pop_to_mark());
      case 0x85: return push_container(Kind::tuple, pop_last(1));
      case 0x86: return push_container(Kind::tuple, pop_last(2));
      case 0x87: return push_container(Kind::tuple, pop_last(3));
      case 's': return add(Kind::dict, pop_last(2));
      case 'u': return add(Kind::dict, pop_to_mark());
      case 'a': return add(Kind::list, pop_last(1));
      case 'e': return add(Kind::list, pop_to_mark());
      case 'q': return remember(reader_.number<std::uint8_t>("a place of the memo"));
      case 'r': return remember(reader_.number<std::uint32_t>("a place of the memo"));
      case 0x94: return remember(static_cast<std::uint32_t>(memo_.size()));
      case 'h': return recall(reader_.number<std::uint8_t>("a place of the memo"));
      case 'j': return recall(reader_.number<std::uint32_t>("a place of the memo"));
      case 'c': return push_global();
      case 0x93: return push_stack_global();
      case 'Q': return push_storage();
      case 'R': return reduce();
      case 'b': return build();
      default: break;
    }
    const auto* const known = std::find_if(kRefused.begin(), kRefused.end(), [&](const Instruction& i) { return i.code == code; });
    check(false, "has the instruction ", known == kRefused.end() ? concat(code) : known->name,
          ", which a dict of tensors and plain values does not need; it was not executed");
  }

  static PickleValue value(Kind kind, std::int64_t integer) {
    PickleValue value;
    value.kind = kind;
    value.integer = integer;
    return value;
  }
  static PickleValue placed(Kind kind, std::size_t at) {
    PickleValue value;
    value.kind = kind;
    value.at = at;
    return value;
  }
  void push(const PickleValue& value) { stack_.push_back(value); }

  PickleValue pop() {
    check(stack_.size() > (marks_.empty() ? 0 : marks_.back()), "takes a value that is not there");
    const PickleValue last = stack_.back();
    stack_.pop_back();
    return last;
  }
  std::vector<PickleValue> pop_last(std::size_t count) {
    check(stack_.size() - (marks_.empty() ? 0 : marks_.back()) >= count, "takes values that are not there");
    std::vector<PickleValue> values(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    return values;
  }
  std::vector<PickleValue> pop_to_mark() {
    check(!marks_.empty(), "needs a mark, but there is none");
    const std::size_t mark = marks_.back();
    marks_.pop_back();
    std::vector<PickleValue> values(stack_.begin() + static_cast<std::ptrdiff_t>(mark), stack_.end());
    stack_.resize(mark);
    return values;
  }

  void protocol() {
    const auto version = reader_.number<std::uint8_t>("the protocol");
    check(version >= 2 && version <= 5, "has protocol ", version, ", expected 2 to 5");
  }

  void frame() {
    const auto length = reader_.number<std::uint64_t>("a frame");
    check(length <= reader_.left(), "begins a frame of ", length, " bytes, but only ", reader_.left(), " follow");
  }

  void stop() {
    pickle_.root = pop();
    check(stack_.empty() && marks_.empty(), "stops while values are left");
    stopped_ = true;
  }

  void push_long() {
    const auto length = reader_.number<std::uint8_t>("an int");
    const auto bytes = reader_.take(length, "an int");
    check(length <= 8, "has an int of ", length, " bytes, expected at most 8");
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < 8; ++i) {
      const bool negative = length > 0 && (bytes.back() & std::byte{0x80}) != std::byte{0};
      const auto byte = i < length ? static_cast<std::uint64_t>(bytes[i]) : negative ? 0xFFU : 0U;
      bits |= byte << (8 * i);
    }
    push(value(Kind::integer, static_cast<std::int64_t>(bits)));
  }

  void push_real() {
    const auto bits = reader_.number<std::uint64_t>("a float");  // the only big-endian number
    push(value(Kind::real, static_cast<std::int64_t>(__builtin_bswap64(bits))));
  }

  void push_text(std::uint64_t length) { push(text_value(reader_.take(length, "a text"))); }

  static PickleValue text_value(std::span<const std::byte> bytes) {
    PickleValue value = placed(Kind::text, bytes.size());
    value.text = reinterpret_cast<const char*>(bytes.data());
    return value;
  }

  void push_container(Kind kind, std::vector<PickleValue> items) {
    check(pickle_.items.size() < kMostContainers, "has more than ", kMostContainers, " tuples, lists and dicts");
    pickle_.items.push_back(std::move(items));
    push(placed(kind, pickle_.items.size() - 1));
  }

  const std::vector<PickleValue>& items_of(const PickleValue& container) const { return pickle_.items[container.at]; }

  void add(Kind kind, const std::vector<PickleValue>& added) {
    const PickleValue container = pop();
    check(container.kind == kind, "adds items to ", kind_name(container.kind), ", expected ", kind_name(kind));
    check(kind != Kind::dict || added.size() % 2 == 0, "adds a key without a value to a dict");
    std::vector<PickleValue>& items = pickle_.items[container.at];
    items.insert(items.end(), added.begin(), added.end());
    push(container);
  }

  void remember(std::uint32_t place) {
    check(!stack_.empty(), "remembers a value that is not there");
    memo_[place] = stack_.back();
  }

  void recall(std::uint32_t place) {
    const auto found = memo_.find(place);
    check(found != memo_.end(), "recalls value ", place, ", which it has not remembered");
    push(found->second);
  }

  std::string_view line() {
    const std::size_t most = std::min<std::size_t>(reader_.left(), 1000);
    ByteReader ahead = reader_;
    const auto bytes = ahead.take(most, "a name");
    const auto end = std::find(bytes.begin(), bytes.end(), std::byte{'\n'});
    check(end != bytes.end(), "has a name that does not end");
    const auto length = static_cast<std::size_t>(end - bytes.begin());
    reader_.take(length + 1, "a name");
    return as_text(bytes).substr(0, length);
  }

  void push_global() {
    const std::string_view module = line();
    name_global(module, line());
  }

  void push_stack_global() {
    const auto names = pop_last(2);
    check(names[0].kind == Kind::text && names[1].kind == Kind::text, "names something by a value that is not a text");
    name_global(names[0].string(), names[1].string());
  }

  void name_global(std::string_view module, std::string_view global) {
    const auto* const known = std::find_if(kGlobals.begin(), kGlobals.end(), [&](std::string_view allowed) {
      return allowed.size() == module.size() + 1 + global.size() && allowed.starts_with(module) && allowed.ends_with(global) &&
             allowed[module.size()] == ' ';
    });
    check(known != kGlobals.end(), "asks for ", in_quotes(concat(module, ".", global)),
          ", which a dict of tensors and plain values does not need; nothing was run: save model.state_dict() and plain values");
    push(placed(Kind::global, static_cast<std::size_t>(known - kGlobals.begin())));
  }

  /// Pushes the storage of a persistent id: ("storage", type, key, device, elements).
  void push_storage() {
    const PickleValue id = pop();
    check(id.kind == Kind::tuple && items_of(id).size() == 5, "has a persistent id that is not a tuple of five");
    const auto& items = items_of(id);
    check(items[0].string() == "storage" && items[1].kind == Kind::global && kGlobals[items[1].at].ends_with("Storage") &&
              items[2].kind == Kind::text && items[3].kind == Kind::text && items[4].kind == Kind::integer && items[4].integer >= 0,
          "has a persistent id that is not (\"storage\", type, key, device, elements)");
    storages_.push_back({kGlobals[items[1].at].substr(std::string_view("torch ").size()), items[2].string(), items[4].integer});
    push(placed(Kind::storage, storages_.size() - 1));
  }

  std::vector<index> numbers_of(const PickleValue& tuple, const char* what) const {
    check(tuple.kind == Kind::tuple && items_of(tuple).size() <= kMostExtents, "rebuilds a tensor whose ", what,
          " is not a tuple of at most ", kMostExtents, " ints");
    std::vector<index> numbers;
    for (const PickleValue& item : items_of(tuple)) {
      check(item.kind == Kind::integer && item.integer >= 0, "rebuilds a tensor whose ", what, " has ", kind_name(item.kind),
            ", expected ints of 0 or more");
      numbers.push_back(item.integer);
    }
    return numbers;
  }

  /// Calls OrderedDict, or rebuilds a tensor. Nothing else can be called.
  void reduce() {
    const PickleValue arguments = pop();
    const PickleValue function = pop();
    check(function.kind == Kind::global && arguments.kind == Kind::tuple, "calls ", kind_name(function.kind), " with ",
          kind_name(arguments.kind));
    const std::string_view called = kGlobals[function.at];
    const std::vector<PickleValue> items = items_of(arguments);
    if (called == kOrderedDict) {
      check(items.empty(), "calls OrderedDict with ", items.size(), " arguments, expected none");
      return push_container(Kind::dict, {});
    }
    check(called == kRebuildTensor, "calls ", in_quotes(called));
    check(
        items.size() >= 6 && items.size() <= 7 && items[0].kind == Kind::storage && items[1].kind == Kind::integer && items[1].integer >= 0,
        "rebuilds a tensor from other arguments, expected (storage, offset, shape, strides, requires_grad, hooks)");
    const Storage& storage = storages_[items[0].at];
    PickledTensor tensor{.storage_type = storage.type,
                         .storage_key = storage.key,
                         .storage_elements = storage.elements,
                         .offset = items[1].integer,
                         .shape = numbers_of(items[2], "shape"),
                         .strides = numbers_of(items[3], "strides")};
    check(tensor.shape.size() == tensor.strides.size(), "rebuilds a tensor of ", tensor.shape.size(), " extents and ",
          tensor.strides.size(), " strides");
    check(pickle_.tensors.size() < kMostContainers, "has more than ", kMostContainers, " tensors");
    pickle_.tensors.push_back(std::move(tensor));
    push(placed(Kind::tensor, pickle_.tensors.size() - 1));
  }

  /// Ignores the attributes of an OrderedDict: in a state dict they are the modules' versions, which do not concern tensors.
  void build() {
    const PickleValue state = pop();
    check(!stack_.empty() && stack_.back().kind == Kind::dict && state.kind == Kind::dict, "sets the attributes of ",
          stack_.empty() ? "nothing" : kind_name(stack_.back().kind), " from ", kind_name(state.kind), ", expected a dict and a dict");
  }

  ByteReader reader_;
  const std::string& name_;
  std::size_t begin_ = 0;  // where the instruction begins
  bool stopped_ = false;
  Pickle pickle_{};
  std::vector<PickleValue> stack_{};
  std::vector<std::size_t> marks_{};
  std::unordered_map<std::uint32_t, PickleValue> memo_{};
  std::vector<Storage> storages_{};
};

}  // namespace

Pickle read_pickle(std::span<const std::byte> bytes, const std::string& name) {
  require_input(bytes.size() <= kMostPickleBytes, name, ": its pickle has ", bytes.size(), " bytes, expected at most ", kMostPickleBytes,
                ", because the tensors' elements are in other files");
  return Unpickler(bytes, name).run();
}

}  // namespace dikkat
