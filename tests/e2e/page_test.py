"""The web page of `eris serve --http`: what HTTP answers, a taken address, and in Debian's Chromium (page_browser.py) a move of a range, under
way and done, figures that are known, empty places, a lost connection, and no error on the console.
"""
import http.client
import json
import os
import re
import subprocess

import harness

PLAYWRIGHT = "playwright==1.65.2"
HERE = os.path.dirname(os.path.abspath(__file__))
TOPOLOGY = ("--topology", "numa:2 core:2 pu:1", "--balancer-enabled", "false", "--http", "127.0.0.1:0")


def address_of(server):
    return re.search(r"^eris: page: http://(.*)/$", server.log(), re.M).group(1)


def ask(address, path, **headers):
    connection = http.client.HTTPConnection(address, timeout=20)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    return answer.status, answer.read()


def check_http(server, address):
    harness.check_equal(ask(address, "/")[0], 200, "the page")
    harness.check_equal(ask(address, "/", Host="evil.example")[0], 403, "a foreign Host")
    stats = json.loads(ask(address, "/api/stats")[1])
    harness.check_equal([aeu["numa_node"] for aeu in stats["aeus"]], [0, 0, 1, 1], "NumaNodes of the AEUs")
    harness.check_equal([len(node["keys_sent_to"]) for node in stats["numa_nodes"]], [2, 2], "NumaNodes to which keys were sent")
    hot = json.loads(ask(address, "/api/hot?object=orders")[1])
    harness.check_equal(hot["aeus"], [0, 1, 2, 3], "owners")
    harness.check_equal(sum(map(int, hot["rows"])), 1000, "rows")
    shown = server.eris_json("stats", "--hot", "orders")
    harness.check_equal([one["aeu"] for one in shown["partitions"]], hot["aeus"], "owners by eris stats --hot")
    text = server.eris("stats").stdout
    for words in ("TO NUMANODE 1", "bytes in flight", "up "):
        harness.check(words in text, f"eris stats lacks '{words}': {text}")
    harness.check("no range is hot" in server.eris("stats", "--hot", "empty").stdout, "hot ranges of an object without load")


def check_taken_address(programs, address):
    done = programs.run("serve", "--listen", "127.0.0.1:0", "--http", address, code=4)
    harness.check_said(done, ["server.http", address])
    done = programs.run("serve", "--listen", "127.0.0.1:0", "--http", "7412", code=2)
    harness.check_said(done, "server.http is \"7412\", must be host:port")


def look(server, python, address, folder):
    with subprocess.Popen([python, "-B", os.path.join(HERE, "page_browser.py"), f"http://{address}/", server.programs.eris, folder],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=server.env) as browser:
        if browser.stdout.readline() == "stop\n":
            server.stop()
        _, errors = browser.communicate(timeout=120)
    harness.check_equal(browser.returncode, 0, f"the browser's program: {errors[-4000:]}")


def main():
    def extra(parser):
        parser.add_argument("--pictures", help="folder for the pictures of the page (default: nowhere)")

    args = harness.parse_args(extra)
    programs = harness.Programs(args.build)
    with harness.Server(programs, *TOPOLOGY) as server:
        address = address_of(server)
        server.eris("create", "orders", "--expect", "0:100000")
        server.eris("create", "empty")
        server.eris("create", '<b>"odd" & long</b>')
        server.eris("import", "orders", "-", "--kind", "index", "--no-header", input="".join(f"{i * 100},{i}\n" for i in range(1000)))
        check_http(server, address)
        check_taken_address(programs, address)
        if not os.path.exists("/usr/bin/chromium"):
            harness.skip("chromium", "/usr/bin/chromium is not there")
        python = harness.make_python(args.build, "page_browser", [PLAYWRIGHT])
        load = subprocess.Popen([programs.eris, "bench", "lookup", "--object", "orders", "--keys", "25000", "--layout", "dense", "--batch", "64",
                                 "--rate", "200", "--seconds", "60"], env=server.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            pictures = args.pictures or os.path.join(server.directory.name, "pictures")
            os.makedirs(pictures, exist_ok=True)
            look(server, python, address, pictures)
        finally:
            load.kill()
            load.wait()


if __name__ == "__main__":
    main()
