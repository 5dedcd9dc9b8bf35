"""Each header compiles alone, and twice in one file, with both compilers: whoever includes it needs no other header
first, and no order."""

import concurrent.futures
import os
import shutil
import subprocess

from common import Finding, scratch_tree

NAME = "headers"
DOES = "each header compiles alone, with gcc and with clang"

FLAGS = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Isrc", "-Iinclude", "-Itests", "-x", "c++", "-"]


def compile_alone(context, compiler, path):
    """None, or the first error."""
    name = path.split("/", 1)[1] if path.startswith(("src/", "include/", "tests/")) else f"./{path}"
    result = subprocess.run(
        [compiler, *FLAGS], input=f'#include "{name}"\n#include "{name}"\n', cwd=context.root, text=True, capture_output=True
    )
    if result.returncode == 0:
        return None
    errors = [line for line in result.stderr.splitlines() if "error:" in line] or result.stderr.splitlines()[:1]
    return Finding(path, 0, f"{compiler}: {errors[0].strip() if errors else 'failed'}")


def check(context):
    missing = [c for c in ("g++", "clang++") if shutil.which(c) is None]
    if missing:
        return [Finding("tools/lint/headers.py", 0, f"{' and '.join(missing)} not found")]
    jobs = [(c, h) for h in context.code() if h.endswith(".h") for c in ("g++", "clang++")]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda job: compile_alone(context, *job), jobs)
    return [finding for finding in results if finding]


def self_test():
    with scratch_tree({"src/a/good.h": "#pragma once\n#include <vector>\nstruct A { std::vector<int> v; };\n"}) as context:
        assert not check(context)
    for bad in ("#pragma once\nstruct A { std::vector<int> v; };\n", "struct A {};\n"):
        with scratch_tree({"src/a/bad.h": bad}) as context:
            assert [f.path for f in check(context)] == ["src/a/bad.h"] * 2
