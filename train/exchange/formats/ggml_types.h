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
  BlockLayout layout;
  WeightType type = WeightType::other;
};

inline constexpr std::array kGgmlTypes{
    GgmlType{0, "f32", {1, 4}, WeightType::f32},
    GgmlType{1, "f16", {1, 2}, WeightType::f16},
    GgmlType{2, "q4_0", {32, 18}, WeightType::q4_0},
    GgmlType{3, "q4_1", {32, 20}},
    GgmlType{6, "q5_0", {32, 22}},
    GgmlType{7, "q5_1", {32, 24}},
    GgmlType{8, "q8_0", {32, 34}, WeightType::q8_0},
    GgmlType{9, "q8_1", {32, 36}},
    GgmlType{10, "q2_K", {256, 84}},
    GgmlType{11, "q3_K", {256, 110}},
    GgmlType{12, "q4_K", {256, 144}},
    GgmlType{13, "q5_K", {256, 176}},
    GgmlType{14, "q6_K", {256, 210}},
    GgmlType{15, "q8_K", {256, 292}},
    GgmlType{16, "iq2_xxs", {256, 66}},
    GgmlType{17, "iq2_xs", {256, 74}},
    GgmlType{18, "iq3_xxs", {256, 98}},
    GgmlType{19, "iq1_s", {256, 50}},
    GgmlType{20, "iq4_nl", {32, 18}},
    GgmlType{21, "iq3_s", {256, 110}},
    GgmlType{22, "iq2_s", {256, 82}},
    GgmlType{23, "iq4_xs", {256, 136}},
    GgmlType{24, "i8", {1, 1}},
    GgmlType{25, "i16", {1, 2}},
    GgmlType{26, "i32", {1, 4}},
    GgmlType{27, "i64", {1, 8}},
    GgmlType{28, "f64", {1, 8}, WeightType::f64},
    GgmlType{29, "iq1_m", {256, 56}},
    GgmlType{30, "bf16", {1, 2}, WeightType::bf16},
    GgmlType{34, "tq1_0", {256, 54}},
    GgmlType{35, "tq2_0", {256, 66}},
    GgmlType{39, "mxfp4", {32, 17}},
    GgmlType{40, "nvfp4", {64, 36}},
    GgmlType{41, "q1_0", {128, 18}},
    GgmlType{42, "q2_0", {64, 18}},
};

inline constexpr std::uint32_t kGgufAlignment = 32;  ///< bytes, if the file has no general.alignment
inline constexpr std::size_t kGgufMostExtents = 4;
inline constexpr std::size_t kGgufLongestName = 63;  ///< bytes of a tensor's name

}  // namespace dikkat
