"""The client's side of bench/doors/run.py, in an environment that has the doors' clients: answers a command per line with JSON.

    clients.py SERVER [PEER_PORT]

  make ROWS BATCH        the table `rows`, filled
  get SIDE               reads `rows` by DoGet: from `eris`, or `peer`, pyarrow's own server
  new|drop TABLE         an empty table
  put ROWS BATCH TABLE   writes by DoPut, in an order that is none
  keys KEYS              the index `keys`, filled
  sync|tasks COUNT S     lookups of COUNT keys one after the other, or 16 tasks at once, for S seconds; tasks 1: 1,000 tasks of one key
  redis PORT N S         1,000 tasks of one key by redis.asyncio with N connections
  embedded KEYS COUNT S  the same as `sync` by eris.open(), an engine of its own
"""
import asyncio
import functools
import json
import sys
import time

import eris
import numpy as np
import pyarrow
import pyarrow.flight as flight

RNG = np.random.default_rng(1)
NAMES = ["k", "a", "b", "c"]
KEPT = {}


def batches(rows, batch):
    for begin in range(0, rows, batch):
        keys = pyarrow.array(np.arange(begin, min(begin + batch, rows), dtype=np.uint64) * np.uint64(7919) % np.uint64(rows))
        yield pyarrow.RecordBatch.from_arrays([keys] * 4, schema=SCHEMA)


SCHEMA = pyarrow.schema([pyarrow.field(name, pyarrow.uint64(), nullable=False) for name in NAMES])


class Clients:
    def __init__(self, server, peer_port=None):
        self.db = eris.connect(server)
        self.flight = flight.connect(f"grpc://{server}")
        self.peer = flight.connect(f"grpc://127.0.0.1:{peer_port}") if peer_port else None
        self.server = server
        self.loop = asyncio.new_event_loop()

    def make(self, rows, batch, name="rows"):
        self.db.create_table(name, SCHEMA, key=["k"])
        return self.put(rows, batch, name)

    def put(self, rows, batch, name="rows"):
        ready = list(batches(int(rows), int(batch)))
        writer, results = self.flight.do_put(flight.FlightDescriptor.for_path(name), SCHEMA)
        start = time.perf_counter()
        with writer:
            for one in ready:
                writer.write_batch(one)
            writer.done_writing()
            while results.read() is not None:
                pass
        return {"rows_per_second": int(rows) / (time.perf_counter() - start), "rows": self.db.describe(name).keys}

    def new(self, name):
        self.db.create_table(name, SCHEMA, key=["k"])
        return {}

    def drop(self, name):
        self.db.drop(name)
        return {}

    def get(self, side):
        if side == "peer":
            reader = self.peer.do_get(flight.Ticket(b"rows"))
        else:
            reader = self.flight.do_get(self.flight.get_flight_info(flight.FlightDescriptor.for_path("rows")).endpoints[0].ticket)
        start, rows, keys, nbytes = time.perf_counter(), 0, 0, 0
        for chunk in reader:
            rows += chunk.data.num_rows
            nbytes += chunk.data.nbytes
            keys += int(np.asarray(chunk.data.column(0)).sum())
        return {"seconds": time.perf_counter() - start, "rows": rows, "bytes": nbytes, "sum": keys}

    def keys(self, count):
        index = self.db.create_index("keys", expect=(0, int(count)))
        index.put(np.arange(int(count)), np.arange(int(count)))
        KEPT["keys"] = RNG.permutation(int(count)).astype(np.uint64)
        return {}

    def sync(self, count, seconds, index=None):
        index, keys = index or self.db.index("keys"), KEPT["keys"][:int(count)]
        start, done = time.perf_counter(), 0
        while time.perf_counter() < start + float(seconds):
            values, found = index.get(keys)
            done += len(keys)
        passed = time.perf_counter() - start
        assert found.all() and (values == keys).all()
        return {"keys_per_second": done / passed}

    def tasks(self, count, seconds):
        return self.loop.run_until_complete(self._tasks(int(count), float(seconds)))

    async def _tasks(self, count, seconds):
        async with eris.aio.connect(self.server) as db:
            index = db.index("keys")
            keys = KEPT["keys"][:count]
            if count == 1:
                key = int(keys[0])
                return await rate(functools.partial(index.get, key), key, 1, 1000, seconds)

            async def found():
                return bool((await index.get(keys))[1].all())
            return await rate(found, True, count, 16, seconds)

    def redis(self, port, connections, seconds):
        return self.loop.run_until_complete(self._redis(int(port), int(connections), float(seconds)))

    async def _redis(self, port, connections, seconds):
        import redis.asyncio
        pool = redis.asyncio.BlockingConnectionPool(port=port, max_connections=connections, timeout=None)
        client = redis.asyncio.Redis(connection_pool=pool)
        await client.set("7", "7")
        try:
            return await rate(functools.partial(client.get, "7"), b"7", 1, 1000, seconds)
        finally:
            await client.aclose()

    def embedded(self, keys, count, seconds):
        with eris.open(aeus=1) as db:
            index = db.create_index("keys", expect=(0, int(keys)))
            index.put(np.arange(int(keys)), np.arange(int(keys)))
            KEPT["keys"] = np.random.default_rng(1).permutation(int(keys)).astype(np.uint64)
            return self.sync(count, seconds, index)


async def rate(call, expected, keys, tasks, seconds):
    start, done = time.perf_counter(), 0

    async def work():
        nonlocal done
        while time.perf_counter() < start + seconds:
            assert await call() == expected
            done += keys
    await asyncio.gather(*(work() for _ in range(tasks)))
    return {"keys_per_second": done / (time.perf_counter() - start)}


def main():
    clients = Clients(*sys.argv[1:])
    for line in sys.stdin:
        name, *arguments = line.split()
        print(json.dumps(getattr(clients, name)(*arguments)), flush=True)


if __name__ == "__main__":
    main()
