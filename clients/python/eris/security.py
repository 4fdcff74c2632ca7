"""TLS and tokens: how a client proves its identity to a server, and checks the server's."""
import ipaddress
import os
from dataclasses import dataclass, field
from typing import Any

import grpc
import grpc.aio

from eris.errors import InvalidArgument


def _is_local(address: str) -> bool:
    """Whether only programs of this machine are at the address. A host's name may begin like an address: 127.example.com."""
    if address.startswith(("localhost:", "unix:", "/")):
        return True
    try:
        return ipaddress.ip_address(address.rpartition(":")[0].strip("[]")).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class Security:
    """`tls_ca`: a PEM file with the authorities of the server's certificate, or "system" for those of the machine; without it the connection is
    plain. `tls_cert`, `tls_key`: PEM files, for servers that ask for a client's certificate. The token is the first line of `token_file`, or else
    `token`."""
    tls_ca: str | None = None
    tls_cert: str | None = None
    tls_key: str | None = None
    token_file: str | None = None
    token: str | None = field(default=None, repr=False)

    @staticmethod
    def from_environment() -> "Security":
        """ERIS_TLS_CA, ERIS_TLS_CERT, ERIS_TLS_KEY, ERIS_TOKEN_FILE and ERIS_TOKEN, which the program eris reads, too."""
        return Security(*(os.environ.get(f"ERIS_{name}") for name in ("TLS_CA", "TLS_CERT", "TLS_KEY", "TOKEN_FILE", "TOKEN")))

    def metadata(self, address: str) -> list[tuple[str, str]]:
        """The headers of each call. Errors: InvalidArgument (a token that would cross a network in plain text, or is malformed)."""
        token = self.token
        if self.token_file:
            token = _read("token file", self.token_file).decode(errors="replace").partition("\n")[0]
        token = (token or "").strip()
        if not token and not self.token_file:
            return []
        if not token or not token.isascii() or not token.isprintable() or " " in token:
            raise InvalidArgument(f"{self.token_file or 'the token'}: the first line must be a token alone, as `eris token new` prints it")
        if not self.tls_ca and not _is_local(address):
            raise InvalidArgument(f"the token would go to {address} in plain text: give tls_ca, the authorities of the server's certificate")
        return [("authorization", f"Bearer {token}")]

    def channel(self, target: str, options: list[tuple[str, Any]]) -> grpc.aio.Channel:
        """Errors: InvalidArgument (a certificate without its key, or without tls_ca; a file that cannot be read)."""
        if bool(self.tls_cert) != bool(self.tls_key):
            raise InvalidArgument("tls_cert and tls_key must be given together")
        if self.token or self.token_file:
            # A proxy of the environment would see a token that goes to this machine in plain text.
            options = [*options, ("grpc.enable_http_proxy", 0)]
        if not self.tls_ca:
            if self.tls_cert:
                raise InvalidArgument("tls_cert is given without tls_ca, the authorities of the server's certificate")
            return grpc.aio.insecure_channel(target, options=options)
        credentials = grpc.ssl_channel_credentials(
            root_certificates=None if self.tls_ca == "system" else _read("tls_ca", self.tls_ca),
            private_key=_read("tls_key", self.tls_key) if self.tls_key else None,
            certificate_chain=_read("tls_cert", self.tls_cert) if self.tls_cert else None)
        return grpc.aio.secure_channel(target, credentials, options=options)


def _read(what: str, path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise InvalidArgument(f"{what} {path}: {error.strerror}") from None
