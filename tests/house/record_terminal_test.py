"""tools/record_terminal.py: what a terminal would show, when, and as well-formed SVG."""
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import record_terminal  # noqa: E402

SHOWS = "import sys, time; print('first <&>'); print('bar 1'); sys.stdout.flush(); time.sleep(2); print('\\x1b[1A\\x1b[2K\\rbar 2')"


def pieces(*said, columns=20, rows=5):
    return record_terminal.pieces(list(said), columns, rows)


class RecordTerminalTest(unittest.TestCase):
    def test_a_line_that_is_drawn_again_has_two_times(self):
        found, rows = pieces((1.0, "a\r\nbar 1\r\n"), (2.0, "\x1b[1A\x1b[2K\rbar 2\r\n"))
        self.assertEqual(found, [(0, "a", 1.0, None), (1, "bar 1", 1.0, 2.0), (1, "bar 2", 2.0, None)])
        self.assertEqual(rows, 3)

    def test_a_carriage_return_writes_over_and_erases_to_the_end(self):
        self.assertEqual(pieces((1.0, "1234\r56"), (2.0, "\r7\x1b[K"))[0], [(0, "5634", 1.0, 2.0), (0, "7", 2.0, None)])

    def test_a_sequence_may_come_in_two_parts(self):
        self.assertEqual(pieces((1.0, "a\r\n\x1b["), (2.0, "1A\x1b[2Kb"))[0], [(0, "a", 1.0, 2.0), (0, "b", 2.0, None)])

    def test_what_comes_at_once_is_one_picture(self):
        self.assertEqual(pieces((1.0, "a"), (1.01, "b"))[0], [(0, "ab", 1.01, None)])

    def test_a_full_line_goes_on_in_the_next(self):
        self.assertEqual(pieces((1.0, "abcde"), columns=3)[0], [(0, "abc", 1.0, None), (1, "de", 1.0, None)])

    def test_unknown_sequences_and_too_many_lines_are_refused(self):
        for text in "\x1b[31m", "\x1b]0;x\x07", "\n" * 5:
            with self.assertRaises(ValueError):
                pieces((1.0, text))

    def test_pauses_are_shortened(self):
        self.assertEqual(record_terminal.shortened([(0.5, "a"), (9.0, "b"), (9.5, "c")], 1.0), [(0.5, "a"), (1.5, "b"), (2.0, "c")])

    def test_a_command_becomes_a_picture(self):
        with tempfile.TemporaryDirectory() as folder:
            out = pathlib.Path(folder, "its.svg")
            command = [sys.executable, ROOT / "tools/record_terminal.py", "--out", out]
            subprocess.run([*command, sys.executable, "-c", SHOWS], check=True, capture_output=True)
            name = "{http://www.w3.org/2000/svg}"
            texts = xml.etree.ElementTree.parse(out).getroot().findall(f"{name}text")
            self.assertEqual([text.text for text in texts], ["first <&>", "bar 1", "bar 2"])
            self.assertEqual([text.find(f"{name}animate").get("values").count(";") for text in texts], [1, 2, 1])
            self.assertTrue(all(text.find(f"{name}animate").get("keyTimes").startswith("0.0000;") for text in texts))
            failed = subprocess.run([*command, "false"], capture_output=True, text=True)
            self.assertEqual((failed.returncode, "ended with exit code 1" in failed.stderr), (1, True))


if __name__ == "__main__":
    unittest.main()
