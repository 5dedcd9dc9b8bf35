"""The data plane must also run where there is no standard library. A header says "Freestanding" in its opening comment;
it may then include only freestanding standard headers and headers that say so too, and use nothing that needs a run time.
In src/dataplane every header is freestanding unless its opening comment says "Hosted" and it is listed here."""

import re

from common import Finding, blank, expect, includes, opening_comment

NAME = "freestanding"
DOES = "the data plane and what it includes need no hosted header, allocation, exception or floating point"

# What clang and gcc offer without a hosted library (tried with -ffreestanding -fno-exceptions -fno-rtti).
STANDARD = {
    "array", "bit", "climits", "compare", "concepts", "cstddef", "cstdint", "initializer_list", "limits", "optional",
    "span", "type_traits", "utility", "version", "stddef.h", "stdint.h",
}
# Headers of src/dataplane for the tools around the programs. Nothing freestanding may include them.
HOSTED = ("src/dataplane/programs.h",)

FORBIDDEN = re.compile(r"\b(?:float|double|throw|try|new|delete(?!\s*[;,)])|malloc|dynamic_cast|typeid|thread_local|virtual)\b")


def is_freestanding(text):
    return re.search(r"\b[Ff]reestanding\b", opening_comment(text)) is not None


def path_of_include(context, name):
    for folder in ("src", "include"):
        if (context.root / folder / name).is_file():
            return f"{folder}/{name}"
    return None


def check(context):
    findings = []
    for path in context.files(("src", "include"), ".h"):
        text = context.read(path)
        if not is_freestanding(text):
            if path.startswith("src/dataplane/") and path not in HOSTED:
                findings.append(Finding(path, 1, 'the opening comment must say "Freestanding" (or be listed in tools/lint/freestanding.py)'))
            continue
        for line, name, _ in includes(text):
            own = path_of_include(context, name)
            if own is None and name not in STANDARD:
                findings.append(Finding(path, line, f"freestanding, but includes the hosted <{name}>"))
            elif own is not None and not is_freestanding(context.read(own)):
                findings.append(Finding(path, line, f'freestanding, but includes {own}, which is not'))
        if path.startswith("src/dataplane/"):
            for number, line in enumerate(blank(text).splitlines(), 1):
                match = FORBIDDEN.search(line)
                if match:
                    findings.append(Finding(path, number, f"`{match.group(0)}` in the data plane"))
    return findings


def self_test():
    clean = {
        "src/base/time.h": "// Time. Freestanding.\n#include <cstdint>\n",
        "src/base/text.h": "// Text.\n#include <string>\n",
        "src/dataplane/a.h": '// Program. Freestanding.\n#include <span>\n#include "base/time.h"\nint a; // new\nA(const A&) = delete;\n',
    }
    expect(check, clean)
    start = "// X. Freestanding.\n"
    expect(check, clean | {"src/dataplane/b.h": start + "#include <vector>\n"}, "src/dataplane/b.h:2")
    expect(check, clean | {"src/dataplane/b.h": start + '#include "base/text.h"\n'}, "src/dataplane/b.h:2")
    expect(check, clean | {"src/dataplane/b.h": start + "double d;\n"}, "src/dataplane/b.h:2")
    expect(check, clean | {"src/dataplane/b.h": start + "int* p = new int;\n"}, "src/dataplane/b.h:2")
    expect(check, clean | {"src/dataplane/b.h": "// X.\n"}, "src/dataplane/b.h:1")
    expect(check, clean | {"src/base/time.h": "// Time. Freestanding.\n#include <chrono>\n"}, "src/base/time.h:2")
