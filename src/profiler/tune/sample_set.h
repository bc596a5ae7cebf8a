// The samples that a caller gives tuning: those that are in memory, and those that are made.
#pragma once

#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "softneuro/net.h"
#include "softneuro/tune.h"

namespace softneuro {

// invalid_argument if there is a count and no function, or if the count cannot be meant.
Status check_source(const char* kind, const SampleSource& source);

// Some of the samples of one kind. What the caller gave must outlive it.
class SampleSet {
 public:
  SampleSet() = default;
  // `kind` is for messages. Those of `source` are numbered after those of `given`. `shapes`: of the
  // graph's inputs.
  SampleSet(const char* kind, const std::vector<NamedTensors>& given, const SampleSource& source,
            const Graph& graph, const std::vector<Shape>& shapes);

  std::size_t size() const { return numbers_.size(); }
  bool empty() const { return numbers_.empty(); }
  // Of its samples, among all that the caller gave.
  const std::vector<std::size_t>& numbers() const { return numbers_; }

  // Sample i of this set, in the order of the graph's inputs. invalid_argument if an input is
  // missing or has another type or shape; what the source gives where it fails.
  Result<std::vector<Tensor>> at(std::size_t i) const;
  // The same, by name.
  Result<NamedTensors> named(std::size_t i) const;
  // invalid_argument for the first sample in memory that does not fit.
  Status check() const;

  // Those that are held back, every fifth one and of two or more at least the last, or the others.
  SampleSet part(bool held) const;

 private:
  struct Input {
    std::string name;
    DataType type;
    Shape shape;
  };
  // For messages: "calibration sample 3", and how samples are counted.
  std::string place(std::size_t number) const;

  const char* kind_ = "";
  const std::vector<NamedTensors>* given_ = nullptr;
  const SampleSource* source_ = nullptr;
  std::vector<Input> inputs_;
  std::vector<std::size_t> numbers_;  // of all that the caller gave
};

}  // namespace softneuro
