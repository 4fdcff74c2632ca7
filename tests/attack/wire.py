"""HTTP/2, gRPC and protobuf written by hand: a client that does what no library lets it do. Standard library only."""
import select
import socket
import struct
import time

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RESET, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
END_STREAM, END_HEADERS, ACK = 1, 4, 1
CANCEL = struct.pack(">I", 8)


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def number(value, bits, first=0):
    """An integer of HPACK with a prefix of `bits` bits."""
    most = (1 << bits) - 1
    if value < most:
        return bytes([first | value])
    out, value = bytearray([first | most]), value - most
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def header(name, value):
    return b"\0" + number(len(name), 7) + name.encode() + number(len(value), 7) + value.encode()


def request_headers(path, *more):
    pairs = [(":method", "POST"), (":scheme", "http"), (":path", path), (":authority", "attack"),
             ("content-type", "application/grpc"), ("te", "trailers"), *more]
    return b"".join(header(name, value) for name, value in pairs)


def message(data, compressed=0, length=None):
    """A message of gRPC; `length`: what it declares."""
    return bytes([compressed]) + struct.pack(">I", len(data) if length is None else length) + data


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def field(key, data):
    return varint(key << 3 | 2) + varint(len(data)) + data


def column(numbers):
    """A Column of uint64."""
    return varint(1 << 3) + varint(1) + field(2, struct.pack(f"<{len(numbers)}Q", *numbers))


def lookup(name, keys):
    """A LookupRequest."""
    return field(1, name.encode()) + field(2, column(keys))


def _literal(payload, name):
    """The value after a header's name that is written out; empty if it is not, or is packed (Huffman)."""
    at = payload.find(name) + len(name)
    if at < len(name) or at >= len(payload) or payload[at] & 128:
        return ""
    length, at = payload[at], at + 1
    if length == 127:  # more bytes of the length follow, seven bits in each
        shift = 0
        more = True
        while more and at < len(payload):
            length += (payload[at] & 127) << shift
            more = bool(payload[at] & 128)
            shift, at = shift + 7, at + 1
    return payload[at:at + length].decode(errors="replace")


def connect(address, hello=True):
    host, _, port = address.rpartition(":")
    end = time.monotonic() + 30
    while True:
        try:
            client = socket.create_connection((host, int(port)), timeout=10)
            break
        except ConnectionResetError:  # a proxy that limits connections
            if time.monotonic() > end:
                raise
            time.sleep(0.1)
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if hello:
        client.sendall(PREFACE + frame(SETTINGS, 0, 0) + frame(SETTINGS, ACK, 0))
    return client


def drop(client):
    """Resets the connection."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


class Connection:
    """An HTTP/2 connection that keeps to the server's flow control, as far as it is asked to."""

    def __init__(self, address):
        self.socket = connect(address, hello=False)
        self.window, self.first_window = 65535, 65535
        self.streams = {}  # stream: window
        self.buffer = bytearray()
        self.answers = {}  # stream: [(kind, payload)]
        self.closed = ""
        self.settled = False  # the server's settings have come
        # Answers are taken, however long they are. The server may have closed it already.
        self.send_raw(PREFACE + frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 1 << 30)) + frame(SETTINGS, ACK, 0)
                      + frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 1 << 30)))
        end = time.monotonic() + 1
        while not self.settled and not self.closed and time.monotonic() < end:
            self.read(0.005)

    def read(self, seconds, stream=None):
        """Takes what comes until `seconds` have passed, the server closes, or `stream` has ended."""
        end = time.monotonic() + seconds
        while not self.closed and not (stream and self.ended(stream)):
            ready, _, _ = select.select([self.socket], [], [], max(0, end - time.monotonic()))
            if not ready:
                return
            try:
                data = self.socket.recv(1 << 18)
            except OSError as error:
                self.closed = str(error)
                return
            if not data:
                self.closed = "closed by the server"
            self.buffer += data
            self._take_frames()

    def ended(self, stream):
        return any(kind == RESET or flags & END_STREAM for kind, flags, _ in self.answers.get(stream, []))

    def _take_frames(self):
        while len(self.buffer) >= 9:
            length = int.from_bytes(self.buffer[:3], "big")
            if len(self.buffer) < 9 + length:
                return
            kind, flags = self.buffer[3], self.buffer[4]
            stream = int.from_bytes(self.buffer[5:9], "big") & 0x7FFFFFFF
            payload = bytes(self.buffer[9:9 + length])
            del self.buffer[:9 + length]
            self._take(kind, flags, stream, payload)

    def _take(self, kind, flags, stream, payload):
        if kind == WINDOW_UPDATE:
            more = struct.unpack(">I", payload)[0]
            if stream == 0:
                self.window += more
            else:
                self.streams[stream] = self.streams.get(stream, self.first_window) + more
        elif kind == SETTINGS and not flags & ACK:
            self.settled = True
            for at in range(0, len(payload), 6):
                key, value = struct.unpack(">HI", payload[at:at + 6])
                if key == 4:
                    self.streams = {one: had + value - self.first_window for one, had in self.streams.items()}
                    self.first_window = value
        elif kind == PING and not flags & ACK:
            self.send_raw(frame(PING, ACK, 0, payload))
        elif kind == GOAWAY:
            self.closed = "sent away: " + payload[8:90].decode(errors="replace")
        elif stream:
            self.answers.setdefault(stream, []).append((kind, flags, payload))

    def send_raw(self, data):
        """False: the server has closed the connection."""
        if self.closed:
            return False
        try:
            self.socket.sendall(data)
        except OSError as error:
            self.closed = str(error)
            return False
        return True

    def begin(self, stream, path, *more):
        self.streams.setdefault(stream, self.first_window)
        return self.send_raw(frame(HEADERS, END_HEADERS, stream, request_headers(path, *more)))

    def send(self, stream, data, end=True, seconds=20):
        """Sends inside the windows; returns how many bytes have been sent when all are, the server has ended the call
        or the connection, or no window has opened for `seconds`."""
        at, view, last = 0, memoryview(data), time.monotonic()
        while at < len(data) and not self.closed and not self.ended(stream):
            size = min(self.window, self.streams[stream], 16384, len(data) - at)
            if size <= 0:
                self.read(0.02)
                if time.monotonic() - last > seconds:
                    break
                continue
            flags = END_STREAM if end and at + size == len(data) else 0
            if not self.send_raw(frame(DATA, flags, stream, bytes(view[at:at + size]))):
                break
            at, last = at + size, time.monotonic()
            self.window -= size
            self.streams[stream] -= size
            if at % (1 << 20) < size:
                self.read(0)
        return at

    def call(self, stream, path, data, seconds=20, *more):
        """A unary call; the answer's status as text."""
        self.begin(stream, path, *more)
        self.send(stream, message(data))
        self.read(seconds, stream)
        return self.status(stream)

    def status(self, stream):
        """What has come of a call. The first status of a connection is not in HPACK's table, and can be read."""
        frames = self.answers.get(stream, [])
        for kind, flags, payload in frames:
            if kind == HEADERS and flags & END_STREAM:
                status, text = (_literal(payload, name) for name in (b"grpc-status", b"grpc-message"))
                return f"status {status or 'in the table'}{': ' + text[:120] if text else ''}"
        if any(kind == RESET for kind, _, _ in frames):
            return "reset"
        return self.closed or "no answer"

    def close(self):
        self.socket.close()
