"""`eris sql` and `eris shell`: statements of SQL from the command line, from files and from a terminal."""
