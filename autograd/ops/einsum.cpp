#include <algorithm>
#include <array>
#include <iterator>
#include <string>

#include "autograd/ops/arrange.h"
#include "autograd/ops/batched_product.h"
#include "autograd/ops/elementwise.h"
#include "autograd/ops/matmul.h"
#include "autograd/ops/reduce.h"
#include "autograd/tape/tape.h"

namespace dikkat {
namespace {

/// Axes by their letters, at most eight. '0' is the last axis of "...", '1' the one before it, and so on.
class Letters {
 public:
  int count() const { return count_; }
  char operator[](int i) const { return of_[static_cast<std::size_t>(i)]; }
  const char* begin() const { return of_.data(); }
  const char* end() const { return of_.data() + count_; }
  /// Returns the place of a letter, or -1.
  int find(char letter) const {
    const char* const at = std::find(begin(), end(), letter);
    return at == end() ? -1 : static_cast<int>(at - begin());
  }
  bool has(char letter) const { return find(letter) >= 0; }
  void add(char letter) {
    require(count_ < Shape::kMaxRank, "einsum: a tensor of more than ", Shape::kMaxRank, " axes, expected at most ", Shape::kMaxRank);
    of_[static_cast<std::size_t>(count_++)] = letter;
  }
  void remove(int i) {
    std::copy(begin() + i + 1, end(), of_.begin() + i);
    --count_;
  }
  bool operator==(const Letters& other) const { return std::equal(begin(), end(), other.begin(), other.end()); }

 private:
  std::array<char, Shape::kMaxRank> of_{};
  int count_ = 0;
};

bool is_letter(char c) { return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z'); }
std::string name_of(char letter) {
  return is_letter(letter) ? concat("'", letter, "'") : concat("axis ", -1 - (letter - '0'), " of \"...\"");
}

constexpr std::string_view kDots = "...";

/// Returns the letters of one part of a formula, in which "..." stands for `dotted` axes.
Letters letters_of(std::string_view part, int dotted, std::string_view formula) {
  Letters letters;
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (is_letter(part[i])) {
      letters.add(part[i]);
    } else if (part.substr(i, kDots.size()) == kDots) {
      require(!letters.has('0') || dotted == 0, "einsum: \"...\" twice in \"", part, "\" of \"", formula, "\", expected it once");
      for (int axis = dotted - 1; axis >= 0; --axis) {
        letters.add(static_cast<char>('0' + axis));
      }
      i += kDots.size() - 1;
    } else {
      fail("einsum: '", part[i], "' in \"", formula, "\", expected letters, \",\", \"->\" or \"...\"");
    }
  }
  return letters;
}

/// An operand with the letters of its axes.
struct Operand {
  Tensor x;
  Letters letters;

  index extent(char letter) const { return x.shape()[letters.find(letter)]; }
};

/// A formula that has been read, for operands of these shapes.
struct Formula {
  std::array<Operand, 2> operands;
  Letters result;
  int dotted = 0;  // axes that "..." stands for, at most
};

Operand operand_of(std::string_view part, Tensor x, std::string_view formula) {
  const auto named = std::count_if(part.begin(), part.end(), is_letter);
  const bool has_dots = part.find(kDots) != std::string_view::npos;
  const int dotted = has_dots ? x.shape().rank() - static_cast<int>(named) : 0;
  require(dotted >= 0 && named + dotted == x.shape().rank(), "einsum: \"", part, "\" of \"", formula, "\" names ", named, " axes of ",
          x.shape(), ", expected ", has_dots ? "at most " : "", x.shape().rank());
  return {x, letters_of(part, dotted, formula)};
}

/// Throws Error if two axes of one letter have different extents.
void check_extents(std::span<const Operand> operands, std::string_view formula) {
  std::array<index, 128> extents;
  extents.fill(-1);
  for (const Operand& operand : operands) {
    for (int axis = 0; axis < operand.letters.count(); ++axis) {
      const char letter = operand.letters[axis];
      const index here = operand.x.shape()[axis];
      index& known = extents[static_cast<std::size_t>(letter)];
      require(known < 0 || known == here, "einsum: ", name_of(letter), " of \"", formula, "\" has the extents ", known, " and ", here,
              ", expected equal ones");
      known = here;
    }
  }
}

/// Reads a formula for one operand or two.
Formula read(std::string_view given, std::span<const Tensor> x) {
  // Remove the spaces, and split the formula at the arrow.
  std::string text;
  std::remove_copy(given.begin(), given.end(), std::back_inserter(text), ' ');
  std::string_view rest = text;
  const auto arrow = rest.find("->");
  const bool has_result = arrow != std::string_view::npos;
  const std::string_view result = has_result ? rest.substr(arrow + 2) : std::string_view{};
  rest = rest.substr(0, arrow);
  // Read the operands.
  Formula formula;
  const auto commas = std::count(rest.begin(), rest.end(), ',');
  require(commas + 1 == std::ssize(x), "einsum: \"", given, "\" names ", commas + 1, " operands, expected ", x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto comma = rest.find(',');
    formula.operands[i] = operand_of(rest.substr(0, comma), x[i], given);
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
    for (const char letter : formula.operands[i].letters) {
      formula.dotted = std::max(formula.dotted, is_letter(letter) ? 0 : letter - '0' + 1);
    }
  }
  const std::span operands = std::span(formula.operands).first(x.size());
  check_extents(operands, given);
  // Read the result, or find it.
  if (has_result) {
    formula.result = letters_of(result, formula.dotted, given);
    for (const char letter : formula.result) {
      const bool is_known = std::any_of(operands.begin(), operands.end(), [&](const Operand& o) { return o.letters.has(letter); });
      require(is_known && std::count(formula.result.begin(), formula.result.end(), letter) == 1, "einsum: ", name_of(letter),
              " in the result of \"", given, "\", expected each letter once, and one of the operands'");
    }
    return formula;
  }
  // Without an arrow, the result has the axes of "...", then the letters that occur once.
  for (int axis = formula.dotted - 1; axis >= 0; --axis) {
    formula.result.add(static_cast<char>('0' + axis));
  }
  for (char letter = 'A'; letter <= 'z'; ++letter) {
    std::ptrdiff_t count = 0;
    for (const Operand& operand : operands) {
      count += std::count(operand.letters.begin(), operand.letters.end(), letter);
    }
    if (is_letter(letter) && count == 1) {
      formula.result.add(letter);
    }
  }
  return formula;
}

/// Takes diagonals, so that each letter occurs once.
void take_diagonals(Operand& o) {
  for (int axis = 0; axis < o.letters.count();) {
    const char letter = o.letters[axis];
    const auto* const again = std::find(o.letters.begin() + axis + 1, o.letters.end(), letter);
    if (again == o.letters.end()) {
      ++axis;
      continue;
    }
    const int other = static_cast<int>(again - o.letters.begin());
    o.x = diagonal(o.x, axis, other);
    o.letters.remove(other);
    o.letters.remove(axis);
    o.letters.add(letter);
  }
}

/// Sums over the letters that neither the result nor the other operand has.
void sum_lonely(Operand& o, const Letters& result, const Letters& other) {
  std::array<int, Shape::kMaxRank> axes{};
  std::size_t count = 0;
  for (int axis = o.letters.count() - 1; axis >= 0; --axis) {
    if (!result.has(o.letters[axis]) && !other.has(o.letters[axis])) {
      axes[count++] = axis;
    }
  }
  if (count > 0) {
    o.x = sum(o.x, std::span<const int>(axes).first(count));
    std::for_each(axes.begin(), axes.begin() + count, [&](int axis) { o.letters.remove(axis); });
  }
}

/// Returns x with its axes in another order.
Operand in_order(const Operand& o, const Letters& order) {
  if (o.letters == order) {
    return o;
  }
  std::array<int, Shape::kMaxRank> axes{};
  for (int k = 0; k < order.count(); ++k) {
    axes[static_cast<std::size_t>(k)] = o.letters.find(order[k]);
  }
  return {permute(o.x, std::span(axes).first(static_cast<std::size_t>(order.count()))), order};
}

/// Returns the letters of `from` that `chosen` accepts, in their order.
template <class F>
Letters filtered(const Letters& from, F&& chosen) {
  Letters letters;
  for (const char letter : from) {
    if (chosen(letter)) {
      letters.add(letter);
    }
  }
  return letters;
}
Letters joined(const Letters& a, const Letters& b, const Letters& c = {}) {
  Letters all = a;
  std::for_each(b.begin(), b.end(), [&](char letter) { all.add(letter); });
  std::for_each(c.begin(), c.end(), [&](char letter) { all.add(letter); });
  return all;
}

/// Returns o as a tensor of the result's rank, whose axes have its order. An axis that o lacks has the extent 1.
Tensor spread(const Operand& o, const Letters& result) {
  const Operand ordered = in_order(o, filtered(result, [&](char letter) { return o.letters.has(letter); }));
  if (ordered.letters == result) {
    return ordered.x;
  }
  std::array<index, Shape::kMaxRank> extents{};
  for (int k = 0; k < result.count(); ++k) {
    extents[static_cast<std::size_t>(k)] = ordered.letters.has(result[k]) ? ordered.extent(result[k]) : 1;
  }
  return reshape(ordered.x, Shape(std::span(extents).first(static_cast<std::size_t>(result.count()))));
}

/// Describes how the products see an array: its letters, their extents and strides.
class Layout {
 public:
  template <class Extent>
  Layout(const Letters& letters, Extent&& extent_of) : letters_(letters) {
    index step = 1;
    for (int axis = letters.count() - 1; axis >= 0; --axis) {
      const auto i = static_cast<std::size_t>(axis);
      extents_[i] = extent_of(letters[axis]);
      strides_[i] = step;
      step *= extents_[i];
    }
  }
  explicit Layout(const Operand& o) : Layout(o.letters, [&](char letter) { return o.extent(letter); }) {}

  index extent(char letter) const { return extents_[static_cast<std::size_t>(letters_.find(letter))]; }
  index stride(char letter) const { return strides_[static_cast<std::size_t>(letters_.find(letter))]; }

  /// Some letters as one axis.
  struct Joined {
    bool exists = true;  // whether one stride leads through all their elements in order
    index extent = 1;
    index stride = 0;  // 0 if there is only one element
    bool is_near() const { return stride <= 1; }
  };
  Joined join(const Letters& group) const {
    Joined all;
    for (int k = group.count() - 1; k >= 0; --k) {
      const index here = extent(group[k]);
      if (here == 1) {
        continue;
      }
      all.exists = all.exists && (all.stride == 0 || stride(group[k]) == all.stride * all.extent);
      all.stride = all.stride == 0 ? stride(group[k]) : all.stride;
      all.extent *= here;
    }
    return all;
  }

 private:
  Letters letters_;
  std::array<index, Shape::kMaxRank> extents_{}, strides_{};
};

/// The letters by their part in the products.
struct Parts {
  Letters batch, rows, columns, inner;  // letters of a, b and the result; a and the result; b and the result; a and b
};

/// A matrix of some rows and columns within an array. `transposed`: its columns are stored as rows.
struct Matrix {
  bool exists = false;
  bool transposed = false;
  index apart = 1;  // elements from one stored row to the next

  Matrix(const Layout::Joined& rows, const Layout::Joined& columns) {
    transposed = !columns.is_near();
    exists = rows.exists && columns.exists && (columns.is_near() || rows.is_near());
    const Layout::Joined &outer = transposed ? columns : rows, &near = transposed ? rows : columns;
    apart = outer.stride == 0 ? std::max<index>(1, near.extent) : outer.stride;
  }
};

/// Computes the products of a and b, whose axes are all in the result or in both. The result has all its axes, in any order.
Operand multiply(Operand a, Operand b, const Letters& wanted) {
  // Sort the letters, and choose for a the operand whose letters are rows of the result.
  const auto is_in = [](const Letters& one, const Letters& other, bool in_one, bool in_other) {
    return [=](char letter) { return one.has(letter) == in_one && other.has(letter) == in_other; };
  };
  Letters result = wanted;
  const auto layout_of_result = [&] { return Layout(result, [&](char letter) { return (a.letters.has(letter) ? a : b).extent(letter); }); };
  const auto parts_of = [&] {
    return Parts{.batch = filtered(result, is_in(a.letters, b.letters, true, true)),
                 .rows = filtered(result, is_in(a.letters, b.letters, true, false)),
                 .columns = filtered(result, is_in(a.letters, b.letters, false, true)),
                 .inner = filtered(a.letters, is_in(b.letters, result, true, false))};
  };
  Parts parts = parts_of();
  Layout c = layout_of_result();
  if (const index apart = c.join(parts.rows).stride; apart == 1 || (apart == 0 && c.join(parts.columns).stride > 1)) {
    std::swap(a, b);
    parts = parts_of();
  }
  // If the products cannot write the result in its order, it gets an order of theirs.
  if (const Matrix whole(c.join(parts.rows), c.join(parts.columns)); !whole.exists || whole.transposed) {
    result = joined(parts.batch, filtered(a.letters, [&](char letter) { return parts.rows.has(letter); }),
                    filtered(b.letters, [&](char letter) { return parts.columns.has(letter); }));
    parts = parts_of();
    c = layout_of_result();
  }
  // If they cannot read an operand, it is permuted.
  if (const Layout layout(a); !Matrix(layout.join(parts.rows), layout.join(parts.inner)).exists) {
    a = in_order(a, joined(parts.batch, parts.rows, parts.inner));
  }
  if (const Layout layout(b); !Matrix(layout.join(parts.columns), layout.join(parts.inner)).exists) {
    b = in_order(b, joined(parts.batch, parts.columns, parts.inner));
  }

  // Describe the products.
  const Layout of_a(a), of_b(b);
  const Layout::Joined rows = c.join(parts.rows), columns = c.join(parts.columns), inner = of_a.join(parts.inner);
  const Matrix a_matrix(of_a.join(parts.rows), inner), b_matrix(of_b.join(parts.columns), of_b.join(parts.inner));
  kernels::GemmBatch batch{.m = rows.extent,
                           .n = columns.extent,
                           .k = inner.extent,
                           .lda = a_matrix.apart,
                           .ldb = b_matrix.apart,
                           .ldc = Matrix(rows, columns).apart,
                           .transpose_a = a_matrix.transposed,
                           .transpose_b = !b_matrix.transposed};
  for (const char letter : parts.batch) {
    if (c.extent(letter) != 1) {
      batch.add_axis({c.extent(letter), of_a.stride(letter), of_b.stride(letter), c.stride(letter)});
    }
  }
  std::array<index, Shape::kMaxRank> extents{};
  std::transform(result.begin(), result.end(), extents.begin(), [&](char letter) { return c.extent(letter); });
  return {batched_product(Op::einsum, a.x, b.x, batch, Shape(std::span(extents).first(static_cast<std::size_t>(result.count())))), result};
}

}  // namespace

Tensor einsum(std::string_view formula, Tensor x) {
  Formula f = read(formula, std::span(&x, 1));
  Operand& operand = f.operands.front();
  take_diagonals(operand);
  sum_lonely(operand, f.result, {});
  return in_order(operand, f.result).x;
}

Tensor einsum(std::string_view formula, Tensor a, Tensor b) {
  // Put a parameter on the tape of the other operand: ops on only the parameter need one.
  if (a.tape() == nullptr && b.tape() != nullptr) {
    a = b.tape()->use(a);
  } else if (b.tape() == nullptr && a.tape() != nullptr) {
    b = a.tape()->use(b);
  }
  const std::array<Tensor, 2> x{a, b};
  Formula f = read(formula, x);
  auto& [one, other] = f.operands;
  for (Operand& operand : f.operands) {
    take_diagonals(operand);
  }
  sum_lonely(one, f.result, other.letters);
  sum_lonely(other, f.result, one.letters);
  const bool has_inner = std::any_of(one.letters.begin(), one.letters.end(), [&](char letter) { return !f.result.has(letter); });
  if (!has_inner) {  // nothing is summed
    return detail::elementwise("einsum", std::array{spread(one, f.result), spread(other, f.result)},
                               detail::formula_of<2>([](auto p, auto q) { return p * q; }));
  }
  return in_order(multiply(one, other, f.result), f.result).x;
}

}  // namespace dikkat
