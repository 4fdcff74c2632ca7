"""Runs in the environment of python_client_test.py: the client with TLS, a certificate and tokens, given in the program and by the environment,
and what it refuses before anything goes over the network.
"""
import asyncio
import contextlib
import os
import socket

import eris
import harness
import numpy as np
import security_test
from harness import refused


@contextlib.contextmanager
def environment(**variables):
    """ERIS_<name> for each of `variables`, and no other of the client's."""
    before = {name: value for name, value in os.environ.items() if name.startswith(("ERIS_TLS", "ERIS_TOKEN"))}
    for name in before:
        del os.environ[name]
    os.environ.update({f"ERIS_{name.upper()}": value for name, value in variables.items()})
    try:
        yield
    finally:
        for name in variables:
            del os.environ[f"ERIS_{name.upper()}"]
        os.environ.update(before)


def test_tokens_over_tls(programs):
    with security_test.folder_with_certificates("server") as folder:
        ca = os.path.join(folder, "ca.pem")
        admin = security_test.new_token(programs, folder, "ops", "--role", "admin")
        reader = security_test.new_token(programs, folder, "dash", "--role", "reader", "--objects", "orders*")
        with security_test.serve_with_tls(programs, folder, "--security-tokens-file", os.path.join(folder, "tokens")) as server:
            with eris.connect(server.address, security=eris.Security(tls_ca=ca, token_file=admin)) as db:
                db.create_index("orders").put(np.arange(1000), np.arange(1000) * 2)
                db.create_index("salaries").put(1, 2)
            check_reader(server, ca, reader)
            asyncio.run(check_aio(server, ca, reader))
            with environment(tls_ca=ca, token_file=reader), eris.connect(server.address) as db:
                harness.check_equal(db.index("orders").get(7), 14, "with what the environment says")
            with environment(), security_test.folder_with_certificates() as other:
                refused(eris.Unauthenticated, lambda: look(server, eris.Security(tls_ca=ca)), "the call has no token")
                refused(eris.Unavailable, lambda: look(server, eris.Security(tls_ca=os.path.join(other, "ca.pem"), token_file=reader)))
            security_test.check_no_secret(folder, server.log())


def look(server, security):
    with eris.connect(server.address, security=security) as db:
        return db.index("orders").get(7)


def check_reader(server, ca, token_file):
    with open(token_file) as file:
        token = file.read().strip()
    security = eris.Security(tls_ca=ca, token=token)
    harness.check(token not in repr(security), "the token is shown")
    with eris.connect(server.address, security=security) as db:
        orders = db.index("orders")
        harness.check_equal(orders.get(7), 14, "a key")
        harness.check_equal(sum(len(keys) for keys, _ in orders.scan()), 1000, "rows of a scan")
        error = refused(eris.PermissionDenied, lambda: orders.put(1, 1), "needs role writer")
        harness.check(token not in str(error), "the token is shown")
        refused(eris.PermissionDenied, lambda: db.index("salaries").get(1), '"salaries"')


async def check_aio(server, ca, token_file):
    async with eris.aio.connect(server.address, security=eris.Security(tls_ca=ca, token_file=token_file)) as db:
        harness.check_equal(await db.index("orders").get(9), 18, "a key, asynchronously")


def test_certificates(programs):
    with security_test.folder_with_certificates("server", "loader") as folder:
        tokens, ca = os.path.join(folder, "tokens"), os.path.join(folder, "ca.pem")
        programs.run("token", "new", "--role", "admin", "--certificate", "loader.example", "--file", tokens, code=0)
        with security_test.serve_with_tls(programs, folder, "--security-tokens-file", tokens, "--security-tls-client-ca", ca) as server:
            pair = {"tls_cert": os.path.join(folder, "loader.pem"), "tls_key": os.path.join(folder, "loader.key")}
            with eris.connect(server.address, security=eris.Security(tls_ca=ca, **pair)) as db:
                db.create_index("orders").put(1, 2)
                harness.check_equal(db.index("orders").get(1), 2, "with a certificate")
            refused(eris.InvalidArgument, lambda: eris.connect(server.address, security=eris.Security(**pair)), "without tls_ca")
            del pair["tls_key"]
            refused(eris.InvalidArgument, lambda: eris.connect(server.address, security=eris.Security(tls_ca=ca, **pair)), "together")


def test_tokens_stay_from_the_network(programs):
    far = "192.0.2.1:7411"
    refused(eris.InvalidArgument, lambda: eris.connect(far, security=eris.Security(token="eris_secret")), f"would go to {far} in plain text")
    refused(eris.InvalidArgument, lambda: eris.connect("127.example.com:7411", security=eris.Security(token="eris_secret")), "in plain text")
    refused(eris.InvalidArgument, lambda: eris.connect(security=eris.Security(token="two words")), "must be a token alone")
    refused(eris.InvalidArgument, lambda: eris.connect(security=eris.Security(token_file="/none")), "token file /none")


def test_tokens_go_to_no_proxy(programs):
    variables = ("grpc_proxy", "no_grpc_proxy")
    before = {name: os.environ[name] for name in variables if name in os.environ}
    with socket.create_server(("127.0.0.1", 0)) as proxy, socket.create_server(("127.0.0.1", 0)) as closed:
        nothing = f"127.0.0.1:{closed.getsockname()[1]}"
        closed.close()
        os.environ.update(grpc_proxy=f"http://127.0.0.1:{proxy.getsockname()[1]}", no_grpc_proxy="none.example")
        try:
            refused(eris.Unavailable, lambda: eris.connect(nothing, timeout=5, security=eris.Security(token="eris_secret")))
            proxy.settimeout(0)
            refused(BlockingIOError, proxy.accept)
        finally:
            for name in variables:
                os.environ.pop(name)
            os.environ.update(before)


if __name__ == "__main__":
    harness.run_tests(globals(), harness.Programs(harness.parse_args().build))
