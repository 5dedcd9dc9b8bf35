"""What the checks share: findings, the list of files, C++ text without comments and strings, scratch trees.

A check is a module with NAME, DOES (one line), check(context) -> [Finding] and self_test(). The self-test plants a
violation in a scratch tree and must find it there, so that a check that has gone blind is noticed.
"""

import contextlib
import dataclasses
import os
import pathlib
import re
import tempfile

CODE_FOLDERS = ("include", "src", "examples", "tests", "bench")
ALL_FOLDERS = CODE_FOLDERS + ("cmake", "demo", "docs", "tools", ".ci")
CODE_SUFFIXES = (".h", ".cc")
SKIPPED = {"__pycache__", "build", ".git"}


@dataclasses.dataclass(frozen=True)
class Finding:
    """One violation. `line` counts from 1; 0: the file as a whole."""

    path: str
    line: int
    message: str

    def __str__(self):
        place = f"{self.path}:{self.line}" if self.line else self.path
        return f"{place}: {self.message}"


@dataclasses.dataclass(frozen=True)
class Context:
    """The tree to check. `build` holds compile_commands.json, for the checks that need it; `all_files`: not only changed ones."""

    root: pathlib.Path
    build: pathlib.Path | None = None
    all_files: bool = False

    def files(self, folders=ALL_FOLDERS, suffixes=None):
        """Paths relative to the root, sorted; with ALL_FOLDERS the files in the root itself too."""
        found = []
        if folders is ALL_FOLDERS:
            found += [p.name for p in self.root.iterdir() if p.is_file() and p.name not in SKIPPED]
        for folder in folders:
            for where, subfolders, names in os.walk(self.root / folder):
                subfolders[:] = [s for s in subfolders if s not in SKIPPED]
                found += [os.path.relpath(os.path.join(where, name), self.root) for name in names]
        return sorted(f for f in found if suffixes is None or f.endswith(suffixes))

    def code(self, folders=CODE_FOLDERS):
        return self.files(folders, CODE_SUFFIXES)

    def read(self, path):
        return (self.root / path).read_text(encoding="utf-8")


_COMMENT_OR_LITERAL = re.compile(
    r"""//[^\n]* | /\*.*?\*/ | R"(?P<tag>[^()\\\s]*)\(.*?\)(?P=tag)" | "(?:\\.|[^"\\\n])*" | (?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'""",
    re.DOTALL | re.VERBOSE,
)


def blank(text, literals=True):
    """C++ text with comments, and string and character literals if asked, made blank; lines keep their numbers."""

    def replace(match):
        token = match.group(0)
        if not literals and not token.startswith("/"):
            return token
        return re.sub(r"[^\n]", " ", token)

    return _COMMENT_OR_LITERAL.sub(replace, text)


def includes(text):
    """(line, name, is_quoted) of each #include."""
    found = []
    for number, line in enumerate(blank(text, literals=False).splitlines(), 1):
        match = re.match(r'\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', line)
        if match:
            found.append((number, match.group(1) or match.group(2), match.group(1) is not None))
    return found


def opening_comment(text):
    """The // lines that a file starts with, joined."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("//"):
            break
        lines.append(line[2:].strip())
    return " ".join(lines)


@contextlib.contextmanager
def scratch_tree(files):
    """A Context over a temporary folder with these files (path -> text)."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for path, text in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")
        yield Context(root)


def expect(check, files, *places):
    """Self-tests: `check` finds exactly one violation at each of `places` ("path:line"), no other."""
    with scratch_tree(files) as context:
        found = [f"{f.path}:{f.line}" for f in check(context)]
        assert sorted(found) == sorted(places), f"expected {sorted(places)}, found {sorted(found)}"
