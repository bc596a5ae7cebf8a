// What adapts from, to and on devices take, estimated from a few that are measured.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/routine/routine_path.h"

namespace softneuro {

// Tensors of a net times formats on both sides are hundreds of adapts, most of which no path takes,
// and large ones take long. What one takes is close to a line over its bytes: of each pair of
// formats three are measured, those of the smallest, the middle and the largest tensor, and others
// lie between. Adapts on paths that are run are measured there.
class DeviceAdapts {
 public:
  using Measure = std::function<Result<AdaptChoice>(const TensorSpec& tensor, const Format& from,
                                                    const Format& to)>;
  // `tensors`: of the net; null ones are skipped. They outlive this object.
  DeviceAdapts(std::vector<const TensorSpec*> tensors, Measure measure);

  // Errors: those of `measure`.
  Result<AdaptChoice> of(const TensorSpec& tensor, const Format& from, const Format& to);

 private:
  struct Point {
    double bytes = 0;
    AdaptChoice choice;
  };
  using Line = std::vector<Point>;  // by rising bytes

  Result<const Line*> line_of(const TensorSpec& tensor, const Format& from, const Format& to);
  std::vector<const TensorSpec*> measured_tensors(const TensorSpec& like, const Format& from,
                                                  const Format& to) const;

  const std::vector<const TensorSpec*> tensors_;
  const Measure measure_;
  std::map<std::string, Line> lines_;
};

}  // namespace softneuro
