"""No file names a folder of the machine that it was written on: such a path works nowhere else."""

import re

from common import Finding, expect

NAME = "paths"
DOES = "no absolute path of somebody's machine in any file"

# In brackets so that this file does not find itself.
MACHINE_PATH = re.compile(r"(?<![\w.$}/-])/(?:[h]ome/\w|[r]oot/|[w]ork/|[U]sers/\w|[m]nt/\w)")


def check(context):
    findings = []
    for path in context.files():
        try:
            text = context.read(path)
        except UnicodeDecodeError:
            continue  # a picture
        for number, line in enumerate(text.splitlines(), 1):
            match = MACHINE_PATH.search(line)
            if match:
                findings.append(Finding(path, number, f"`{match.group(0)}`: a path of one machine"))
    return findings


def self_test():
    clean = {"docs/a.md": "see src/work/x and $HOME/work/ and at/home/x\n", "dev": "cd ./root/x\n"}
    expect(check, clean)
    for path in ("/" + "home/me/x", "/" + "root/x", "/" + "work/x"):
        expect(check, clean | {"src/a.cc": f'\nauto f = "{path}";\n'}, "src/a.cc:2")
