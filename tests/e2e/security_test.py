"""Tokens, roles and TLS of a real server, as the program eris and plain TLS clients meet them."""
import contextlib
import json
import os
import re
import socket
import ssl
import subprocess
import tempfile

import harness

INVALID, UNAVAILABLE, REFUSED = 2, 3, 4


def openssl(folder, *args):
    done = subprocess.run(["openssl", *args], cwd=folder, capture_output=True, text=True)
    harness.check(done.returncode == 0, f"openssl {' '.join(args)}: {done.stderr}")


def make_authority(folder):
    openssl(folder, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=tests",
            "-keyout", "ca.key", "-out", "ca.pem")


def make_certificate(folder, name, days="2"):
    openssl(folder, "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}", "-keyout", f"{name}.key",
            "-out", f"{name}.csr")
    with open(os.path.join(folder, "names"), "w") as file:
        file.write(f"subjectAltName=DNS:localhost,IP:127.0.0.1,DNS:{name}.example\n")
    openssl(folder, "x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-days", days, "-extfile", "names", "-out",
            f"{name}.pem")


@contextlib.contextmanager
def folder_with_certificates(*names):
    with tempfile.TemporaryDirectory() as folder:
        make_authority(folder)
        for name in names:
            make_certificate(folder, name)
        yield folder


def new_token(programs, folder, name, *args):
    """Makes a token, and a file with it alone. Returns its path."""
    done = programs.run("token", "new", "--file", os.path.join(folder, "tokens"), "--name", name, *args, code=0)
    harness.check(re.fullmatch(r"eris_[A-Za-z0-9_-]{43}\n", done.stdout), f"no token: {done.stdout!r}")
    path = os.path.join(folder, f"{name}.token")
    with open(path, "w") as file:
        file.write(done.stdout)
    return path


def secrets_of(folder):
    return [open(os.path.join(folder, name)).read().strip() for name in os.listdir(folder) if name.endswith(".token")]


def check_no_secret(folder, text):
    for secret in secrets_of(folder):
        harness.check(secret not in text, "a token is shown")


def test_tokens_have_roles_and_objects(programs):
    with tempfile.TemporaryDirectory() as folder:
        admin = new_token(programs, folder, "ops", "--role", "admin")
        writer = new_token(programs, folder, "etl", "--role", "writer", "--objects", "orders*")
        reader = new_token(programs, folder, "dash", "--role", "reader", "--objects", "orders*,lineitem")
        with open(os.path.join(folder, "tokens")) as file:
            check_no_secret(folder, file.read())
        with harness.Server(programs, "--security-tokens-file", os.path.join(folder, "tokens")) as server:
            server.refused("list", said="UNAUTHENTICATED: the call has no token", code=REFUSED)
            server.eris("create", "orders", "--token-file", admin)
            server.eris("create", "salaries", "--token-file", admin)
            server.eris("put", "orders", "1=2", "--token-file", writer)
            harness.check_equal(server.eris("get", "orders", "1", "--token-file", reader).stdout.split(), ["key", "value", "1", "2"], "get")
            server.refused("put", "orders", "1=3", "--token-file", reader, code=REFUSED,
                           said='PERMISSION_DENIED: eris.v1.Data/Write needs role writer for object "orders"; token "dash" has role reader for '
                                '"orders*,lineitem"')
            server.refused("get", "salaries", "1", "--token-file", writer, said=("PERMISSION_DENIED", '"salaries"'), code=REFUSED)
            server.refused("create", "orders2", "--token-file", writer, said=("needs role admin",), code=REFUSED)
            names = [one["name"] for one in json.loads(server.eris("list", "--output", "json", "--token-file", reader).stdout)]
            harness.check_equal(names, ["orders"], "what a reader of some objects may list")
            server.env["ERIS_TOKEN_FILE"] = writer
            server.eris("put", "orders", "5=6")
            with open(reader) as file:
                server.env.update(ERIS_TOKEN_FILE="", ERIS_TOKEN=file.read().strip())
            server.refused("put", "orders", "5=7", said="needs role writer", code=REFUSED)
            del server.env["ERIS_TOKEN"]
            check_revoking(programs, folder, server, writer)
            log = server.log()
            harness.check('audit caller="ops"' in log and 'call="eris.v1.Catalog/CreateObject" object="orders" result="OK"' in log, log)
            check_no_secret(folder, log)


def check_revoking(programs, folder, server, writer):
    tokens = os.path.join(folder, "tokens")
    programs.run("token", "revoke", "etl", "--file", tokens, code=0)

    def refused():
        done = subprocess.run([programs.eris, "put", "orders", "1=9", "--token-file", writer], env=server.env, capture_output=True, text=True)
        return done.returncode == REFUSED and "UNAUTHENTICATED: the token is unknown here, or was revoked" in done.stderr
    harness.wait_until(refused, "the revoked token to be refused")
    programs.refused("token", "revoke", "etl", "--file", tokens, said='has no name "etl"', code=1)
    listed = json.loads(programs.run("token", "list", "--file", tokens, "--output", "json", code=0).stdout)
    harness.check_equal([(one["name"], one["role"], one["objects"], one["expires"]) for one in listed],
                        [("ops", "admin", "*", "never"), ("dash", "reader", "orders*,lineitem", "never")], "token list")


def test_bad_tokens_are_refused_where_they_are_made(programs):
    with tempfile.TemporaryDirectory() as folder:
        tokens = os.path.join(folder, "tokens")
        programs.refused("token", "new", "--role", "root", "--file", tokens, said="reader")
        programs.refused("token", "new", "--role", "reader", said="--file")
        programs.refused("token", "new", "--role", "reader", "--file", tokens, "--expires", "soon", said='the expiry is "soon"')
        programs.refused("token", "new", "--role", "reader", "--file", tokens, "--objects", "a b", said="objects are patterns")
        programs.refused("token", "list", "--file", tokens, said=tokens, code=1)
        new_token(programs, folder, "one", "--role", "reader", "--expires", "90d")
        programs.refused("token", "new", "--role", "reader", "--name", "one", "--file", tokens, said='has the name "one" already', code=REFUSED)
        with open(tokens, "a") as file:
            file.write("eris_pasted two reader * never\n")
        done = programs.run("serve", "--listen", "127.0.0.1:0", "--security-tokens-file", tokens, code=INVALID)
        harness.check_said(done, f"{tokens}:2: the first field must be 64 hex digits")
        harness.check("pasted" not in done.stderr, done.stderr)


def test_beyond_the_machine_a_server_starts_only_with_tls_and_roles(programs):
    programs.refused("serve", "--listen", "0.0.0.0:0",
                     said=("server.listen is 0.0.0.0:0, which other machines reach", "security.tokens_file", "security.open = true"))
    programs.refused("serve", "--listen", "127.0.0.1:0", "--http", "0.0.0.0:0", said="server.http is 0.0.0.0:0")
    programs.refused("serve", "--listen", "127.0.0.1:0", "--security-tokens-file", "/nonexistent/tokens", said="/nonexistent/tokens")
    programs.refused("serve", "--security-tls-cert", "/c.pem", said="security.tls_cert is set without security.tls_key")


def shown_certificate(server, folder, version=None):
    """The certificate of a handshake, in DER."""
    context = ssl.create_default_context(cafile=os.path.join(folder, "ca.pem"))
    context.set_alpn_protocols(["h2"])
    if version:
        context.set_ciphers("DEFAULT:@SECLEVEL=0")  # so that the server decides
        context.minimum_version = context.maximum_version = version
    host, port = server.address.split(":")
    with socket.create_connection((host, int(port)), timeout=20) as plain, context.wrap_socket(plain, server_hostname="localhost") as secure:
        return secure.getpeercert(binary_form=True)


def serve_with_tls(programs, folder, *more):
    return harness.Server(programs, "--security-tls-cert", os.path.join(folder, "server.pem"), "--security-tls-key",
                          os.path.join(folder, "server.key"), *more)


def test_tls_is_of_version_1_2_or_newer_and_certificates_are_replaced(programs):
    with folder_with_certificates("server", "next") as folder, serve_with_tls(programs, folder) as server:
        ca = os.path.join(folder, "ca.pem")
        server.eris("create", "orders", "--tls-ca", ca)
        server.refused("list", said=("answers, but not as a gRPC server without TLS does", "--tls-ca"), code=UNAVAILABLE)
        first = shown_certificate(server, folder, ssl.TLSVersion.TLSv1_2)
        harness.check_equal(shown_certificate(server, folder, ssl.TLSVersion.TLSv1_3), first, "the certificate")
        harness.refused(ssl.SSLError, lambda: shown_certificate(server, folder, ssl.TLSVersion.TLSv1_1))
        with open(os.path.join(folder, "server.pem"), "w") as file:
            file.write("damaged")
        harness.wait_until(lambda: "TLS files refused" in server.log(), "the damaged certificate to be refused")
        harness.check_equal(shown_certificate(server, folder), first, "after a damaged one")
        os.replace(os.path.join(folder, "next.key"), os.path.join(folder, "server.key"))
        os.replace(os.path.join(folder, "next.pem"), os.path.join(folder, "server.pem"))
        harness.wait_until(lambda: shown_certificate(server, folder) != first, "the new certificate")
        server.eris("list", "--tls-ca", ca)


def test_certificates_of_clients_have_roles(programs):
    with folder_with_certificates("server", "loader", "guest") as folder:
        tokens, ca = os.path.join(folder, "tokens"), os.path.join(folder, "ca.pem")
        programs.run("token", "new", "--role", "admin", "--certificate", "loader.example", "--file", tokens, code=0)
        programs.run("token", "new", "--role", "reader", "--certificate", "guest", "--file", tokens, code=0)
        with serve_with_tls(programs, folder, "--security-tokens-file", tokens, "--security-tls-client-ca", ca) as server:
            def flags(name):
                return ["--tls-ca", ca, "--tls-cert", os.path.join(folder, f"{name}.pem"), "--tls-key", os.path.join(folder, f"{name}.key")]
            server.eris("create", "orders", *flags("loader"))
            server.eris("list", *flags("guest"))
            server.refused("drop", "orders", *flags("guest"), said='certificate "guest" has role reader', code=REFUSED)
            server.refused("list", *flags("server"), said="the certificate's name has no role", code=REFUSED)
            harness.check_equal(server.eris("list", "--tls-ca", ca, code=UNAVAILABLE).stdout, "", "without a certificate")


def test_clients_keep_tokens_from_the_network(programs):
    with tempfile.TemporaryDirectory() as folder:
        token = new_token(programs, folder, "a", "--role", "reader")
        programs.refused("list", "--server", "192.0.2.1:7411", "--token-file", token,
                         said="the token would go to 192.0.2.1:7411 in plain text")
        empty = os.path.join(folder, "empty")
        with open(empty, "w") as file:
            file.write("\nsecond line\n")
        programs.refused("list", "--token-file", empty, said=f"token file {empty}: the first line must be a token alone")
        programs.refused("list", "--token-file", "/none", said="token file /none", code=1)
        programs.refused("list", "--tls-cert", token, said="a client's certificate and its key must be given together")


if __name__ == "__main__":
    harness.run_tests(globals(), harness.Programs(harness.parse_args().build))
