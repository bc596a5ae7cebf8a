#include "core/routine/noop_adapt.h"

namespace softneuro {

bool is_noop_adapt(const Shape& shape, Format from, Format to, bool same_quantization) {
  if (from.type != to.type || from.device != to.device ||
      (from.type == DataType::qint8 && !same_quantization))
    return false;
  if (from.layout == to.layout || shape.elements() == 0) return true;
  if (shape.rank() < 3) return false;
  const std::int64_t positions = shape.elements(2, shape.rank());
  // With one position, or one channel, the order of the two does not matter; nor does it where the
  // channels are one block. Padding makes the difference else.
  const auto is_channels_last = [&](Layout layout) {
    return layout == Layout::channels_last ||
           (layout == Layout::plain && (positions == 1 || shape[1] == 1)) ||
           (block_of(layout) > 1 &&
            (shape[1] == block_of(layout) || (positions == 1 && shape[1] % block_of(layout) == 0)));
  };
  return is_channels_last(from.layout) && is_channels_last(to.layout);
}

}  // namespace softneuro
