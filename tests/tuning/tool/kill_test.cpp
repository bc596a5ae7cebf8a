// `softneuro tune` killed at every change of a file, in the middle of every write, and at random
// moments: the .dnn is the old one or the new one, the profile cache has the rows that it had and
// perhaps new ones, and the next tune goes on where the killed one stopped.
#include <catch2/catch.hpp>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <map>
#include <random>
#include <thread>

#include "core/base/machine.h"
#include "net/net_access.h"
#include "net/tuned_plan.h"
#include "profiler/cache/profile_cache.h"
#include "support/temporary_folder.h"
#include "support/tensor_difference.h"
#include "tuning/small_net.h"
#include "tuning/tool/run_tool.h"

using namespace softneuro;
using namespace softneuro::test;

namespace {

namespace fs = std::filesystem;

// image [1 x 3 x 8 x 8] → scores [1 x 5]: so small that it is tuned in a tenth of a second.
Graph tiny_graph(std::int64_t channels) {
  SmallNetBuilder b;
  const TensorId image = b.input("image", DynamicShape(Shape{1, 3, 8, 8}));
  const TensorId stem = b.unary("relu", "stem_relu", b.conv("stem", image, 3, channels, 3));
  const TensorId flat = b.layer("flatten", "flat", {stem});
  b.graph.outputs = {b.layer(
      "dense", "fc", {flat, b.weights("fc.w", {channels * 64, 5}), b.weights("fc.b", {5})})};
  return b.graph;
}

Net make_net(std::int64_t channels) {
  NetOptions options;
  options.threads = 1;
  return NetAccess::from_graph(tiny_graph(channels), options).value();
}

struct CacheContents {
  std::map<RowKey, Row> rows;
  std::string warning;  // of rows that were skipped
};

CacheContents read_cache(const std::string& folder) {
  CacheContents contents;
  ProfileCache cache;
  cache.open(folder, machine_name(), 1, [&](const std::string& text) { contents.warning = text; });
  contents.rows = cache.rows();
  return contents;
}

// No row is lost, and what was measured alone is not measured again: the times would differ.
void check_kept(const std::map<RowKey, Row>& before, const std::map<RowKey, Row>& after) {
  for (const auto& [key, row] : before) {
    const auto found = after.find(key);
    if (found == after.end())
      FAIL_CHECK("lost: " << key.text);
    else if (key.kind == RowKind::unit_time && !(found->second == row))
      FAIL_CHECK("measured again: " << key.text);
  }
}

// A folder with a .dnn that is to be tuned in place, and a profile cache from another net.
class Scene {
 public:
  Scene();
  // Makes the old cache's file so long that the next tune rewrites it.
  void age_cache();
  // As at first.
  void reset() const;

  // A tune of the .dnn in place.
  std::vector<std::string> tune() const {
    return {"tune", net_, "-o", net_, "--packed", "--cache", cache_, "--threads", "1", "--json"};
  }
  Environment killed_at(int call, bool torn) const;
  // Asserts what must hold after a killed tune; `torn`: perhaps in the middle of a write.
  void check_killed(bool torn);
  // Tunes once more, and asserts that it goes on where the killed one stopped and leaves all well.
  void check_resumed() const;

  std::string folder() const { return folder_.path().string(); }
  double seconds() const { return seconds_; }  // of a tune that is not killed
  // How often the killed tunes left what: "net: old", "net: new", "cache: more rows", …
  const std::map<std::string, int>& left() const { return left_; }

 private:
  std::string check_net() const;
  std::string cache_file() const {
    return cache_ + '/' + ProfileCache::file_name(machine_name(), 1);
  }

  TemporaryFolder folder_;
  std::string net_ = folder_.file("net.dnn"), cache_ = folder_.file("cache");
  std::string old_net_, old_cache_;
  std::map<RowKey, Row> old_rows_;
  NamedTensors expected_;
  double seconds_ = 0;
  std::map<RowKey, Row> rows_left_;  // by the last killed tune
  std::map<std::string, int> left_;
};

Scene::Scene() {
  const Net net = make_net(4);
  expected_ = net.run({{"image", random_image(1, {1, 3, 8, 8})}}).value();
  REQUIRE(net.save(net_).ok());
  old_net_ = read_file(net_);
  Net other = make_net(6);
  TuneOptions options;
  options.cache.folder = cache_;
  REQUIRE(other.tune(options).ok());
  old_cache_ = read_file(cache_file());
  old_rows_ = read_cache(cache_).rows;
  REQUIRE(old_rows_.size() > 10);
  const auto begin = std::chrono::steady_clock::now();
  run_tool(tune(), {}, folder());
  seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  CHECK(check_net() == "new");
  reset();
}

void Scene::age_cache() {
  std::string all = old_cache_;
  for (std::size_t rows = 0; rows < 2 * old_rows_.size() + 1100; rows += old_rows_.size())
    all += old_cache_;
  old_cache_ = std::move(all);
  reset();
}

void Scene::reset() const {
  fs::remove_all(cache_);
  fs::create_directories(cache_);
  write_file(net_, old_net_);
  write_file(cache_file(), old_cache_);
}

Environment Scene::killed_at(int call, bool torn) const {
  Environment environment = {{"LD_PRELOAD", SOFTNEURO_KILL_AT},
                             {"KILL_AT", std::to_string(call)},
                             {"KILL_LOG", folder_.file("calls")}};
  if (torn) environment["KILL_TORN"] = "1";
  return environment;
}

// "old" or "new": which one the .dnn is. It loads, and computes what it should.
std::string Scene::check_net() const {
  if (read_file(net_) == old_net_) return "old";
  NetOptions options;
  options.threads = 1;
  const auto net = Net::load(net_, options);
  INFO(net.status().message());
  REQUIRE(net.ok());
  CHECK(net->tuned_paths().size() == 1);
  const NamedTensors outputs = net->run({{"image", random_image(1, {1, 3, 8, 8})}}).value();
  const Tensor& expected = expected_.begin()->second;
  const Tensor& actual = outputs.at(expected_.begin()->first);
  CHECK(difference(actual, expected, {1e-5, 1e-4}) == "");
  return "new";
}

void Scene::check_killed(bool torn) {
  ++left_["net: " + check_net()];
  CacheContents cache = read_cache(cache_);
  INFO(cache.warning);
  // Only a write that was cut off leaves half a row, the last one.
  if (torn && cache.warning != "") {
    CHECK(cache.warning.find("1 rows are damaged") != std::string::npos);
    CHECK(read_file(cache_file()).back() != '\n');
    ++left_["cache: half a row"];
  } else {
    CHECK(cache.warning == "");
  }
  check_kept(old_rows_, cache.rows);
  ++left_[cache.rows.size() == old_rows_.size() ? "cache: old rows" : "cache: more rows"];
  rows_left_ = std::move(cache.rows);
}

void Scene::check_resumed() const {
  const nlohmann::json report = run_tool(tune(), {}, folder());
  CHECK(check_net() == "new");
  const CacheContents cache = read_cache(cache_);
  CHECK(cache.warning == "");
  check_kept(rows_left_, cache.rows);
  CHECK((report["from_cache"] > 0 || rows_left_.size() == old_rows_.size()));
  // Nothing of the killed process is left over.
  for (const std::string& place : {folder(), cache_})
    for (const fs::directory_entry& entry : fs::directory_iterator(place))
      CHECK(entry.path().extension() != ".tmp");
}

// Kills a tune at its first call, at its second one, … until one comes to its end; gives the number
// of calls that it makes.
int kill_at_every_call(Scene& scene, bool torn) {
  for (int call = 1;; ++call) {
    INFO((torn ? "in the middle of write " : "before call ") << call);
    scene.reset();
    fs::remove(scene.folder() + "/calls");
    ToolProcess tool(scene.tune(), scene.killed_at(call, torn), scene.folder());
    const int status = tool.wait();
    INFO(tool.errors());
    scene.check_killed(torn);
    if (status == 0) return call - 1;
    REQUIRE(status == 128 + SIGKILL);
    scene.check_resumed();
  }
}

void kill_at_random_moments(int times) {
  Scene scene;
  const std::uint64_t seed = std::random_device()();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> delay(0, 1.1 * scene.seconds());
  int killed = 0;
  for (int i = 0; i < times; ++i) {
    const double seconds = delay(random);
    INFO("after " << seconds << " s of " << scene.seconds());
    scene.reset();
    ToolProcess tool(scene.tune(), {}, scene.folder());
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    tool.kill();
    const int status = tool.wait();
    killed += status == 128 + SIGKILL;
    scene.check_killed(true);
    scene.check_resumed();
  }
  CHECK(killed > times / 5);  // or the moments were no moments of a tune
  CHECK(scene.left().count("net: old") == 1);
}

}  // namespace

TEST_CASE("killed tune: before every change of a file, old or new, and resumed") {
  Scene scene;
  const int calls = kill_at_every_call(scene, false);
  INFO(read_file(scene.folder() + "/calls"));
  CHECK(calls > 15);
  // That the library saw what it is there for.
  const std::string log = read_file(scene.folder() + "/calls");
  for (const char* name : {"open\n", "write\n", "fsync\n", "rename\n"})
    CHECK(log.find(name) != std::string::npos);
  for (const char* what : {"net: old", "net: new", "cache: old rows", "cache: more rows"})
    CHECK(scene.left().count(what) == 1);
}

TEST_CASE("killed tune: in the middle of every write, old or new, and resumed") {
  Scene scene;
  const int writes = kill_at_every_call(scene, true);
  CHECK(writes > 10);
  CHECK(scene.left().count("cache: half a row") == 1);
}

TEST_CASE("killed tune: while it rewrites a cache that has grown old") {
  Scene scene;
  scene.age_cache();
  const int calls = kill_at_every_call(scene, false);
  const std::string log = read_file(scene.folder() + "/calls");
  const std::size_t first = log.find("rename\n");
  CHECK(log.find("rename\n", first + 1) != std::string::npos);  // of the cache and of the .dnn
  CHECK(kill_at_every_call(scene, true) < calls);
}

TEST_CASE("killed tune: at 20 random moments") {
  kill_at_random_moments(20);
}

TEST_CASE("killed tune: at 200 random moments", "[slow]") {
  kill_at_random_moments(200);
}
