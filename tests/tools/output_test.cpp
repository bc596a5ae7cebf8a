// What the tool prints is printable, whatever a model's names are made of.
#include "output.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "json_text.h"
#include "table.h"

using namespace softneuro::tool;
using Catch::Matchers::Contains;

namespace {

const std::string kEvil = "a\x1b]0;title\a\nb\xff";

}  // namespace

TEST_CASE("output: texts become printable lines, numbers stay") {
  CHECK(printable(kEvil) == "a\\x1b]0;title\\x07\\x0ab\\xff");
  CHECK(printable("plain") == "plain");
  CHECK(printable(2.5) == 2.5);
}

TEST_CASE("output: a table's cells are one printable line each") {
  Table table({"layer", ">µs"});
  table.add({kEvil, "1"});
  const std::string text = table.str();
  CHECK_THAT(text, Contains("a\\x1b]0;title\\x07\\x0ab\\xff"));
  CHECK(std::count(text.begin(), text.end(), '\n') == 3);
}

TEST_CASE("output: JSON of names that are no UTF-8 is valid and plain ASCII") {
  const std::string text = json_text({{"layer", kEvil}, {"unit", "µs"}});
  const nlohmann::json read = nlohmann::json::parse(text);
  CHECK(read["unit"] == "µs");
  CHECK(read["layer"] == "a\x1b]0;title\a\nb\xef\xbf\xbd");
  CHECK(std::all_of(text.begin(), text.end(),
                    [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
}
