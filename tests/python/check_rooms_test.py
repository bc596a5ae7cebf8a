"""scripts/check-rooms finds what is against docs/internals/rooms.md, and nothing else."""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class CheckRooms(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.tree = pathlib.Path(temporary.name)
        for folder in ("src", "include", "docs/internals"):
            shutil.copytree(ROOT / folder, self.tree / folder)

    def check(self):
        done = subprocess.run(
            [sys.executable, ROOT / "scripts/check-rooms", self.tree], capture_output=True, text=True
        )
        return done.returncode, done.stdout + done.stderr

    def plant(self, file, text):
        with open(self.tree / file, "a", encoding="utf-8") as out:
            out.write(text)

    def test_this_tree_has_no_edge_against_the_rule(self):
        code, text = self.check()
        self.assertEqual(code, 0, text)

    def test_an_include_upwards_is_named(self):
        self.plant("src/core/plan/plan.cpp", '#include "net/net_impl.h"\n')
        code, text = self.check()
        self.assertEqual(code, 1)
        self.assertIn("src/core/plan/plan.cpp: core/plan may not include net/net_impl.h", text)

    def test_a_format_in_what_all_formats_share_is_named(self):
        for header in ("import/onnx/node.h", "import/onnx/onnx.pb.h"):  # the second is generated
            self.plant("src/import/build/format.h", f'#include "{header}"\n')
            code, text = self.check()
            self.assertEqual(code, 1)
            self.assertIn(f"src/import/build/format.h: import/build may not include {header}", text)

    def test_a_public_header_with_an_internal_include_is_named(self):
        self.plant("include/softneuro/net.h", '#include "core/base/error.h"\n')
        code, text = self.check()
        self.assertEqual(code, 1)
        self.assertIn("include/softneuro/net.h: include may not include core/base/error.h", text)

    def test_a_file_outside_a_room_is_named(self):
        self.plant("src/core/stray.cpp", "int stray;\n")
        code, text = self.check()
        self.assertEqual(code, 1)
        self.assertIn("src/core/stray.cpp: is in no room", text)

    def test_a_table_with_a_cycle_is_refused(self):
        table = self.tree / "docs/internals/rooms.md"
        table.write_text(
            table.read_text().replace("files. | include |", "files. | core/graph |", 1)
        )
        code, text = self.check()
        self.assertEqual(code, 1)
        self.assertIn("cycle", text)

    def test_a_drawing_of_another_table_is_named(self):
        table = self.tree / "docs/internals/rooms.md"
        text = table.read_text()
        table.write_text(text.replace("| capi | The C API. | core/base |",
                                      "| capi | The C API. | core/base, core/graph |", 1))
        code, text = self.check()
        self.assertEqual(code, 1)
        self.assertIn("its drawing is not that of its table", text)


if __name__ == "__main__":
    unittest.main()
