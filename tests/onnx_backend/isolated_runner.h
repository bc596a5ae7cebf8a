// Running many tests so that none of them can take the others along.
#pragma once

#include <functional>
#include <vector>

#include "onnx_backend/backend_case.h"

namespace softneuro::test {

// Runs run(0) … run(count − 1) in child processes, several per child; after a crash or a timeout
// a fresh child goes on behind the culprit. Calls report(i, result) in this process, in order.
void run_isolated(std::size_t count, int timeout_seconds,
                  const std::function<TestResult(std::size_t)>& run,
                  const std::function<void(std::size_t, TestResult)>& report);

}  // namespace softneuro::test
