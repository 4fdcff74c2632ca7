"""The engine of ERIS in this process. Use eris.open(), which has the calls of a database."""
from eris_embedded._engine import Answer, Engine, Object, Rows, Snapshot, Stream

__all__ = ["Answer", "Engine", "Object", "Rows", "Snapshot", "Stream"]
