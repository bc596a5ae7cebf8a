// Progress of long work on standard error: a bar on a terminal, plain lines in a log.
#pragma once

#include <chrono>
#include <string>

#include "softneuro/tune.h"

namespace softneuro::tool {

class ProgressPrinter {
 public:
  ProgressPrinter();
  ~ProgressPrinter();
  void operator()(const TuneProgress& progress);
  // Ends the bar's line.
  void finish();

 private:
  void draw(const TuneProgress& progress);
  void log(const TuneProgress& progress);

  bool terminal_;
  bool drawn_ = false;
  std::string stage_;
  std::chrono::steady_clock::time_point begin_, last_;
};

}  // namespace softneuro::tool
