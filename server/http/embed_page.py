"""Writes a C++ source with the files of the page: embed_page.py OUTPUT FILE... (server/http/page_files.h)."""
import pathlib
import sys

TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
         ".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8"}


def array_of(number, content):
    lines = [", ".join(map(str, content[at:at + 40])) for at in range(0, len(content), 40)]
    return f"constexpr unsigned char kFile{number}[] = {{\n" + ",\n".join(lines) + "};\n"


def main():
    output, *files = map(pathlib.Path, sys.argv[1:])
    contents = [file.read_bytes() for file in files]
    entries = []
    for number, file in enumerate(files):
        path = "/" if file.name == "index.html" else f"/{file.name}"
        entries.append(f'    {{"{path}", "{TYPES[file.suffix]}", {{reinterpret_cast<const char*>(kFile{number}), sizeof kFile{number}}}}},\n')
    output.write_text('#include "server/http/page_files.h"\n\nnamespace eris::server {\nnamespace {\n'
                      + "".join(array_of(number, content) for number, content in enumerate(contents))
                      + "}  // namespace\n\nabsl::Span<const PageFile> PageFiles() {\n  static const PageFile files[] = {\n"
                      + "".join(entries) + "  };\n  return files;\n}\n\n}  // namespace eris::server\n")


if __name__ == "__main__":
    main()
