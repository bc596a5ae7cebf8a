// Operators that the importer recognises and refuses, each with its reason.
#include "import/onnx/operators.h"

namespace softneuro::onnx {
namespace {

constexpr std::string_view kControl = "control flow is not supported";
constexpr std::string_view kSequence = "sequences are not supported";
constexpr std::string_view kOptional = "optional values are not supported";
constexpr std::string_view kText = "string tensors are not supported";
constexpr std::string_view kRandom = "random operators are not supported: results would not repeat";
constexpr std::string_view kTraining = "training is not supported";
constexpr std::string_view kNoLayer = "there is no layer for this operator";

constexpr Operator kOperators[] = {
    {"Bernoulli", 1, 0, -1, nullptr, kRandom},
    {"BitCast", 1, 0, -1, nullptr, kNoLayer},
    {"Col2Im", 1, 0, -1, nullptr, kNoLayer},
    {"ConcatFromSequence", 1, 0, -1, nullptr, kSequence},
    {"DeformConv", 1, 0, -1, nullptr, kNoLayer},
    {"ImageDecoder", 1, 0, -1, nullptr, "decoding of images is not supported"},
    {"LinearAttention", 1, 0, -1, nullptr, "it needs a loop over time, which is not supported"},
    {"Loop", 1, 0, -1, nullptr, kControl},
    {"MaxRoiPool", 1, 0, -1, nullptr, kNoLayer},
    {"Multinomial", 1, 0, -1, nullptr, kRandom},
    {"NegativeLogLikelihoodLoss", 1, 0, -1, nullptr, kTraining},
    {"Optional", 1, 0, -1, nullptr, kOptional},
    {"OptionalGetElement", 1, 0, -1, nullptr, kOptional},
    {"OptionalHasElement", 1, 0, -1, nullptr, kOptional},
    {"RandomNormal", 1, 0, -1, nullptr, kRandom},
    {"RandomNormalLike", 1, 0, -1, nullptr, kRandom},
    {"RandomUniform", 1, 0, -1, nullptr, kRandom},
    {"RandomUniformLike", 1, 0, -1, nullptr, kRandom},
    {"RegexFullMatch", 1, 0, -1, nullptr, kText},
    {"Scan", 1, 0, -1, nullptr, kControl},
    {"SequenceAt", 1, 0, -1, nullptr, kSequence},
    {"SequenceConstruct", 1, 0, -1, nullptr, kSequence},
    {"SequenceEmpty", 1, 0, -1, nullptr, kSequence},
    {"SequenceErase", 1, 0, -1, nullptr, kSequence},
    {"SequenceInsert", 1, 0, -1, nullptr, kSequence},
    {"SequenceLength", 1, 0, -1, nullptr, kSequence},
    {"SequenceMap", 1, 0, -1, nullptr, kSequence},
    {"SoftmaxCrossEntropyLoss", 1, 0, -1, nullptr, kTraining},
    {"SplitToSequence", 1, 0, -1, nullptr, kSequence},
    {"StringConcat", 1, 0, -1, nullptr, kText},
    {"StringNormalizer", 1, 0, -1, nullptr, kText},
    {"StringSplit", 1, 0, -1, nullptr, kText},
    {"TfIdfVectorizer", 1, 0, -1, nullptr, kText},
};

}  // namespace

std::span<const Operator> refused_operators() {
  return kOperators;
}

}  // namespace softneuro::onnx
