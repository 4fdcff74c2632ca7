"""The attacks. Each takes a Target, works for about `target.seconds`, and returns a line that says what it has done."""
import random
import resource
import time
import zlib

import wire

MIB = 1 << 20
LOOKUP = "/eris.v1.Data/Lookup"


def descriptors(target):
    """More connections than the server may have descriptors."""
    clients, refused = [], 0
    for _ in range(1400):
        try:
            clients.append(wire.connect(target.address, hello=False))
        except OSError:
            refused += 1
    time.sleep(target.seconds / 2)
    for client in clients:
        client.close()
    return f"{len(clients)} connections held, {refused} refused, at a limit of {target.nofile} descriptors"


def storm(target):
    """Connections that are dropped at once."""
    end, dropped = time.monotonic() + target.seconds, 0
    begin = time.monotonic()
    while time.monotonic() < end:
        wire.drop(wire.connect(target.address, hello=False))
        dropped += 1
        time.sleep(max(0, begin + dropped / 4000 - time.monotonic()))
    return f"{dropped} connections dropped, {dropped / (time.monotonic() - begin):.0f} a second"


def half_request(target):
    """Requests of which the last part never comes."""
    clients = []
    for _ in range(20):
        client = wire.Connection(target.address)
        client.begin(1, LOOKUP)
        client.send(1, wire.message(b"x" * (2 * MIB), length=4 * MIB), end=False, seconds=0.5)
        clients.append(client)
    clients[0].read(target.seconds + 8, 1)
    answer = clients[0].status(1)
    for client in clients:
        client.close()
    return f"20 calls with half of 4 MiB each; after call_ms_max: {answer}"


def half_stream(target):
    """Streams that stay open with a request of which the last part never comes: each connection has as much of it as a
    message may have."""
    clients, sent, end = [], 0, time.monotonic() + target.seconds
    while len(clients) < 20 and time.monotonic() < end:
        client = wire.Connection(target.address)
        client.begin(1, LOOKUP + "Stream")
        sent += client.send(1, wire.message(b"x" * (39 * MIB), length=40 * MIB), end=False, seconds=0.5)
        clients.append(client)
    time.sleep(max(0, end - time.monotonic()))
    for client in clients:
        client.read(0)
    cut = sum(bool(client.closed) for client in clients)
    for client in clients:
        client.close()
    return f"{len(clients)} streams with {sent / MIB:.0f} MiB of unfinished requests; {cut} connections cut"


def huge_message(target):
    """A message that declares 3 GiB."""
    client = wire.Connection(target.address)
    client.begin(1, LOOKUP)
    part, sent = b"\0" * (16 * MIB), 0
    sent += client.send(1, wire.message(b"", length=3 << 30), end=False, seconds=2)
    end = time.monotonic() + target.seconds
    while sent < (1 << 30) and time.monotonic() < end:
        now = client.send(1, part, end=False, seconds=2)
        sent += now
        if now < len(part):
            break
    client.read(0.5, 1)
    return f"{sent / MIB:.0f} MiB of 3 GiB sent: {client.status(1)}"


def gzip_bomb(target):
    """3 GiB of zeros in 3 MiB of gzip."""
    packer, packed = zlib.compressobj(9, zlib.DEFLATED, 31), bytearray()
    for _ in range(3072 if target.seconds > 5 else 256):
        packed += packer.compress(bytes(MIB))
    packed += packer.flush()
    client = wire.Connection(target.address)
    client.begin(1, LOOKUP, ("grpc-encoding", "gzip"))
    client.send(1, wire.message(bytes(packed), compressed=1))
    client.read(20, 1)
    return f"{len(packed) / MIB:.1f} MiB of gzip: {client.status(1)}"


def continuation(target):
    """Headers without an end."""
    end, sent, connections = time.monotonic() + target.seconds, 0, 0
    piece = wire.frame(wire.CONTINUATION, 0, 1, wire.header("x-a", "b" * 16000)) * 8
    while time.monotonic() < end:
        client = wire.Connection(target.address)
        connections += 1
        client.send_raw(wire.frame(wire.HEADERS, 0, 1, wire.request_headers(LOOKUP)))
        while time.monotonic() < end and client.send_raw(piece):
            sent += len(piece)
        client.close()
    return f"{sent / MIB:.0f} MiB of headers over {connections} connections"


def header_strings(target):
    """Header values that declare 1 GiB, on four connections at a time."""
    end, sent, connections = time.monotonic() + target.seconds, 0, 0
    first = wire.request_headers(LOOKUP) + b"\0" + wire.number(3, 7) + b"x-a" + wire.number(1 << 30, 7)
    piece = wire.frame(wire.CONTINUATION, 0, 1, b"b" * 16000) * 4
    clients = []
    while time.monotonic() < end:
        clients = [client for client in clients if not client.closed]
        while len(clients) < 4:
            client = wire.Connection(target.address)
            client.socket.settimeout(0.2)
            client.send_raw(wire.frame(wire.HEADERS, 0, 1, first))
            clients.append(client)
            connections += 1
        for client in clients:
            if client.send_raw(piece):
                sent += len(piece)
    for client in clients:
        client.close()
    return f"{sent / MIB:.0f} MiB of header values over {connections} connections"


def resets(target):
    """Calls that are opened and reset, 100,000 a connection."""
    end, done, connections = time.monotonic() + target.seconds, 0, 0
    headers = wire.request_headers(LOOKUP)
    while time.monotonic() < end:
        client = wire.Connection(target.address)
        connections += 1
        stream = 1
        while time.monotonic() < end and stream < 200_000:
            frames = bytearray()
            for _ in range(200):
                frames += wire.frame(wire.HEADERS, wire.END_HEADERS, stream, headers)
                frames += wire.frame(wire.RESET, 0, stream, wire.CANCEL)
                stream += 2
            if not client.send_raw(bytes(frames)):
                break
            done += 200
            client.read(0)
        client.close()
    return f"{done} calls reset over {connections} connections"


def empty_submessages(target):
    """Requests of millions of empty submessages, which take a hundred times their bytes when parsed."""
    client = wire.Connection(target.address)
    data, end, calls, first = b"\x12\0" * (3 * MIB // 2), time.monotonic() + target.seconds, 0, ""
    while time.monotonic() < end and not client.closed:
        answer = client.call(1 + 2 * calls, LOOKUP, data)
        first, calls = first or answer, calls + 1
    client.close()
    return f"{calls} requests of 3 MiB; the first: {first}"


def unread_scans(target):
    """Scans whose answers are never read."""
    clients = []
    for _ in range(64):
        client = wire.connect(target.address)
        client.sendall(wire.frame(wire.HEADERS, wire.END_HEADERS, 1, wire.request_headers("/eris.v1.Data/Scan")) +
                       wire.frame(wire.DATA, wire.END_STREAM, 1, wire.message(wire.field(1, b"big"))))
        clients.append(client)
    time.sleep(target.seconds)
    scanned = target.scan()
    for client in clients:
        client.close()
    return f"64 scans unread; another scan meanwhile: {scanned}"


def malformed(target):
    """Requests that are no protobuf."""
    client = wire.Connection(target.address)
    rng, end, calls, first = random.Random(1), time.monotonic() + target.seconds, 0, ""
    while time.monotonic() < end and not client.closed:
        answer = client.call(1 + 2 * calls, LOOKUP, b"\x0a" + rng.randbytes(rng.randrange(1, 200)))
        first, calls = first or answer, calls + 1
    client.close()
    return f"{calls} requests of random bytes; the first: {first}"


def cut_short(target):
    """Requests that end early, behind a tag of 0 or an end of a group that has not begun, sent in two pieces."""
    client = wire.Connection(target.address)
    whole, end, calls, first = wire.lookup("v", list(range(8))), time.monotonic() + target.seconds, 0, ""
    while time.monotonic() < end and not client.closed:
        stream = 1 + 2 * calls
        data = wire.message(whole + (b"\0", b"\x54")[calls % 2] + b"\1" * 40)
        # The shorter the second piece, the further back from its begin is the early end.
        cut = len(data) - 1 - calls // 2 % 60
        client.begin(stream, LOOKUP)
        client.send(stream, data[:cut], end=False)
        client.send(stream, data[cut:])
        client.read(20, stream)
        first, calls = first or client.status(stream), calls + 1
        client.answers.clear()
    client.close()
    return f"{calls} requests that end early; the first: {first}"


METHODS = ["Data/Lookup", "Data/Write", "Data/Aggregate", "Data/Scan", "Data/ScanInto", "Data/TakeSnapshot",
           "Catalog/CreateObject", "Catalog/GetObject", "Catalog/ListObjects", "Admin/GetStats", "Queries/Execute"]


def mutate(rng, data):
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 3, 8))):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(5)
        if kind == 0 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del data[at:at + rng.randrange(1, 6)]
        elif kind == 2:
            data[at:at] = rng.randbytes(rng.randrange(1, 12))
        elif kind == 3:
            data[at:at] = data[at:at + rng.randrange(1, 40)]
        else:
            data += wire.varint(rng.randrange(1, 60) << 3 | rng.randrange(6)) + rng.randbytes(rng.randrange(10))
    return bytes(data)


def mutated(target):
    """Valid requests with some bytes changed, to all kinds of methods."""
    rng, end, calls = random.Random(target.seed), time.monotonic() + target.seconds, 0
    valid = [wire.lookup("v", [1, 5, 900]), wire.field(1, b"v"), wire.field(1, b"mutant"), b"\x08\x05",
             wire.field(1, b"w") + b"\x10\1" + wire.field(3, wire.column([1, 2])) * 2]
    client, stream = wire.Connection(target.address), 1
    while time.monotonic() < end:
        for _ in range(50):  # under way together
            client.begin(stream, "/eris.v1." + rng.choice(METHODS))
            client.send(stream, wire.message(mutate(rng, rng.choice(valid))), seconds=1)
            stream, calls = stream + 2, calls + 1
        client.read(10, stream - 2)
        if client.closed or stream > 20_000:
            client.close()
            client, stream = wire.Connection(target.address), 1
        client.answers.clear()
    client.close()
    return f"{calls} requests, seed {target.seed}"


ALL = [descriptors, storm, half_request, half_stream, huge_message, gzip_bomb, continuation, header_strings, resets,
       empty_submessages, unread_scans, malformed, cut_short, mutated]


def raise_descriptors():
    """This process needs more descriptors than the server."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
