// Running one test of the suite in this process.
#pragma once

#include <string>

#include "onnx_backend/suite.h"

namespace softneuro::test {

enum class Outcome : int { passed = 0, failed = 1, unsupported = 2, crashed = 3, timed_out = 4 };

const char* to_string(Outcome outcome);

struct TestResult {
  Outcome outcome = Outcome::failed;
  std::string message;  // one line; empty if passed
};

// Imports the model, runs it on each data set and compares with the references.
TestResult run_backend_test(const BackendTest& test);

}  // namespace softneuro::test
