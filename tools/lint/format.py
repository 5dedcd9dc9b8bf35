"""Every C++ file is as clang-format leaves it, so that no diff and no review is about white space."""

import re
import subprocess

from common import Finding, scratch_tree

NAME = "format"
DOES = "clang-format would change nothing (clang-format -i FILE repairs it)"


def check(context):
    files = context.code()
    if not files:
        return []
    result = subprocess.run(["clang-format", "--dry-run", *files], cwd=context.root, text=True, capture_output=True)
    first_lines = {}
    for path, line in re.findall(r"^(\S+?):(\d+):\d+: \w+: code should be clang-formatted", result.stderr, re.MULTILINE):
        first_lines.setdefault(path, int(line))
    if result.returncode != 0 and not first_lines:
        return [Finding(".clang-format", 0, result.stderr.strip())]
    return [Finding(path, line, "differs from clang-format, here first") for path, line in first_lines.items()]


def self_test():
    style = {".clang-format": "BasedOnStyle: Google\n"}
    with scratch_tree(style | {"src/a.cc": "int a = 1;\n"}) as context:
        assert not check(context)
    with scratch_tree(style | {"src/a.cc": "int  a=1;\n"}) as context:
        assert {f.path for f in check(context)} == {"src/a.cc"}
