"""tools/check_tidy.py finds each kind of planted violation, and passes a clean tree."""
import json
import pathlib
import unittest

import planted_tree

CLEAN = {
    "storage/CMakeLists.txt": "eris_cc_library(NAME storage HDRS a.h SRCS a.cc)\n",
    "storage/a.h": "// Used by storage/a.cc; see docs/GUIDE.md and eris/types.h.\n",
    "storage/a.cc": '#include "storage/a.h"\n',
    "include/eris/types.h": "// The words.\n",
    "include/CMakeLists.txt": "# eris/types.h\n",
    "docs/GUIDE.md": "Start at [the header](../storage/a.h), in storage/.\n",
}


def run(extra, compile_commands=()):
    """Exit status and output of the checker on the clean tree with `extra` laid over it."""
    def built(folder):
        build = pathlib.Path(folder, "build")
        build.mkdir()
        entries = [{"directory": folder, "file": name, "command": ""} for name in compile_commands]
        (build / "compile_commands.json").write_text(json.dumps(entries))
        return ["--build", str(build)]
    return planted_tree.run("check_tidy.py", {**CLEAN, **extra}, built if compile_commands else None)


class CheckTidyTest(unittest.TestCase):
    def finds(self, path, text, words):
        status, output = run({path: text})
        self.assertEqual(status, 1, output)
        self.assertIn(path, output)
        self.assertIn(words, output)
        self.assertIn("tidy: 1 findings", output)

    def test_clean_tree_passes(self):
        status, output = run({})
        self.assertEqual(status, 0, output)

    def test_leftover_mark(self):
        for mark in ("FIX" + "ME", "TO" + "DO", "XX" + "X"):
            self.finds("storage/a.cc", f"// {mark}: later\n", "leftover mark " + mark)

    def test_path_of_one_machine(self):
        for path in ("/ro" + "ot/data", "/wo" + "rk/main", "/ho" + "me/me", ".." + "/shared/design"):
            self.finds("docs/GUIDE.md", f"See {path}.\n", "a path of one machine")

    def test_stale_path_in_comment(self):
        self.finds("storage/a.cc", "int x;  // as in storage/gone.h\n", "storage/gone.h does not exist")

    def test_stale_folder_and_link_in_docs(self):
        self.finds("docs/GUIDE.md", "All of tools/gone/ helps.\n", "tools/gone/ does not exist")
        self.finds("docs/GUIDE.md", "Read [it](GONE.md).\n", "link to GONE.md")

    def test_history_may_name_what_is_gone(self):
        status, output = run({"docs/internals/DECISIONS.md": "We dropped storage/gone.h.\n"})
        self.assertEqual(status, 0, output)

    def test_files_of_others_stay_as_they_are(self):
        for path in ("proto/substrait/plan.proto", "proto/substrait/LICENSE"):
            status, output = run({path: "// TO" "DO: see storage/gone.h\n" * 1000})
            self.assertEqual(status, 0, output)
        self.finds("proto/eris/v1/data.proto", "// TO" "DO: later\n", "leftover mark")

    def test_long_line_of_a_text_but_not_of_a_table(self):
        self.finds("docs/GUIDE.md", "word " * 33 + "\n", "165 columns, more than 160")
        for fine in ("word " * 32 + "\n", "| " + "word " * 40 + "|\n", "x" * 200 + "\n"):
            status, output = run({"docs/GUIDE.md": fine})
            self.assertEqual(status, 0, output)

    def test_promise_in_a_header(self):
        self.finds("storage/a.h", "int a;  // nobody uses it ye" "t\n", 'in a header: say what there is')
        self.finds("storage/a.h", "// The layout will stand he" "re.\n", 'in a header: say what there is')
        status, output = run({"storage/a.cc": "// not there ye" "t\n", "storage/a.h": "int yet;\n"})
        self.assertEqual(status, 0, output)

    def test_words_that_strangers_stumble_over(self):
        for text in ("// O" "f a table.\n", "  # O" "f each\n", "int a;  // one look" "-up\n"):
            self.finds("storage/a.cc", text, "begin with the subject; write lookup")
        status, output = run({"storage/a.cc": "// One of them. Offsets.\n"})
        self.assertEqual(status, 0, output)

    def test_commented_out_disabled_and_bare_skipped_tests(self):
        self.finds("storage/a.cc", "// TEST(TreeTest, Splits) {\n", "never runs")
        self.finds("storage/a.cc", "TEST_F(TreeTest, DIS" "ABLED_Splits) {\n", "never runs")
        self.finds("storage/a.cc", "#if 0\n#endif\n", "never runs")
        self.finds("storage/a.cc", "GTEST_SKIP()" ";\n", "says why")

    def test_source_and_header_in_no_target(self):
        self.finds("storage/b.cc", "int b;\n", "in no CMake target")
        self.finds("storage/b.h", "// b\n", "in no CMake target")

    def test_source_that_the_build_compiles_is_in_a_target(self):
        status, output = run({"storage/b.cc": "int b;\n"}, compile_commands=["storage/b.cc"])
        self.assertEqual(status, 0, output)

    def passes(self, extra):
        status, output = run(extra)
        self.assertEqual(status, 0, output)

    def test_file_that_is_too_long(self):
        for path in ("storage/a.cc", "storage/a.h", "tools/a.py"):
            self.finds(path, "\n" * 501, "more than 500 lines")
            self.passes({path: "\n" * 500})
        for path in ("tests/a_test.py", "proto/a.proto"):
            self.finds(path, "\n" * 701, "more than 700 lines")
            self.passes({path: "\n" * 700})

    def test_function_that_is_too_long(self):
        def function(lines):
            return "namespace eris {\n\nint A(int a,\n      int b) {\n" + "  ++a;\n\n" * ((lines - 3) // 2) + "}\n\n}  // namespace eris\n"

        def method(lines):
            return "struct A {\n  int a;\n  int B() {\n" + "#ifdef C\n    ++a;\n" * ((lines - 2) // 2) + "  }\n};\n"

        def python(lines):
            return "def a():\n" + "    b()\n" * (lines - 1)

        self.finds("storage/a.cc", function(61), "storage/a.cc:3: a function of 61 lines")
        self.finds("storage/a.cc", function(61).replace(") {", ") try {").replace("}\n\n}", "} catch (...) {\n}\n\n}"),
                   "storage/a.cc:3: a function of 61 lines")
        self.passes({"storage/a.cc": function(59)})
        self.finds("storage/a.h", method(62), "storage/a.h:3: a function of 62 lines")
        self.passes({"storage/a.h": method(60)})
        self.finds("tools/a.py", python(61), "tools/a.py:1: a function of 61 lines")
        self.passes({"tools/a.py": python(60), "tests/a_test.py": python(61)})
        self.passes({"storage/a.cc": "struct A {\n" + "  int a;\n" * 70 + "};\nnamespace eris {\n" + "int a;\n" * 70 + "}  // namespace eris\n"})

    def test_folder_with_too_many_files(self):
        def files(folder, count):
            return {f"{folder}/file{i}.txt": "text\n" for i in range(count)}

        status, output = run(files("bench/scan", 31))
        self.assertEqual(status, 1, output)
        self.assertIn("bench/scan:1: 31 files, more than 30", output)
        self.passes({**files("bench/scan", 30), **files("bench/scan/inner", 30), **files("tests/data", 31), **files("docs/pictures", 31)})

    def test_mutex_that_the_thread_sanitizer_cannot_see(self):
        self.finds("storage/a.cc", '#include "absl/synchronization/mutex.h"\n', "use base/mutex.h")


if __name__ == "__main__":
    unittest.main()
