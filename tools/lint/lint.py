"""Runs the checks of this folder, each after its own self-test. Exit status 0: nothing found; 1: findings; 2: usage."""

import argparse
import importlib
import pathlib
import sys
import time

from common import Context

# Cheap ones first. All but the last three need nothing but Python and are tests of the suite too.
MODULES = ("paths", "layers", "bans", "freestanding", "docs", "format", "headers", "tidy")

SLOW = ("headers", "tidy")


def run(module, context):
    """Number of findings; a self-test that fails is one."""
    started = time.monotonic()
    if module.NAME in SLOW:
        print(f"{module.NAME}: compiles; minutes", flush=True)
    try:
        module.self_test()
    except AssertionError as error:
        print(f"{module.NAME}: its self-test fails: {error}")
        return 1
    findings = module.check(context)
    for finding in findings:
        print(f"{finding}  [{module.NAME}]")
    print(f"{module.NAME}: {len(findings) or 'nothing'} found, {time.monotonic() - started:.1f} s", flush=True)
    return len(findings)


def main():
    modules = {name: importlib.import_module(name) for name in MODULES}
    parser = argparse.ArgumentParser(prog="./dev lint", description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="clang-tidy on every file, not only on those that differ from main")
    parser.add_argument("--list", action="store_true", help="name the checks")
    parser.add_argument("--build", type=pathlib.Path, help="build folder with compile_commands.json")
    parser.add_argument("checks", nargs="*", metavar="CHECK", help=f"one of {', '.join(modules)}; none: all")
    options = parser.parse_args()
    if options.list:
        for module in modules.values():
            print(f"{module.NAME:13} {module.DOES}")
        return 0
    for name in options.checks:
        if name not in modules:
            parser.error(f"unknown check '{name}' ({', '.join(modules)})")

    root = pathlib.Path(__file__).resolve().parents[2]
    context = Context(root, options.build and options.build.resolve(), options.all)
    found = sum(run(modules[name], context) for name in options.checks or modules)
    print(f"lint: {found} found" if found else "lint: clean")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
