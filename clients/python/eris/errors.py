"""The errors of the client: a class for each status code of gRPC. The message and the reason are the server's.

An InvalidArgument is also a ValueError: the client raises it itself, before anything is sent, for keys and values of a wrong type.
"""
import grpc

from eris.v1 import data_pb2, error_pb2


class Error(Exception):
    """`rows_written` is set by writes: as many rows are known to be written although the call has failed.

    `reason` is for programs, and stays the same between versions: see docs/guide/errors.md. Empty if the server gave none. `field`, `value`
    and `limit` say what was refused, as far as it is known; after `retry_s` seconds the same call may succeed (0: unknown).
    """

    code: grpc.StatusCode = grpc.StatusCode.UNKNOWN

    def __init__(self, message: str = "", rows_written: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.rows_written = rows_written
        self.reason = self.field = self.value = self.limit = ""
        self.retry_s = 0.0

    def with_text(self, message: str, rows_written: int | None) -> "Error":
        """The same error with another message."""
        other = type(self)(message, rows_written)
        other.reason, other.field, other.value, other.limit, other.retry_s = self.reason, self.field, self.value, self.limit, self.retry_s
        return other


class Cancelled(Error):
    code = grpc.StatusCode.CANCELLED


class Unknown(Error):
    code = grpc.StatusCode.UNKNOWN


class InvalidArgument(Error, ValueError):
    code = grpc.StatusCode.INVALID_ARGUMENT


class DeadlineExceeded(Error):
    code = grpc.StatusCode.DEADLINE_EXCEEDED


class NotFound(Error):
    code = grpc.StatusCode.NOT_FOUND


class AlreadyExists(Error):
    code = grpc.StatusCode.ALREADY_EXISTS


class PermissionDenied(Error):
    code = grpc.StatusCode.PERMISSION_DENIED


class ResourceExhausted(Error):
    code = grpc.StatusCode.RESOURCE_EXHAUSTED


class FailedPrecondition(Error):
    code = grpc.StatusCode.FAILED_PRECONDITION


class Aborted(Error):
    code = grpc.StatusCode.ABORTED


class OutOfRange(Error):
    code = grpc.StatusCode.OUT_OF_RANGE


class Unimplemented(Error):
    code = grpc.StatusCode.UNIMPLEMENTED


class Internal(Error):
    code = grpc.StatusCode.INTERNAL


class Unavailable(Error):
    code = grpc.StatusCode.UNAVAILABLE


class DataLoss(Error):
    code = grpc.StatusCode.DATA_LOSS


class Unauthenticated(Error):
    code = grpc.StatusCode.UNAUTHENTICATED


CLASSES: dict[grpc.StatusCode, type[Error]] = {its.code: its for its in Error.__subclasses__()}
_CODES: dict[int, grpc.StatusCode] = {code.value[0]: code for code in grpc.StatusCode}


def error_of(code: grpc.StatusCode, message: str) -> Error:
    """The error of a call's status."""
    return CLASSES.get(code, Unknown)(message)


def add_details(error: Error, status: data_pb2.RequestStatus) -> Error:
    """Sets what the server says besides code and message."""
    for detail in status.details:
        name = detail.type_url.rpartition("/")[2]
        if name == "google.rpc.ErrorInfo":
            info = error_pb2.ErrorInfo.FromString(detail.value)
            error.reason = info.reason
            error.field, error.value, error.limit = (info.metadata.get(key, "") for key in ("field", "value", "limit"))
        elif name == "google.rpc.RetryInfo":
            delay = error_pb2.RetryInfo.FromString(detail.value).retry_delay
            error.retry_s = delay.seconds + delay.nanos / 1e9
    return error


def error_of_status(status: data_pb2.RequestStatus) -> Error:
    """The error of a status inside a response."""
    return add_details(error_of_number(status.code, status.message), status)


def error_of_number(code: int, message: str) -> Error:
    """The error of a code's number."""
    return error_of(_CODES.get(code, grpc.StatusCode.UNKNOWN), message)
