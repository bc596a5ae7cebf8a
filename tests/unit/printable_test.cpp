#include "core/base/printable.h"

#include <catch2/catch.hpp>

#include "softneuro/status.h"

using softneuro::printable_text;
using softneuro::Status;
using softneuro::StatusCode;

TEST_CASE("printable: characters of any script stay, what is none is written as its bytes") {
  CHECK(printable_text("") == "");
  CHECK(printable_text("conv/1 \"µ\" 日本 😀 \\") == "conv/1 \"µ\" 日本 😀 \\");
  CHECK(printable_text("a\x1b[31mb") == "a\\x1b[31mb");
  CHECK(printable_text("a\nb\tc\rd\x7f") == "a\\x0ab\\x09c\\x0dd\\x7f");
  CHECK(printable_text(std::string("a\0b", 3)) == "a\\x00b");
  CHECK(printable_text("\xc2\x9b") == "\\xc2\\x9b");           // a control character of Latin-1
  CHECK(printable_text("\xe2\x80\xae") == "\\xe2\\x80\\xae");  // right-to-left override
}

TEST_CASE("printable: broken UTF-8 is written as its bytes") {
  CHECK(printable_text("\xff") == "\\xff");
  CHECK(printable_text("a\xc3") == "a\\xc3");                           // cut off
  CHECK(printable_text("\xc0\xaf") == "\\xc0\\xaf");                    // longer than need be
  CHECK(printable_text("\xe0\x80\xaf") == "\\xe0\\x80\\xaf");           // likewise
  CHECK(printable_text("\xed\xa0\x80") == "\\xed\\xa0\\x80");           // a surrogate
  CHECK(printable_text("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");  // beyond Unicode
  CHECK(printable_text("\xc3(") == "\\xc3(");
  const std::string twice = printable_text("\x01é\xe9");
  CHECK(printable_text(twice) == twice);
}

TEST_CASE("status: what a model's name would do to a terminal stands in the message as its bytes") {
  Status status(StatusCode::invalid_model, "layer 'a\x1b[31m\n'");
  CHECK(status.message() == "layer 'a\\x1b[31m\\x0a'");
  CHECK(std::move(status).with_context("'\x07.onnx'").message() ==
        "'\\x07.onnx': layer 'a\\x1b[31m\\x0a'");
}
