"""Generates the messages of proto/eris/v1 into the wheel, as eris/v1/*_pb2.py with their types."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


def find_protos(root):
    """The folder that has eris/v1: beside this file in a source archive, above it in the project's tree."""
    for folder in (root / "proto", root.parent.parent / "proto"):
        if (folder / "eris" / "v1").is_dir():
            return folder
    raise FileNotFoundError(f"there is no proto/eris/v1 in {root} or two folders above it")


class Hook(BuildHookInterface):
    PLUGIN_NAME = "custom"

    def initialize(self, version, build_data):
        root = pathlib.Path(self.root)
        protos = find_protos(root)
        self.made = tempfile.mkdtemp(prefix="eris-messages-")
        files = sorted(str(path) for path in (protos / "eris" / "v1").glob("*.proto"))
        subprocess.run([sys.executable, "-m", "grpc_tools.protoc", "-I", str(protos), f"--python_out={self.made}",
                        f"--pyi_out={self.made}", *files], check=True)
        messages = pathlib.Path(self.made, "eris", "v1")
        (messages / "__init__.py").write_text('"""The messages of the protocol, generated from proto/eris/v1."""\n')
        # protoc leaves the arguments of its mappings open, and a field of the name bytes hides the type.
        for path in messages.glob("*.pyi"):
            text = path.read_text().replace("_Mapping]", "_Mapping[str, _Any]]")
            text = re.sub(r"(: |\[)bytes\b", r"\1_bytes", text)
            path.write_text(f"from builtins import bytes as _bytes\nfrom typing import Any as _Any\n{text}")
        for path in sorted(messages.iterdir()):
            build_data["force_include"][str(path)] = f"eris/v1/{path.name}"
        licence = next(path for path in (root / "LICENSE", root.parent.parent / "LICENSE") if path.exists())
        build_data["force_include"][str(licence)] = "eris/LICENSE"

    def finalize(self, version, build_data, artifact_path):
        shutil.rmtree(self.made, ignore_errors=True)
