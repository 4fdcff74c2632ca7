"""One channel to a server: typed calls, and their statuses as errors. Everything here belongs to one event loop."""
import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator
from typing import Any, TypeVar

import grpc
import grpc.aio
from google.protobuf.message import DecodeError, Message

from eris.errors import Cancelled, DeadlineExceeded, Error, FailedPrecondition, add_details, error_of
from eris.security import Security
from eris.v1 import data_pb2

Answer = TypeVar("Answer", bound=Message)

# Batches under way at once on one connection: more make no call faster, and the server bounds what it holds.
BATCHES_UNDER_WAY = 16
_OPTIONS: list[tuple[str, Any]] = [
    ("grpc.max_receive_message_length", 64 << 20),
    ("grpc.max_send_message_length", -1),  # the server has a limit, and says so
    ("grpc.use_local_subchannel_pool", 1),  # a connection of its own
    # A server that is started again is found within a second, not within two minutes.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
]


# The process that made the first connection. gRPC's threads do not outlive fork(), and a call in the new process would wait for ever.
_process: int | None = None


def check_process() -> None:
    """Errors: FailedPrecondition in a process that was forked after the first connection was made."""
    global _process
    _process = _process or os.getpid()
    if _process != os.getpid():
        raise FailedPrecondition("connections do not outlive fork(), and new ones are not possible: start the process with the method spawn")


def target_of(address: str) -> str:
    """gRPC's form of host:port, unix:/path or /path."""
    return f"unix:{address}" if address.startswith("/") else address


class Connection:
    """`timeout`: seconds until the answer to a call; DeadlineExceeded after it. `security`: None for that of the environment.

    Errors: InvalidArgument (`security`).
    """

    def __init__(self, address: str, timeout: float, security: Security | None = None) -> None:
        check_process()
        self.address = address
        self.timeout = timeout
        self.room = asyncio.Semaphore(BATCHES_UNDER_WAY)
        security = security or Security.from_environment()
        self._metadata = security.metadata(address)
        self._channel: grpc.aio.Channel | None = security.channel(target_of(address), _OPTIONS)
        self._calls: dict[str, Any] = {}

    async def check(self) -> None:
        """Errors: Unavailable (nothing listens there, or the server is stopping), Unimplemented (it is no ERIS server)."""
        channel = self._open()
        try:
            call: Any = channel.unary_unary("/grpc.health.v1.Health/Check")
            await call(b"", timeout=self.timeout)
        except grpc.aio.AioRpcError as error:
            raise self._error(error) from None

    async def call(self, name: str, request: Message, answer: type[Answer]) -> Answer:
        """One call, e.g. "Data/Lookup"."""
        return answer.FromString(await self.call_bytes(f"/eris.v1.{name}", request.SerializeToString()))

    async def call_bytes(self, path: str, request: bytes) -> bytes:
        """One call of any service, e.g. "/eris.v1.Data/Lookup", in serialized messages."""
        call = self._calls.get(path)
        if call is None or self._channel is None:
            call = self._calls[path] = self._open().unary_unary(path)
        try:
            response: bytes = await call(request, timeout=self.timeout, metadata=self._metadata)
            return response
        except grpc.aio.AioRpcError as error:
            raise self._error(error) from None
        except asyncio.CancelledError:
            raise self._end() from None

    async def stream(self, name: str, request: Message, answer: type[Answer]) -> AsyncGenerator[Answer, None]:
        """The responses of a call. Closing the iterator ends the call."""
        async with contextlib.aclosing(self.stream_bytes(f"/eris.v1.{name}", request.SerializeToString())) as responses:
            async for response in responses:
                yield answer.FromString(response)

    async def stream_bytes(self, path: str, request: bytes) -> AsyncGenerator[bytes, None]:
        """As stream(), of any service, in serialized messages."""
        stub: Any = self._open().unary_stream(path)
        call = stub(request, metadata=self._metadata)
        try:
            while True:
                async with asyncio.timeout(self.timeout):
                    response = await call.read()
                if response is grpc.aio.EOF:
                    return
                yield response
        except TimeoutError:
            raise DeadlineExceeded(f"no answer from {self.address} for {self.timeout} s") from None
        except grpc.aio.AioRpcError as error:
            raise self._error(error) from None
        except asyncio.CancelledError:
            raise self._end() from None
        finally:
            call.cancel()

    async def close(self) -> None:
        """Calls under way end with Cancelled."""
        channel, self._channel = self._channel, None
        if channel is not None:
            await channel.close()

    def _open(self) -> grpc.aio.Channel:
        if self._channel is None:
            raise FailedPrecondition(f"the connection to {self.address} is closed")
        check_process()
        return self._channel

    def _end(self) -> BaseException:
        """What a cancelled call ends with: the task was cancelled, or the connection closed."""
        task = asyncio.current_task()
        if self._channel is None and not (task and task.cancelling()):
            return Cancelled(f"the connection to {self.address} was closed during the call")
        return asyncio.CancelledError()

    def _error(self, error: grpc.aio.AioRpcError) -> Error:
        message = error.details() or error.code().name
        if error.code() is grpc.StatusCode.UNAVAILABLE and "connect" in message:
            message = f"no connection to {self.address}: {message}"
        result = error_of(error.code(), message)
        for key, value in error.trailing_metadata() or ():
            if key == "grpc-status-details-bin" and isinstance(value, bytes):
                with contextlib.suppress(DecodeError):
                    add_details(result, data_pb2.RequestStatus.FromString(value))
        return result
