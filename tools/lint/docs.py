"""What the documents show exists: examples are the compiled files verbatim, and verbs, subcommands, flags, links and
paths are real. In Markdown, the comment <!-- file: PATH --> before a fenced block says that the block is that file."""

import glob
import re

from common import Finding, expect

NAME = "docs"
DOES = "examples in documents are the files themselves; verbs, commands, flags, links and paths exist"

FENCE = re.compile(r"^\s*(```|~~~)")
SHOWN_FILE = re.compile(r"^\s*<!-- file: (\S+) -->\s*$")
# Flags of other programs that documents may show.
FOREIGN_FLAGS = {
    "--preset", "--build", "--target", "--prefix", "--install", "--cflags", "--libs", "--recursive", "--help", "--version",
    "--static", "--cap-add", "--privileged",
}


def code_parts(text):
    """(line, code) of every fenced or indented line and every inline code span."""
    parts, fenced = [], False
    for number, line in enumerate(text.splitlines(), 1):
        if FENCE.match(line):
            fenced = not fenced
        elif fenced or line.startswith("    "):
            parts.append((number, line))
        else:
            parts += [(number, span) for span in re.findall(r"`([^`]+)`", line)]
    return parts


def prose(text):
    """(line, text) of what is not code."""
    parts, fenced = [], False
    for number, line in enumerate(text.splitlines(), 1):
        if FENCE.match(line):
            fenced = not fenced
        elif not fenced and not line.startswith("    "):
            parts.append((number, re.sub(r"`[^`]+`", "", line)))
    return parts


def shown_files(context, path, text):
    """Blocks announced by <!-- file: ... --> against the file."""
    findings, lines, index = [], text.splitlines(), 0
    while index < len(lines):
        match = SHOWN_FILE.match(lines[index])
        if not match:
            index += 1
            continue
        start, name = index + 1, match.group(1)
        if start >= len(lines) or not FENCE.match(lines[start]):
            findings.append(Finding(path, start, f"no fenced block follows the announcement of {name}"))
            index += 1
            continue
        end = start + 1
        while end < len(lines) and not FENCE.match(lines[end]):
            end += 1
        if not (context.root / name).is_file():
            findings.append(Finding(path, start, f"{name} does not exist"))
        elif lines[start + 1 : end] != context.read(name).splitlines():
            findings.append(Finding(path, start, f"the block differs from {name}"))
        index = end + 1
    return findings


def verbs_of_dev(context):
    if not (context.root / "dev").is_file():
        return set()
    return set(re.findall(r"^verb_(\w+)\(\)", context.read("dev"), re.MULTILINE)) | {"help", "figures", "VERB"}


def names_of_tools(context):
    """(commands of `rain`, all flags) as the sources spell them: Run declare_NAME(CLI::App&); "--flag", or for flags that
    are keys of rack files "flag" with underscores."""
    folders = ("src", "demo", "bench", "tools", "tests")
    text = "\n".join(context.read(f) for f in context.files(folders, (".cc", ".h", ".py", "run")))
    if (context.root / "dev").is_file():
        text += context.read("dev")
    commands = set(re.findall(r"\bRun declare_(\w+)\(CLI::App", text))
    keys = {"--" + key.replace("_", "-") for key in re.findall(r'"([a-z][a-z_]*)"', text)}
    return commands, set(re.findall(r"--[a-z][a-z-]*", text)) | keys


def scheduler_table(context):
    """README's table of schedulers lists exactly the programs that there are."""
    programs = "src/dataplane/programs.h"
    if not (context.root / programs).is_file() or not (context.root / "README.md").is_file():
        return []
    real = set(re.findall(r'^ *X\(k\w+, "([\w-]+)"', context.read(programs), re.MULTILINE))
    section = re.search(r"^## Schedulers$(.*?)(?=^## |\Z)", context.read("README.md"), re.MULTILINE | re.DOTALL)
    shown = set(re.findall(r"^\| `([\w-]+)`", section.group(1), re.MULTILINE)) if section else set()
    return [Finding("README.md", 0, f"table of schedulers: `{name}` is {'missing' if name in real else 'no program'}") for name in sorted(real ^ shown)]


def is_path_of_tree(word):
    return re.fullmatch(r"(?:src|include|tests|bench|examples|tools|docs|demo|cmake|\.ci)/[\w./*-]*", word) is not None


def check(context):
    findings = scheduler_table(context)
    verbs = verbs_of_dev(context)
    commands, flags = names_of_tools(context)
    for path in context.files(suffixes=".md"):
        text = context.read(path)
        findings += shown_files(context, path, text)
        folder = (context.root / path).parent
        for number, line in prose(text):
            for target in re.findall(r"\]\(([^)#\s]+)", line):
                if "://" not in target and not (folder / target).exists():
                    findings.append(Finding(path, number, f"link to {target}, which does not exist"))
        for number, code in code_parts(text):
            for verb in re.findall(r"(?:^|\s)\./dev ([a-z]+)", code):
                if verb not in verbs:
                    findings.append(Finding(path, number, f"./dev has no verb {verb}"))
            for command in re.findall(r"(?:^|\$ |bin/|sudo )rain ([a-z][a-z-]+)", code):
                if command not in commands:
                    findings.append(Finding(path, number, f"rain has no command {command}"))
            for flag in re.findall(r"(?<![\w-])--[a-z][a-z-]*", code):
                if flag not in flags and flag not in FOREIGN_FLAGS:
                    findings.append(Finding(path, number, f"no program knows {flag}"))
            for word in code.split():
                if is_path_of_tree(word) and not glob.glob(str(context.root / word)):
                    findings.append(Finding(path, number, f"{word} does not exist"))
    return findings


def self_test():
    tree = {
        "dev": "verb_test() {\n",
        "src/tools/main.cc": 'Run declare_load(CLI::App& app); app.add_option("--rate"); key("queue_size");\n',
        "examples/a.cc": "int main() {}\n",
        "README.md": "`./dev test`, `rain load --rate 3 --queue-size 4`, `src/tools`, [a](examples/a.cc), the rain falls\n"
        "<!-- file: examples/a.cc -->\n```cpp\nint main() {}\n```\n",
    }
    expect(check, tree)
    expect(check, tree | {"b.md": "```\n[](auto x)\n```\n"})
    for line in ("`./dev tset`", "    ./dev tset", "`rain laod`", "`rain load --rat`", "`src/tool`", "[a](examples/b.cc)"):
        expect(check, tree | {"docs/b.md": f"\n{line.replace('(', '(../')}\n"}, "docs/b.md:2")
    expect(check, tree | {"b.md": "<!-- file: examples/a.cc -->\n```\nint main() { }\n```\n"}, "b.md:1")
    expect(check, tree | {"b.md": "<!-- file: examples/a.cc -->\n\n"}, "b.md:1")
    schedulers = {"src/dataplane/programs.h": '  X(kRain, "rain", 1)\n  X(kJsq, "jsq", 1)\n'}
    expect(check, tree | schedulers | {"README.md": "## Schedulers\n| `rain` | x |\n| `jsq` | x |\n## Next\n| `x` |\n"})
    expect(check, tree | schedulers | {"README.md": "## Schedulers\n| `rain` | x |\n| `jqs` | x |\n"}, "README.md:0", "README.md:0")
    expect(check, tree | {"b.md": "```\n./dev nothing\n```\n"}, "b.md:2")
