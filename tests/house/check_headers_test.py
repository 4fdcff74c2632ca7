"""tools/check_headers.py finds each kind of planted violation, and passes what is allowed."""
import unittest

import planted_tree


def run(files):
    return planted_tree.run("check_headers.py", files)


class CheckHeadersTest(unittest.TestCase):
    def test_a_second_source_with_cli11_or_nlohmann_is_found(self):
        for path in ("clients/cli/scan.cc", "clients/load/report.h", "tests/e2e/orders_check.cc"):
            for header, library in (("CLI/CLI.hpp", "CLI11"), ("nlohmann/json.hpp", "nlohmann/json")):
                status, output = run({path: f"// first line\n#include <{header}>\n"})
                self.assertEqual(status, 1, output)
                self.assertIn(f"{path}:2: includes {header}: {library} is for ", output)

    def test_the_one_source_of_each_may_not_include_the_other(self):
        status, output = run({"clients/json.cc": "#include <CLI/CLI.hpp>\n"})
        self.assertEqual(status, 1, output)

    def test_a_public_header_with_grpc_is_found(self):
        for header in ("grpcpp/client_context.h", "eris/v1/data.pb.h", "eris/v1/data.grpc.pb.h",
                       "google/protobuf/message.h"):
            status, output = run({"clients/eris_client.h": f"#pragma once\n#include <{header}>\n"})
            self.assertEqual(status, 1, output)
            self.assertIn(f"clients/eris_client.h:2: reaches {header}", output)

    def test_a_file_of_the_program_that_reaches_the_wire_through_headers_is_found(self):
        status, output = run({
            "clients/cli/scan.cc": '#include <string>\n#include "clients/cli/text/cli.h"\n',
            "clients/cli/text/cli.h": '#include "clients/client_stubs.h"\n',
            "clients/client_stubs.h": "#include <grpcpp/client_context.h>\n",
        })
        self.assertEqual(status, 1, output)
        self.assertIn("clients/cli/scan.cc:2: reaches clients/cli/text/cli.h -> clients/client_stubs.h -> "
                      "grpcpp/client_context.h", output)
        self.assertIn("clients/cli/text/cli.h:1: reaches", output)

    def test_what_is_allowed_passes(self):
        status, output = run({
            "clients/cli/text/flags.cc": '#include "clients/cli/text/flags.h"\n#include <CLI/CLI.hpp>\n',
            "clients/cli/text/flags.h": "#include <string>\n",
            "clients/json.cc": "#include <nlohmann/json.hpp>\n",
            "clients/cli/scan.cc": '#include "clients/eris_client.h"\n#include "clients/json.h"\n',
            "clients/eris_client.h": '#include "eris/engine.h"\n',
            "clients/json.h": "#include <string>\n",
            "clients/eris_client.cc": '#include "clients/client_stubs.h"\n',
            "clients/client_stubs.h": "#include <grpcpp/client_context.h>\n",
            "clients/load/remote_target.cc": '#include "eris/v1/data.grpc.pb.h"\n',
            "include/eris/engine.h": "#include <string>\n",
            "bench/lab.cc": "#include <nlohmann/json.hpp>\n",
        })
        self.assertEqual(status, 0, output)


if __name__ == "__main__":
    unittest.main()
