"""clang-tidy with the checks of .clang-tidy, on the files that differ from main (--all: on every file). Headers are seen
through the sources that include them."""

import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys

from common import Finding, includes, scratch_tree

NAME = "tidy"
DOES = "clang-tidy finds nothing in the files that differ from main (--all: in any file)"


def git(context, *arguments):
    result = subprocess.run(["git", *arguments], cwd=context.root, text=True, capture_output=True)
    return result.stdout.split() if result.returncode == 0 else None


def changed_files(context):
    """Files that differ from where this branch left main, uncommitted and new ones included; None: cannot tell."""
    for main in ("origin/main", "main"):
        base = git(context, "merge-base", "HEAD", main)
        if base and base != git(context, "rev-parse", "HEAD"):
            break
    else:
        base = ["HEAD"]
    committed = git(context, "diff", "--name-only", base[0])
    new = git(context, "ls-files", "--others", "--exclude-standard")
    return None if committed is None or new is None else set(committed) | set(new)


def sources_that_see(context, changed, sources):
    """The changed sources, and for each changed header one source that includes it: its own first of all."""
    chosen = {s for s in sources if s in changed}
    for header in sorted(f for f in changed if f.endswith(".h")):
        name = header.split("/", 1)[1]
        users = [s for s in sources if any(i == name for _, i, _ in includes(context.read(s)))]
        own = header[:-2] + ".cc"
        if users and not chosen & set(users):
            chosen.add(own if own in users else users[0])
    return sorted(chosen)


def run_tidy(context, source):
    command = ["clang-tidy", "--quiet", "-p", str(context.build), str(context.root / source)]
    result = subprocess.run(command, cwd=context.root, text=True, capture_output=True)
    findings = []
    pattern = r"^(\S+?):(\d+):\d+: (?:warning|error): (.*)$"
    for path, line, message in re.findall(pattern, result.stdout, re.MULTILINE):
        findings.append(Finding(os.path.relpath(path, context.root), int(line), message))
    if result.returncode != 0 and not findings:
        findings.append(Finding(source, 0, (result.stdout + result.stderr).strip()))
    return findings


def check(context):
    database = context.build and context.build / "compile_commands.json"
    if database is None or not database.is_file():
        return [Finding("tools/lint/tidy.py", 0, "no compile_commands.json: run it as ./dev lint")]
    compiled = {os.path.relpath(entry["file"], context.root) for entry in json.loads(database.read_text())}
    sources = sorted(f for f in context.code() if f in compiled)
    if not context.all_files:
        changed = changed_files(context)
        if changed is not None:
            sources = sources_that_see(context, {f for f in changed if (context.root / f).is_file()}, sources)
    findings = set()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for number, (source, found) in enumerate(zip(sources, pool.map(lambda s: run_tidy(context, s), sources)), 1):
            print(f"  [{number}/{len(sources)}] {source}", file=sys.stderr, flush=True)
            findings.update(found)
    return sorted(findings, key=lambda f: (f.path, f.line, f.message))


def self_test():
    if shutil.which("clang-tidy") is None:
        raise AssertionError("clang-tidy not found")
    config = "Checks: '-*,bugprone-suspicious-semicolon'\nWarningsAsErrors: '*'\n"
    for text, places in (("int f(int a) {\n  if (a) return 1;\n  return 0;\n}\n", []), ("int f(int a) {\n  if (a);\n    a = 2;\n  return a;\n}\n", [2])):
        with scratch_tree({".clang-tidy": config, "src/a.cc": text}) as context:
            entry = {"directory": str(context.root), "file": str(context.root / "src/a.cc"), "command": "clang++ -c src/a.cc"}
            (context.root / "compile_commands.json").write_text(json.dumps([entry]))
            found = check(type(context)(context.root, context.root, True))
            assert [f.line for f in found] == places, found
