"""tools/check_layers.py finds each kind of planted violation, and passes what is allowed."""
import unittest

import planted_tree


def run(files):
    return planted_tree.run("check_layers.py", files)


class CheckLayersTest(unittest.TestCase):
    def finds(self, path, include):
        status, output = run({path: f'// first line\n#include "{include}"\n'})
        self.assertEqual(status, 1, output)
        self.assertIn(f"{path}:2: includes {include}", output)

    def passes(self, path, *includes):
        status, output = run({path: "".join(f'#include "{name}"\n' for name in includes)})
        self.assertEqual(status, 0, output)

    def test_upward_include_is_found_in_every_layer(self):
        layers = ["base", "topology", "memory", "leap", "storage", "routing", "aeu", "balancer", "engine", "server"]
        for lower, upper in zip(layers, layers[1:]):
            self.finds(f"{lower}/a.h", f"{upper}/b.h")

    def test_public_header_including_a_layer_is_found(self):
        self.finds("include/eris/a.h", "base/check.h")

    def test_wire_format_below_the_server_is_found(self):
        self.finds("engine/a.cc", "eris/v1/data.pb.h")
        self.finds("routing/a.cc", "grpcpp/grpcpp.h")
        self.finds("storage/a.cc", "google/protobuf/message.h")

    def test_substrait_outside_its_room_is_found(self):
        for path in ("server/data/a.cc", "clients/a.cc", "wire/a.cc", "engine/a.cc"):
            self.finds(path, "substrait/plan.pb.h")
        self.passes("server/substrait/a.cc", "substrait/plan.pb.h", "substrait/extensions/extensions.pb.h")

    def test_customer_reaching_past_the_interface_is_found(self):
        for path in ("server/a.cc", "clients/a.cc", "clients/cli/a.cc", "clients/load/a.cc", "examples/a.cc"):
            self.finds(path, "engine/engine_impl.h")
        self.finds("clients/a.cc", "server/serve.h")
        self.finds("clients/cli/a.cc", "server/guard/call_state.h")
        self.finds("text/a.cc", "wire/keys.h")
        self.finds("text/a.cc", "clients/rows.h")

    def test_rooms_include_only_rooms_below(self):
        self.finds("engine/core/a.h", "engine/reads/b.h")
        self.finds("engine/reads/a.h", "engine/engine_impl.h")
        self.finds("engine/sessions/a.h", "engine/moving/b.h")
        self.finds("storage/partition.h", "storage/tree/prefix_tree.h")
        self.finds("storage/hash/a.h", "storage/index/b.h")
        self.finds("clients/cli/text/a.h", "clients/cli/files/b.h")
        self.finds("engine/attic/a.h", "engine/core/b.h")
        self.passes("engine/sessions/a.h", "engine/reads/b.h", "engine/sessions/b.h", "engine/objects/b.h", "aeu/aeu.h")
        self.passes("engine/engine_impl.h", "engine/moving/b.h", "engine/memory_report.h")
        self.passes("storage/index/a.h", "storage/tree/b.h", "storage/partition.h")

    def test_angle_brackets_do_not_hide_an_include(self):
        status, _ = run({"base/a.h": "#  include <engine/b.h>\n"})
        self.assertEqual(status, 1)

    def test_allowed_includes_pass(self):
        self.passes("engine/a.cc", "aeu/aeu.h", "base/check.h", "eris/types.h", "vector", "absl/status/status.h")
        self.passes("server/a.cc", "eris/engine.h", "eris/v1/data.grpc.pb.h", "server/b.h", "grpcpp/grpcpp.h")
        self.passes("clients/cli/main.cc", "server/serve.h", "server/state/config.h", "clients/eris_client.h", "text/cut_text.h")
        self.passes("server/flight/a.cc", "text/expression_text.h", "wire/keys.h")
        self.passes("bench/storage/tree_bench.cc", "storage/tree/prefix_tree.h")
        self.passes("tests/unit/aeu/a_test.cc", "engine/engine.h", "eris/v1/data.pb.h")


if __name__ == "__main__":
    unittest.main()
