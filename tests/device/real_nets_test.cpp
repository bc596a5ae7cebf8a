// Real models, split at random between host and device. SOFTNEURO_SPLIT_PATHS: paths of each model.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>

#include "device/split_nets.h"
#include "net/net_access.h"
#include "softneuro/net.h"
#include "support/skip.h"
#include "support/tensor_difference.h"

using namespace softneuro;
using namespace softneuro::test;

TEST_CASE("split: real models on random paths give the host's outputs", "[slow]") {
  constexpr double kError = 1e-4;  // relative RMS: routines round differently
  constexpr double kShare = 0.3;   // of the layers that may be there
  constexpr double kMostSteps = 2e6;
  const std::string shared = shared_dir();
  if (shared.empty()) SN_SKIP("there are no models beside the checkout");
  const char* const text = std::getenv("SOFTNEURO_SPLIT_PATHS");
  const auto paths = static_cast<std::uint32_t>(text != nullptr ? std::atoi(text) : 2);
  for (const char* name :
       {"mnist_cntk8", "dtln_1", "ultraface_rfb320", "selfie_segmentation", "squeezenet_fp32"}) {
    const std::string file = shared + "/models/onnx/" + name + "/model.onnx";
    if (!std::filesystem::exists(file)) SN_SKIP("there is no " + file);
    SplitNet net = split_net(name, NetAccess::graph(Net::import(file).value()), {});
    net.most_steps = kMostSteps;
    const std::vector<Tensor> expected = net.run(net.plan({}));
    for (std::uint32_t seed = 0; seed < paths; ++seed) {
      CAPTURE(name, seed);
      const std::vector<Tensor> outputs = net.run(net.plan(net.random_path(seed, kShare)));
      for (std::size_t o = 0; o < outputs.size(); ++o)
        CHECK(relative_error(expected[o], outputs[o]) < kError);
    }
  }
}
