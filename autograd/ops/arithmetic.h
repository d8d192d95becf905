#pragma once

#include "autograd/tape/tensor.h"

// Arithmetic on f32, f64 or bf16 tensors, which is computed in f32 for bf16. Operands are broadcast as in NumPy. Shapes are aligned at
// their last axes, and a tensor repeats along an axis that it lacks, or in which its extent is 1. The gradient of a tensor that repeats is
// a sum, in a fixed order. Comparisons and where() also take ids (i32); ids have no arithmetic, but cast() converts them to numbers.
// All throw an Error that names the op if shapes or element types do not fit.
namespace dikkat {

/// Returns a + b, a - b, a * b or a / b, element by element.
Tensor add(Tensor a, Tensor b);
Tensor subtract(Tensor a, Tensor b);
Tensor multiply(Tensor a, Tensor b);
Tensor divide(Tensor a, Tensor b);
/// Returns the larger, or the smaller; NaN if one of them is NaN. Where they are equal, the gradient is that of a.
Tensor maximum(Tensor a, Tensor b);
Tensor minimum(Tensor a, Tensor b);
/// Returns a^b. Negative bases have whole exponents. The derivative by a is 0 where b is 0. The derivative by b is 0 where a is 0 and b is
/// not negative; it is NaN for a negative a, unless a^b is 0.
Tensor power(Tensor a, Tensor b);

/// Returns x + number.
Tensor add(Tensor x, double number);
/// Returns number - x.
Tensor subtract(double number, Tensor x);
/// Returns factor * x. With Lifetime::until_consumed, only add_layer_norm() reads the result.
Tensor scale(Tensor x, double factor, Lifetime lifetime = Lifetime::until_reset);
/// Returns number / x.
Tensor divide(double number, Tensor x);
/// Returns the larger, or the smaller, of x and a number.
Tensor maximum(Tensor x, double number);
Tensor minimum(Tensor x, double number);
/// Returns x^exponent.
Tensor power(Tensor x, double exponent);
/// Returns x, but at least `low` and at most `high`. The derivative beyond the bounds is 0. Throws Error if low is not at most high.
Tensor clamp(Tensor x, double low, double high);

/// Returns -x.
Tensor negate(Tensor x);
/// Returns |x|, whose derivative at 0 is 0.
Tensor abs(Tensor x);
/// Returns x^2.
Tensor square(Tensor x);
/// Returns the square root; NaN below 0.
Tensor sqrt(Tensor x);
/// Returns 1 / sqrt(x).
Tensor rsqrt(Tensor x);
/// Returns e^x.
Tensor exp(Tensor x);
/// Returns the natural logarithm.
Tensor log(Tensor x);
/// Returns the sine, or the cosine, of x in radians.
Tensor sin(Tensor x);
Tensor cos(Tensor x);
/// Returns the error function, 2 / sqrt(pi) times the integral of e^(-t^2) from 0 to x.
Tensor erf(Tensor x);

/// Returns a x + b z in one pass over memory. z has x's shape, and a and b hold one number each, such as parameters [1].
Tensor weighted_sum(Tensor x, Tensor z, Tensor a, Tensor b);

/// Returns 1 where the comparison holds, and 0 elsewhere, in the operands' element type. For ids (i32) it is f32, so the mean of
/// equal(argmax(x), targets) is the share of right answers. Comparisons have no gradient.
Tensor less(Tensor a, Tensor b);
Tensor less_equal(Tensor a, Tensor b);
Tensor greater(Tensor a, Tensor b);
Tensor greater_equal(Tensor a, Tensor b);
Tensor equal(Tensor a, Tensor b);
Tensor not_equal(Tensor a, Tensor b);
Tensor less(Tensor x, double number);
Tensor less_equal(Tensor x, double number);
Tensor greater(Tensor x, double number);
Tensor greater_equal(Tensor x, double number);
Tensor equal(Tensor x, double number);
Tensor not_equal(Tensor x, double number);

/// Returns a where the condition is not 0, and b elsewhere, for a and b of any type. The condition may have another type. It has no
/// gradient.
Tensor where(Tensor condition, Tensor a, Tensor b);
Tensor where(Tensor condition, Tensor a, double number);
Tensor where(Tensor condition, double number, Tensor b);

// Operators. There is no == for elements: a == b means that both are one Tensor, and equal() compares elements.

/// The result of a comparison by an operator. It holds a number for each element, so `if (x > 0)` does not compile: use item().
class TruthValues : public Tensor {
 public:
  explicit TruthValues(Tensor x) : Tensor(x) {}
  explicit operator bool() const = delete;
};

inline Tensor operator+(Tensor a, Tensor b) { return add(a, b); }
inline Tensor operator-(Tensor a, Tensor b) { return subtract(a, b); }
inline Tensor operator*(Tensor a, Tensor b) { return multiply(a, b); }
inline Tensor operator/(Tensor a, Tensor b) { return divide(a, b); }
inline Tensor operator-(Tensor x) { return negate(x); }
inline Tensor operator+(Tensor x, double number) { return add(x, number); }
inline Tensor operator+(double number, Tensor x) { return add(x, number); }
inline Tensor operator-(Tensor x, double number) { return add(x, -number); }
inline Tensor operator-(double number, Tensor x) { return subtract(number, x); }
inline Tensor operator*(Tensor x, double factor) { return scale(x, factor); }
inline Tensor operator*(double factor, Tensor x) { return scale(x, factor); }
inline Tensor operator/(Tensor x, double divisor) { return scale(x, 1 / divisor); }
inline Tensor operator/(double number, Tensor x) { return divide(number, x); }
inline TruthValues operator<(Tensor a, Tensor b) { return TruthValues(less(a, b)); }
inline TruthValues operator<=(Tensor a, Tensor b) { return TruthValues(less_equal(a, b)); }
inline TruthValues operator>(Tensor a, Tensor b) { return TruthValues(greater(a, b)); }
inline TruthValues operator>=(Tensor a, Tensor b) { return TruthValues(greater_equal(a, b)); }
inline TruthValues operator<(Tensor x, double number) { return TruthValues(less(x, number)); }
inline TruthValues operator<=(Tensor x, double number) { return TruthValues(less_equal(x, number)); }
inline TruthValues operator>(Tensor x, double number) { return TruthValues(greater(x, number)); }
inline TruthValues operator>=(Tensor x, double number) { return TruthValues(greater_equal(x, number)); }
inline TruthValues operator<(double number, Tensor x) { return x > number; }
inline TruthValues operator<=(double number, Tensor x) { return x >= number; }
inline TruthValues operator>(double number, Tensor x) { return x < number; }
inline TruthValues operator>=(double number, Tensor x) { return x <= number; }
/// Both operands are computed.
inline TruthValues operator&&(const TruthValues& a, const TruthValues& b) { return TruthValues(multiply(a, b)); }
inline TruthValues operator||(const TruthValues& a, const TruthValues& b) { return TruthValues(maximum(a, b)); }
inline TruthValues operator!(const TruthValues& x) { return TruthValues(subtract(1, x)); }
/// Makes x name the result; the tensor that it named does not change.
inline Tensor& operator+=(Tensor& x, Tensor b) { return x = add(x, b); }
inline Tensor& operator-=(Tensor& x, Tensor b) { return x = subtract(x, b); }
inline Tensor& operator*=(Tensor& x, Tensor b) { return x = multiply(x, b); }
inline Tensor& operator/=(Tensor& x, Tensor b) { return x = divide(x, b); }
inline Tensor& operator+=(Tensor& x, double number) { return x = x + number; }
inline Tensor& operator-=(Tensor& x, double number) { return x = x - number; }
inline Tensor& operator*=(Tensor& x, double number) { return x = x * number; }
inline Tensor& operator/=(Tensor& x, double number) { return x = x / number; }

}  // namespace dikkat
