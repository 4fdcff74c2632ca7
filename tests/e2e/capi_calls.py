"""liberis.so from Python's ctypes: what a language without C++ sees of it. Arrow's arrays are read by their addresses, callbacks run on the
engine's threads, and engines are opened and closed until memory that is not given back would be seen.
"""
import argparse
import array
import ctypes
import os
import threading
import time

CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
U64 = ctypes.c_uint64
KIND_HEAP_TABLE, TYPE_INT64, TYPE_STRING, APPEND, INVALID_ARGUMENT, FAILED_PRECONDITION = 4, 2, 7, 7, 3, 9


class EngineOptions(ctypes.Structure):
    """The beginning of eris_engine_options: an older program's structure."""
    _fields_ = [("struct_size", ctypes.c_size_t), ("topology", ctypes.c_char_p), ("aeu_count", ctypes.c_uint32), ("placement", ctypes.c_int32)]


class Column(ctypes.Structure):
    _fields_ = [("values", ctypes.c_void_p), ("validity", ctypes.c_void_p), ("offsets", ctypes.c_void_p)]


class Rows(ctypes.Structure):
    _fields_ = [("rows", U64), ("columns", ctypes.POINTER(Column)), ("column_count", ctypes.c_size_t)]


class ArrowArray(ctypes.Structure):
    pass


ArrowArray._fields_ = [
    ("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64), ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64), ("buffers", ctypes.POINTER(ctypes.c_void_p)), ("children", ctypes.POINTER(ctypes.POINTER(ArrowArray))),
    ("dictionary", ctypes.c_void_p), ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrowArray))), ("private_data", ctypes.c_void_p)]


class ArrowSchema(ctypes.Structure):
    pass


ArrowSchema._fields_ = [
    ("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_char_p), ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64), ("children", ctypes.POINTER(ctypes.POINTER(ArrowSchema))), ("dictionary", ctypes.c_void_p),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrowSchema))), ("private_data", ctypes.c_void_p)]


class Library:
    """The library; calls that fail raise the message."""

    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        self.lib.eris_error_message.restype = ctypes.c_char_p
        self.lib.eris_error_message.argtypes = [ctypes.c_void_p]
        self.lib.eris_error_free.argtypes = [ctypes.c_void_p]
        self.lib.eris_version.restype = ctypes.c_char_p
        for name in ("eris_session_free", "eris_object_free", "eris_scan_free", "eris_chunk_free", "eris_result_free", "eris_result_code"):
            getattr(self.lib, name).argtypes = [ctypes.c_void_p]
        self.lib.eris_chunk_rows.argtypes = [ctypes.c_void_p]
        self.lib.eris_chunk_rows.restype = U64

    def code(self, name, *args):
        """(code, message) of a call without its error argument."""
        error = ctypes.c_void_p()
        code = getattr(self.lib, name)(*args, ctypes.byref(error))
        message = self.lib.eris_error_message(error).decode()
        self.lib.eris_error_free(error)
        return code, message

    def call(self, name, *args):
        code, message = self.code(name, *args)
        assert code == 0, f"{name}: {code}: {message}"

    def made(self, name, *args):
        """The handle that a call makes."""
        handle = ctypes.c_void_p()
        self.call(name, *args, ctypes.byref(handle))
        return handle

    def open(self):
        options = EngineOptions(struct_size=ctypes.sizeof(EngineOptions), topology=b"numa:2 core:2 pu:1", aeu_count=2)
        return self.made("eris_engine_open", ctypes.byref(options))


def u64s(values):
    return (U64 * len(values))(*values)


def check_index(eris, engine, session):
    eris.call("eris_create", engine, b"squares", None)
    squares = eris.made("eris_object_open", session, b"squares")
    keys = range(1000)
    eris.call("eris_upsert_u64", session, squares, u64s(keys), u64s([k * k for k in keys]), ctypes.c_size_t(1000), None, ctypes.c_int64(0))
    read, found = (U64 * 3)(), (ctypes.c_uint8 * 3)()
    eris.call("eris_lookup_u64", session, squares, u64s([31, 5000, 999]), ctypes.c_size_t(3), read, found, ctypes.c_int64(0))
    assert list(found) == [1, 0, 1] and read[0] == 961 and read[2] == 998001, (list(read), list(found))

    scan = eris.made("eris_scan_open", session, squares, None)
    total = 0
    while chunk := eris.made("eris_scan_next", scan, ctypes.c_int64(0)):
        schema, rows = ArrowSchema(), ArrowArray()
        eris.call("eris_chunk_export_arrow", chunk, ctypes.byref(schema), ctypes.byref(rows))
        eris.lib.eris_chunk_free(chunk)  # the array holds its memory
        assert [schema.children[i].contents.name for i in range(2)] == [b"key", b"value"]
        values = ctypes.cast(rows.children[1].contents.buffers[1], ctypes.POINTER(U64))
        total += sum(values[i] for i in range(rows.length))
        schema.release(ctypes.byref(schema))
        code, message = eris.code("eris_engine_close", engine)
        assert code == FAILED_PRECONDITION and "Arrow" in message, (code, message)
        rows.release(ctypes.byref(rows))
    assert total == sum(k * k for k in keys), total
    eris.lib.eris_scan_free(scan)
    check_callbacks(eris, session, squares)
    eris.lib.eris_object_free(squares)


def check_callbacks(eris, session, squares):
    answers, changed = [], threading.Condition()

    @CALLBACK
    def done(_, result):
        code = eris.lib.eris_result_code(result)
        eris.lib.eris_result_free(result)
        with changed:
            answers.append((code, threading.get_ident()))
            changed.notify()

    for key in range(20):
        columns = (Column * 2)(Column(ctypes.cast(u64s([key]), ctypes.c_void_p)), Column(ctypes.cast(u64s([key + 1]), ctypes.c_void_p)))
        rows = Rows(1, columns, 2)
        eris.call("eris_write_async", session, squares, 5, ctypes.byref(rows), None, done, None, None)
    with changed:
        assert changed.wait_for(lambda: len(answers) == 20, timeout=60), answers
    assert all(code == 0 for code, _ in answers) and threading.get_ident() not in {thread for _, thread in answers}, answers


class ColumnSchema(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("type", ctypes.c_int32), ("scale", ctypes.c_int32), ("nullable", ctypes.c_int32)]


class CreateOptions(ctypes.Structure):
    """The beginning of eris_create_options."""
    _fields_ = [("struct_size", ctypes.c_size_t), ("kind", ctypes.c_int32), ("key_type", ctypes.c_int32), ("second_key_type", ctypes.c_int32),
                ("value_type", ctypes.c_int32), ("columns", ctypes.POINTER(ColumnSchema)), ("column_count", ctypes.c_size_t)]


def check_table(eris, engine, session):
    schema = (ColumnSchema * 2)(ColumnSchema(b"id", TYPE_INT64, 0, 0), ColumnSchema(b"name", TYPE_STRING, 0, 1))
    options = CreateOptions(ctypes.sizeof(CreateOptions), KIND_HEAP_TABLE, 0, 0, 0, schema, 2)
    eris.call("eris_create", engine, b"names", ctypes.byref(options))
    names = eris.made("eris_object_open", session, b"names")
    ids, offsets = array.array("q", [1, 2]), array.array("I", [0, 3, 3])
    # Too short an array of offsets would be read beyond its end: lengths are the caller's word. Descending ones are refused.
    columns = (Column * 2)(Column(ids.buffer_info()[0]), Column(ctypes.cast(ctypes.c_char_p(b"one"), ctypes.c_void_p), None, offsets.buffer_info()[0]))
    rows = Rows(2, columns, 2)
    eris.call("eris_write", session, names, APPEND, ctypes.byref(rows), None, ctypes.c_int64(0), None)
    offsets[1] = 9
    code, message = eris.code("eris_write", session, names, APPEND, ctypes.byref(rows), None, ctypes.c_int64(0), None)
    assert code == INVALID_ARGUMENT and "descend" in message, (code, message)
    eris.lib.eris_object_free(names)


def resident_kib():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS:"))


def held():
    """(threads, descriptors) of this process."""
    return len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd"))


def settled():
    """What it holds when that no longer changes: the kernel takes a thread out of its list a moment after its join."""
    before = None
    while (now := held()) != before:
        before = now
        time.sleep(0.2)
    return now


def open_and_close(eris):
    engine = eris.open()
    eris.call("eris_create", engine, b"a", None)
    session = eris.made("eris_session_new", engine)
    eris.lib.eris_session_free(session)
    eris.call("eris_engine_close", engine)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("liberis")
    parser.add_argument("rounds", type=int)
    args = parser.parse_args()
    eris = Library(args.liberis)
    print(f"version {eris.lib.eris_version().decode()}")
    engines = [eris.open(), eris.open()]  # two in one process
    for engine in engines:
        session = eris.made("eris_session_new", engine)
        check_index(eris, engine, session)
        check_table(eris, engine, session)
        eris.lib.eris_session_free(session)
    for engine in engines:
        eris.call("eris_engine_close", engine)
    for _ in range(5):
        open_and_close(eris)
    others = settled()
    before = resident_kib()
    for _ in range(args.rounds):
        open_and_close(eris)
    grown = resident_kib() - before
    print(f"resident memory after {args.rounds} engines: {before} KiB and {grown} more")
    # An engine has some MiB of its own.
    assert grown < 2048 and settled() == others, (grown, others, held())


if __name__ == "__main__":
    main()
