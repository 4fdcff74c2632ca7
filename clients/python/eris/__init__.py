"""Client of ERIS, a NUMA-aware in-memory storage engine.

    with eris.connect("127.0.0.1:7411") as db:
        orders = db.create_index("orders")
        orders.put(keys, values)             # numpy arrays or lists of any length
        values, found = orders.get(keys)

eris.aio has the same calls for asyncio. Errors are classes by gRPC's status code, all of them eris.Error.
"""
from eris import aio
from eris.embedded import open
from eris.errors import (Aborted, AlreadyExists, Cancelled, DataLoss, DeadlineExceeded, Error, FailedPrecondition, Internal, InvalidArgument,
                         NotFound, OutOfRange, PermissionDenied, ResourceExhausted, Unauthenticated, Unavailable, Unimplemented, Unknown)
from eris.objects import Aggregate
from eris.schema import Column, ObjectInfo, Type
from eris.security import Security
from eris.sync import Database, Hash, Index, Query, Scan, Snapshot, Table, connect

__all__ = ["Aborted", "Aggregate", "AlreadyExists", "Cancelled", "Column", "DataLoss", "Database", "DeadlineExceeded", "Error",
           "FailedPrecondition", "Hash", "Index", "Internal", "InvalidArgument", "NotFound", "ObjectInfo", "OutOfRange", "PermissionDenied",
           "Query", "ResourceExhausted", "Scan", "Security", "Snapshot", "Table", "Type", "Unauthenticated", "Unavailable", "Unimplemented", "Unknown", "aio", "connect", "open"]
