"""GoogleTest's reports of the programs of one boot, as one file under the name of the ctest test, where
tools/dev/count_tests.py looks for it.
"""
import os
import xml.etree.ElementTree as ET

NAME = "gtest.xml"  # in the guest's /out


def folder(environment):
    """Where reports go: GTEST_OUTPUT="xml:<folder>/", or None."""
    output = environment.get("GTEST_OUTPUT", "")
    return output[4:] if output.startswith("xml:") and output.endswith("/") else None


def merge(reports):
    """The cases of all reports. One that was cut off is left out: its program failed and says so."""
    merged = ET.Element("testsuites", name="AllTests")
    for report in reports:
        try:
            merged.extend(ET.fromstring(report).iter("testsuite"))
        except ET.ParseError:
            continue
    return merged


def write(path, reports):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    ET.ElementTree(merge(reports)).write(path, encoding="unicode")
