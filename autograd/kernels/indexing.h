#pragma once

#include <array>
#include <cstdint>

#include "autograd/base/grad_out.h"
#include "autograd/base/shape.h"

namespace dikkat::kernels {

/// Elements of an array that ids choose along one axis. Index (.., j, ..) of `shape`, with j on that axis, is the array's element
/// (.., ids[.., j, ..], ..). Strides are in elements.
struct Choice {
  using Strides = std::array<index, Shape::kMaxRank>;

  Shape shape{};  // shape of the chosen elements
  int axis = 0;
  index extent = 0;   // of the array along the axis: all ids are below it
  Strides strides{};  // of the array
  const std::int32_t* ids = nullptr;
  Strides id_strides{};  // 0 along an axis where the ids repeat
};

/// y = the chosen elements of x. y is contiguous.
template <class T>
struct Gather {
  Choice choice;
  const T* x = nullptr;
  GradOut<T> y{};
};
template <class T>
void gather(const Gather<T>& p);

/// Adds a contiguous source to the chosen elements of y. Those that are chosen several times get all their sources, in the order of the
/// axis. With bf16 each of them is rounded once.
template <class T>
struct ScatterAdd {
  Choice choice;
  const T* source = nullptr;
  T* y = nullptr;
};
template <class T>
void scatter_add(const ScatterAdd<T>& p);

/// Returns the place of the first of n ids that is not one of 0 to extent - 1; n if there is none, and in a DryRun.
index first_outside(index n, const std::int32_t* ids, index extent);

/// y (n, classes) = 1 at each row's id, 0 elsewhere.
template <class T>
void one_hot(index n, index classes, const std::int32_t* ids, T* y);

}  // namespace dikkat::kernels
