#pragma once

#include "autograd/kernels/image/convolution.h"

namespace dikkat::kernels {

/// Returns whether filters see one channel each, and few filters see the same one: too little for a matrix product.
inline bool is_depthwise(const ConvolutionSizes& s) noexcept { return s.group_channels() == 1 && s.group_filters() <= 4; }

// Parts of convolution_forward() and convolution_backward() for such a convolution.

template <class T>
void depthwise_forward(const Convolution<T>& p);
template <class T>
void depthwise_input_gradient(const Convolution<T>& p);
template <class T>
void depthwise_weight_gradient(const Convolution<T>& p);

}  // namespace dikkat::kernels
