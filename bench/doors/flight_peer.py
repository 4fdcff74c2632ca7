"""pyarrow's own Flight server, with ready batches: what DoGet is compared with. Prints its port; ends with its standard input.

    flight_peer.py ROWS BATCH
"""
import sys
import threading

import numpy
import pyarrow
import pyarrow.flight as flight


class Peer(flight.FlightServerBase):
    def __init__(self, batches):
        super().__init__("grpc://127.0.0.1:0")
        self.batches = batches

    def do_get(self, context, ticket):
        return flight.RecordBatchStream(pyarrow.RecordBatchReader.from_batches(self.batches[0].schema, self.batches))


def main():
    rows, batch = map(int, sys.argv[1:])
    made = []
    for begin in range(0, rows, batch):
        keys = pyarrow.array(numpy.arange(begin, min(begin + batch, rows), dtype=numpy.uint64))
        made.append(pyarrow.RecordBatch.from_arrays([keys] * 4, names=["k", "a", "b", "c"]))
    server = Peer(made)
    print(server.port, flush=True)
    threading.Thread(target=server.serve, daemon=True).start()
    sys.stdin.read()
    server.shutdown()


if __name__ == "__main__":
    main()
