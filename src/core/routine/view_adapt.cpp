#include "core/routine/view_adapt.h"

namespace softneuro {

bool is_view_adapt(const Shape& shape, Format from, Format to, bool same_quantization) {
  if (from.type != to.type || from.device != to.device ||
      (from.type == DataType::qint8 && !same_quantization))
    return false;
  if (from.layout == to.layout || shape.elements() == 0) return true;
  if (shape.rank() < 3) return false;
  // Of one position, layouts differ in their padding alone.
  if (shape.elements(2, shape.rank()) == 1)
    return storage_bytes(from.type, shape, from.layout) == storage_bytes(to.type, shape, to.layout);
  // Where the channels are one block, or one channel, the order is that of channels-last.
  const auto is_channels_last = [&](Layout layout) {
    return layout == Layout::channels_last || shape[1] == block_of(layout);
  };
  return is_channels_last(from.layout) && is_channels_last(to.layout);
}

}  // namespace softneuro
