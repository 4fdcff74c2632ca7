"""A text of SQL in pieces, as far as it takes to find its statements and its names. It understands no grammar."""
import re
from collections.abc import Iterator

# Strings, with a quote doubled or behind a backslash; strings between dollar signs; names in quotes; comments of a line, words, numbers with
# what belongs to them, space, and any other character. Comments /* */ may be nested: pieces_of finds their end.
_PIECE = re.compile(r"""
    [eE]'(?:[^'\\]|\\.|'')*(?:'|\Z) | '(?:[^']|'')*(?:'|\Z)
  | \$(\w*)\$.*?(?:\$\1\$|\Z)
  | "(?:[^"]|"")*(?:"|\Z) | `[^`]*(?:`|\Z)
  | --[^\n]* | /\*
  | [^\W\d]\w* | \d[\w.]* | \s+ | .""", re.DOTALL | re.VERBOSE)
_COMMENT_MARK = re.compile(r"/\*|\*/")


def pieces_of(sql: str) -> Iterator[str]:
    """They are the whole text, one behind the other."""
    place = 0
    while found := _PIECE.match(sql, place):
        end = _comment_end(sql, place) if found.group() == "/*" else found.end()
        yield sql[place:end]
        place = end


def _comment_end(sql: str, begin: int) -> int:
    depth = 0
    for mark in _COMMENT_MARK.finditer(sql, begin):
        depth += 1 if mark.group() == "/*" else -1
        if depth == 0:
            return mark.end()
    return len(sql)


def is_space(piece: str) -> bool:
    """Whether it says nothing: space or a comment."""
    return piece.isspace() or piece.startswith(("--", "/*"))


def statements_of(sql: str) -> tuple[list[str], str]:
    """The statements that end in a semicolon, without it, and the text behind the last one. Empty ones are left out."""
    whole, open_pieces = [], list[str]()
    for piece in pieces_of(sql):
        if piece == ";":
            whole.append("".join(open_pieces).strip())
            open_pieces.clear()
        else:
            open_pieces.append(piece)
    rest = "".join(open_pieces).strip()
    return [each for each in whole if words_of(each)], rest if words_of(rest) else ""


def words_of(sql: str) -> list[str]:
    """The pieces that say something."""
    return [piece for piece in pieces_of(sql) if not is_space(piece)]


def on_one_line(sql: str) -> str:
    """The same statement, with line ends in strings and names alone."""
    def flat(piece: str) -> str:
        if piece.startswith("--"):
            return f"/*{piece[2:].replace('*/', '* /').replace('/*', '/ *')}*/"
        return " ".join(piece.split("\n")) if is_space(piece) else piece
    return "".join(map(flat, pieces_of(sql)))


def quoted(name: str) -> str:
    """As SQL has a name in which capital letters count."""
    return '"' + name.replace('"', '""') + '"'


def with_date_part(sql: str, parts: tuple[str, ...]) -> str:
    """The text with date_part('year', x) for year(x), and so on for the other parts."""
    pieces = list(pieces_of(sql))
    said = [number for number, piece in enumerate(pieces) if not is_space(piece)]
    for number, behind in zip(said, said[1:]):
        if pieces[number].lower() in parts and pieces[behind] == "(":
            pieces[behind] = f"('{pieces[number].lower()}', "
            pieces[number] = "date_part"
    return "".join(pieces)


def with_exact_name(sql: str, name: str) -> str:
    """The text with quotes around `name` wherever it stands without them, in any case. Not where such a word is an alias, a type, a function or
    a field of dates: x as date, cast(x as date), x::date, date '2024-01-01', date(x), interval '1' day, extract(day from x)."""
    pieces = list(pieces_of(sql))
    said = [number for number, piece in enumerate(pieces) if not is_space(piece)]

    def word(place: int) -> str:
        return pieces[said[place]].lower() if 0 <= place < len(said) else ""

    for place, number in enumerate(said):
        if pieces[number].lower() != name.lower():
            continue
        is_other = (word(place - 1) in ("as", ":") or word(place + 1).startswith(("'", "(")) or word(place - 2) == "interval"
                    or (word(place - 1) == "(" and word(place - 2) in ("extract", "date_part")))
        if not is_other:
            pieces[number] = quoted(name)
    return "".join(pieces)
