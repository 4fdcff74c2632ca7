"""tools/check_names.py finds two classes of one name, and passes names that only look alike."""
import unittest

import planted_tree


def run(files):
    return planted_tree.run("check_names.py", files)


def inside(space, *lines):
    return "\n".join([f"namespace {space} {{", *lines, f"}}  // namespace {space}", ""])


class CheckNamesTest(unittest.TestCase):
    def finds(self, one, other, name):
        status, output = run({"storage/a.h": one, "storage/b/c.h": other})
        self.assertEqual(status, 1, output)
        self.assertIn(f"storage/b/c.h:2: {name} is also defined at storage/a.h:2", output)

    def passes(self, **files):
        status, output = run({f"storage/{name}.h": text for name, text in files.items()})
        self.assertEqual(status, 0, output)

    def test_two_classes_of_one_name_are_found(self):
        self.finds(inside("eris::storage", "class Segment {"), inside("eris::storage", "struct Segment {"), "eris::storage::Segment")
        self.finds(inside("eris", "struct alignas(base::kCacheLineBytes) Row {"), inside("eris", "class ABSL_LOCKABLE Row final : public Base {"),
                   "eris::Row")
        self.finds(inside("eris", "enum class Kind : uint8_t { kA };"), inside("eris", "class Kind", "    : public Base {"), "eris::Kind")

    def test_other_namespaces_pass(self):
        self.passes(a=inside("eris::storage", "class Segment {"), b=inside("eris::routing", "class Segment {"))

    def test_unnamed_namespaces_pass(self):
        text = inside("eris", "namespace {", "struct Row {", "};", "}  // namespace")
        self.passes(a=text, b=text)

    def test_declarations_pass(self):
        self.passes(a=inside("eris", "class Row;", "class Row {", "};"), b=inside("eris", "class Row;", "struct Other {"))

    def test_specialisations_pass(self):
        self.passes(a=inside("eris", "struct Of {"), b=inside("eris", "struct Of<int> {"))


if __name__ == "__main__":
    unittest.main()
