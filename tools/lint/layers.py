"""Folders are layers: includes and links point only up the table of ARCHITECTURE.md, which is the one list of them."""

import pathlib
import re

from common import Finding, expect, includes

NAME = "layers"
DOES = "includes and CMake links point only to layers above in the table of ARCHITECTURE.md"

TABLE_ROW = re.compile(r"^\|((?:\s*`(?:src|include)/\w+`,?)+)\s*\|")


def read_layers(context):
    """folder -> row number. Folders of one row are peers and know nothing of each other."""
    ranks = {}
    for row, line in enumerate(context.read("ARCHITECTURE.md").splitlines()):
        match = TABLE_ROW.match(line)
        if match:
            for folder in re.findall(r"`([^`]+)`", match.group(1)):
                ranks[folder] = row
    return ranks


def folder_of_include(name, ranks):
    """The layer that "base/time.h" or "rain/client.h" belongs to; None: none of ours."""
    first = name.split("/")[0]
    if "/" not in name:
        return None
    if first == "rain":
        return "include/rain"
    return f"src/{first}" if f"src/{first}" in ranks else None


def homes_of(context, folders):
    """Target -> folder, for targets that are not named for theirs: a part of a layer that is linked without the rest."""
    homes = {}
    for folder in folders:
        path = f"{folder}/CMakeLists.txt"
        if (context.root / path).is_file():
            for name in re.findall(r"\brain_layer\((\w+)", context.read(path)):
                homes[name] = folder
    return homes


def links_of(context, folder, homes):
    """(line, folder) for every rain::NAME in the layer's CMakeLists.txt."""
    path = f"{folder}/CMakeLists.txt"
    found = []
    if (context.root / path).is_file():
        for number, line in enumerate(context.read(path).splitlines(), 1):
            for name in re.findall(r"\brain::(\w+)", line.split("#")[0]):
                home = homes.get(name, f"src/{name}")
                if home != folder:
                    found.append((number, home))
    return found


def reachable(folder, links):
    """All layers that `folder` links, directly or not."""
    seen, open_ends = set(), [folder]
    while open_ends:
        for target in links.get(open_ends.pop(), ()):
            if target not in seen:
                seen.add(target)
                open_ends.append(target)
    return seen


def check(context):
    ranks = read_layers(context)
    findings = []
    if not ranks:
        return [Finding("ARCHITECTURE.md", 0, "no table of layers")]

    on_disk = {f"src/{p.name}" for p in (context.root / "src").iterdir() if p.is_dir()}
    for folder in sorted(on_disk - set(ranks)):
        findings.append(Finding(folder, 0, "a layer that the table of ARCHITECTURE.md lacks"))
    for folder in sorted(set(ranks) - on_disk - {"include/rain"}):
        findings.append(Finding("ARCHITECTURE.md", 0, f"{folder} is in the table, but not in the tree"))

    links = {}
    homes = homes_of(context, sorted(on_disk))
    for folder in sorted(on_disk & set(ranks)):
        links[folder] = set()
        for line, target in links_of(context, folder, homes):
            links[folder].add(target)
            if ranks.get(target, len(ranks) + 10**6) >= ranks[folder]:
                findings.append(Finding(f"{folder}/CMakeLists.txt", line, f"{folder} must not link {target}: it is not above it"))

    for path in context.code(("include", "src")):
        folder = str(pathlib.PurePosixPath(*pathlib.PurePosixPath(path).parts[:2]))
        if folder not in ranks:
            continue
        for line, name, quoted in includes(context.read(path)):
            target = folder_of_include(name, ranks)
            if target is None:
                if quoted:
                    findings.append(Finding(path, line, f'"{name}" is no path below src/ or include/ (packages go in <>)'))
            elif target != folder and ranks.get(target, 10**6) >= ranks[folder]:
                findings.append(Finding(path, line, f"{folder} must not include {target}: it is not above it"))
            elif target not in (folder, "include/rain") and folder in links and target not in reachable(folder, links):
                findings.append(Finding(path, line, f"{folder} includes {target}, but its CMakeLists.txt does not link it"))
    return findings


def self_test():
    tree = {
        "ARCHITECTURE.md": "| folder |\n|---|\n| `src/base` | x |\n| `include/rain` | x |\n| `src/client`, `src/worker` | x |\n",
        "include/rain/c.h": '#include "base/a.h"\n',
        "src/base/CMakeLists.txt": "rain_layer(base)\n",
        "src/base/a.h": "#include <vector>\n",
        "src/client/CMakeLists.txt": "rain_layer(client DEPENDS rain::base)\n",
        "src/client/b.h": '#include "base/a.h"\n#include "rain/c.h"\n#include "client/b2.h"\n',
        "src/worker/CMakeLists.txt": "rain_layer(worker DEPENDS rain::base)\n",
    }
    expect(check, tree)
    expect(check, tree | {"src/base/a.h": '// "client/x.h"\n#include "client/b.h"\n'}, "src/base/a.h:2")
    expect(check, tree | {"src/worker/d.h": '#include "client/b.h"\n'}, "src/worker/d.h:1")
    expect(check, tree | {"src/base/a.h": "#include <rain/c.h>\n"}, "src/base/a.h:1")
    expect(check, tree | {"src/base/CMakeLists.txt": "rain_layer(base\n  DEPENDS rain::client)\n"}, "src/base/CMakeLists.txt:2")
    expect(check, tree | {"src/client/CMakeLists.txt": "rain_layer(client)\n"}, "src/client/b.h:1")
    expect(check, tree | {"src/base/a.h": '#include "b.h"\n'}, "src/base/a.h:1")
    expect(check, tree | {"src/new/a.h": ""}, "src/new:0")
