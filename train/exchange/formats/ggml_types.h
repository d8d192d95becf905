#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "train/exchange/formats/weight_type.h"

namespace dikkat {

/// A tensor type in GGUF files. All types of ggml are listed, because a tensor's offset follows from the sizes of those before it.
struct GgmlType {
  std::uint32_t number;  ///< its id in the file
  std::string_view name;
  BlockLayout layout{0, 0};  ///< of zeros: ggml has removed the type, so the bytes of its tensors are not known
  WeightType type = WeightType::other;
};

constexpr GgmlType ggml_type(std::uint32_t number, WeightType type) { return {number, name_of(type), layout_of(type), type}; }

inline constexpr std::array kGgmlTypes{
    ggml_type(0, WeightType::f32),
    ggml_type(1, WeightType::f16),
    ggml_type(2, WeightType::q4_0),
    ggml_type(3, WeightType::q4_1),
    GgmlType{4, "q4_2"},
    GgmlType{5, "q4_3"},
    ggml_type(6, WeightType::q5_0),
    ggml_type(7, WeightType::q5_1),
    ggml_type(8, WeightType::q8_0),
    GgmlType{9, "q8_1", {32, 36}},
    ggml_type(10, WeightType::q2_K),
    ggml_type(11, WeightType::q3_K),
    ggml_type(12, WeightType::q4_K),
    ggml_type(13, WeightType::q5_K),
    ggml_type(14, WeightType::q6_K),
    GgmlType{15, "q8_K", {256, 292}},
    GgmlType{16, "iq2_xxs", {256, 66}},
    GgmlType{17, "iq2_xs", {256, 74}},
    GgmlType{18, "iq3_xxs", {256, 98}},
    GgmlType{19, "iq1_s", {256, 50}},
    ggml_type(20, WeightType::iq4_nl),
    GgmlType{21, "iq3_s", {256, 110}},
    GgmlType{22, "iq2_s", {256, 82}},
    ggml_type(23, WeightType::iq4_xs),
    GgmlType{24, "i8", {1, 1}},
    GgmlType{25, "i16", {1, 2}},
    GgmlType{26, "i32", {1, 4}},
    GgmlType{27, "i64", {1, 8}},
    ggml_type(28, WeightType::f64),
    GgmlType{29, "iq1_m", {256, 56}},
    ggml_type(30, WeightType::bf16),
    GgmlType{31, "q4_0_4_4"},
    GgmlType{32, "q4_0_4_8"},
    GgmlType{33, "q4_0_8_8"},
    GgmlType{34, "tq1_0", {256, 54}},
    GgmlType{35, "tq2_0", {256, 66}},
    GgmlType{36, "iq4_nl_4_4"},
    GgmlType{37, "iq4_nl_4_8"},
    GgmlType{38, "iq4_nl_8_8"},
    GgmlType{39, "mxfp4", {32, 17}},
    GgmlType{40, "nvfp4", {64, 36}},
    GgmlType{41, "q1_0", {128, 18}},
    GgmlType{42, "q2_0", {64, 18}},
};

inline constexpr std::uint32_t kGgufAlignment = 32;  ///< bytes, if the file has no general.alignment
inline constexpr std::size_t kGgufMostExtents = 4;
inline constexpr std::size_t kGgufLongestName = 63;  ///< bytes of a tensor's name

}  // namespace dikkat
