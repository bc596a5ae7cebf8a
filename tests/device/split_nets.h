// Nets that run partly on a device.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/plan/net_problems.h"
#include "core/plan/plan_impl.h"
#include "core/routine/routine_path.h"
#include "device/test_device.h"

namespace softneuro::test {

// Lines of a log that are warnings or worse. Thread safe.
class Warnings {
 public:
  void add(std::string_view line) {
    const std::lock_guard<std::mutex> lock(mutex_);
    lines_.emplace_back(line);
    if (then) then();
  }
  std::vector<std::string> take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(lines_, {});
  }
  std::function<void()> then;  // called with each; set while nothing runs

 private:
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

// A net with the test device in its registry and, where the plugin is built, a GPU.
struct SplitNet {
  std::string name;
  std::shared_ptr<TestControl> control = std::make_shared<TestControl>();
  std::shared_ptr<Warnings> warnings = std::make_shared<Warnings>();
  std::shared_ptr<Runtime> runtime;
  std::shared_ptr<const Graph> graph;
  std::vector<Shape> shapes;   // of the inputs
  std::vector<Tensor> inputs;  // random
  // Layers of more steps (layer_steps) stay on the host, with the default choice: naive routines
  // would take all of the test's time for them.
  double most_steps = INFINITY;

  NetProblems problems() const;
  // Each layer that has a routine on `device` there with the probability `share`, with formats at
  // random.
  RoutinePath random_path(std::uint32_t seed, double share,
                          DeviceId device = *DeviceId::parse("test")) const;
  // Fails the test if part of the path does not fit.
  std::shared_ptr<const Plan> plan(const RoutinePath& path) const;
  std::vector<Tensor> run(const std::shared_ptr<const Plan>& plan) const;
  // The outputs of a session's first run. Fails the test unless those of later ones, recorded and
  // played, are the same bit for bit, and nothing was logged.
  std::vector<Tensor> run_repeatedly(const std::shared_ptr<const Plan>& plan) const;
};

SplitNet split_net(std::string name, Graph graph, std::vector<Shape> shapes,
                   std::shared_ptr<TestControl> control = std::make_shared<TestControl>());
// A trained CNN, attention, a recurrent net, integers and masks, a net with branches.
std::vector<SplitNet> split_nets();
// Two of them alone.
SplitNet attention_net(std::shared_ptr<TestControl> control = std::make_shared<TestControl>());
SplitNet branching_net();

}  // namespace softneuro::test
