// Casts between the data types of real numbers, along runs of elements in memory.
#pragma once

#include <vector>

#include "core/routine/routine.h"
#include "cpu/simd/qint8_rows.h"

namespace softneuro {

// Whether the two sides of an adapt have formats that can be made of each other.
Applicability takes_formats(const Problem& problem);

// How the elements of a run belong to channels (the indices of the quantisation's axis).
struct RunChannels {
  std::int64_t first = 0;  // that of the first element
  bool along = false;      // each element has the next one; else all have the first
};

// float32, float16, bfloat16 and qint8 into each other. Immutable.
class RunCast {
 public:
  // Preconditions: is_real of both types; a quantisation where a type is qint8.
  RunCast(const TensorSpec& from, const TensorSpec& to);

  // False: the bytes are the same, run() need not (and must not) be called.
  bool needed() const noexcept { return needed_; }
  // Some side has a scale for each channel: run() must be told which.
  bool per_channel() const noexcept { return per_channel_; }
  // The axis of those channels; −1 if there are none or the two sides disagree.
  int axis() const noexcept { return axis_; }

  // Writes `count` elements. The memory must not overlap, unless the two types have one size and
  // source == target.
  void run(const void* source, void* target, std::int64_t count,
           RunChannels channels = {}) const noexcept;

 private:
  // The parameters of a qint8 side, padded so that runs over the padding of blocks may read them.
  struct Side {
    DataType type = DataType::undefined;
    bool is_signed = false;
    bool per_channel = false;
    std::vector<float> scales;
    std::vector<std::int32_t> zero_points;

    explicit Side(const TensorSpec& spec);
    Qint8Scale scale(RunChannels channels) const noexcept;
  };

  Side from_, to_;
  bool needed_, per_channel_;
  int axis_ = -1;
  bool has_table_ = false;  // qint8 to qint8, per tensor
  Qint8Table table_{};
};

}  // namespace softneuro
