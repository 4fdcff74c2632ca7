"""The errors of the client: a class for each status code of gRPC. The message is the server's.

An InvalidArgument is also a ValueError: the client raises it itself, before anything is sent, for keys and values of a wrong type.
"""
import grpc


class Error(Exception):
    """`rows_written` is set by writes: as many rows are known to be written although the call has failed."""

    code: grpc.StatusCode = grpc.StatusCode.UNKNOWN

    def __init__(self, message: str = "", rows_written: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.rows_written = rows_written


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


def error_of_number(code: int, message: str) -> Error:
    """The error of a status inside a response."""
    return error_of(_CODES.get(code, grpc.StatusCode.UNKNOWN), message)
