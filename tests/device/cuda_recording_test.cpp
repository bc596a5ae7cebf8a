// Sessions play graphs of CUDA: seen at the driver of the tests.
#include <catch2/catch.hpp>

#include "device/fake_cuda.h"
#include "device/split_nets.h"
#include "support/graph_evaluator.h"
#include "support/skip.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

// tanh(exp(−x)) on the GPU.
SplitNet chain_net() {
  GraphBuilder b;
  const TensorId x = b.input("x", Shape{4, 8});
  return split_net("chain", b.finish({b.unary("tanh", b.unary("exp", b.unary("neg", x)))}), {});
}

}  // namespace

TEST_CASE("cuda: a session plays a graph from its second run on, and leaves none behind") {
  const SplitNet net = chain_net();
  const DeviceId cuda = *DeviceId::parse("cuda");
  if (net.runtime->registry().device(cuda)->name().find("the host as a GPU") == std::string::npos)
    SN_SKIP("the driver is the real one");
  const auto plan = net.plan(net.random_path(0, 1.0, cuda));
  if (impl_of(*plan).segments.empty()) SN_SKIP("there is no compiler for the GPU's kernels");
  {
    Session session = Session::create(plan).value();
    int launches = fake_graph_launches();
    for (int run = 0; run < 5; ++run) {
      CAPTURE(run);
      std::vector<Tensor> outputs(1);
      REQUIRE(session.run(net.inputs, outputs).ok());
      CHECK(fake_graph_launches() - launches == (run > 0));
      CHECK(live_fake_graphs() == (run > 0));
      launches = fake_graph_launches();
    }
  }
  CHECK(live_fake_graphs() == 0);
}
