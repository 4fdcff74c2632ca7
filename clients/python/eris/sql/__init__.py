"""SQL over the objects of a server: DataFusion plans a text, the server runs the plan; and a shell."""
