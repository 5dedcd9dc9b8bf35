"""Clocks and randomness only at the rims: what decides gets `now` and its random numbers from its caller, so that a
simulation and a test can replay it. Sources, tests and benchmarks alike."""

import re

from common import Finding, blank, expect, includes

NAME = "bans"
DOES = "clocks are read and randomness is made only in the named rims"

# The only readers of the host's clock, and the only generator.
CLOCK_FILES = (
    "src/base/clock.h",
    "src/base/clock.cc",
    "src/transport/udp.cc",  # the kernel stamps packets with its real-time clock
)
RANDOM_FILES = ("src/base/prng.h",)

# Who may include base/clock.h: the run loops, and the programs around them. Nothing that decides.
CLOCK_RIMS = (
    "src/base/stop_signals",  # sleeps in the kernel
    "src/transport/udp",  # sleeps in the kernel
    "src/transport/wake_event",  # sleeps in the kernel
    "src/softswitch/",
    "src/client/",
    "src/worker/",
    "src/apps/",
    "src/control/rpc/",  # its registry decides, and is told the time
    "src/tools/",
    "bench/",
    "tests/",
    "examples/",
)

CLOCKS = re.compile(
    r"\b(?:(?:system|steady|high_resolution|utc|file)_clock"
    r"|clock_gettime|gettimeofday|timespec_get"
    r"|(?:__builtin_ia32_|__|_)?rdtscp?"
    r"|(?:std::)?time(?=\s*\(\s*(?:NULL|nullptr|0|&\s*\w+)\s*\))"
    r"|std::time(?=\s*\()"
    r"|std::clock(?=\s*\())\b"  # plain clock() is what callers name the `now` that they pass
)
RANDOMNESS = re.compile(
    r"\b(?:std::random_device|random_device|s?rand(?=\s*\()|rand_r|[delmnj]rand48|srandom|random_r|getrandom|getentropy"
    r"|arc4random\w*|mt19937(?:_64)?|minstd_rand0?|default_random_engine|ranlux\w+|knuth_b|mersenne_twister_engine"
    r"|linear_congruential_engine|std::shuffle|std::sample|random_shuffle|std::\w+_distribution)\b"
)
HEADERS = {"random": RANDOM_FILES, "ctime": CLOCK_FILES, "time.h": CLOCK_FILES, "sys/time.h": CLOCK_FILES}


def check(context):
    findings = []
    for path in context.code():
        text = context.read(path)
        code = blank(text)
        for pattern, allowed, advice in (
            (CLOCKS, CLOCK_FILES, "reads a clock; take `now` from the caller (rims: base/clock.h)"),
            (RANDOMNESS, RANDOM_FILES, "makes randomness; take a base/prng.h generator from the caller"),
        ):
            if path in allowed:
                continue
            for number, line in enumerate(code.splitlines(), 1):
                match = pattern.search(line)
                if match:
                    findings.append(Finding(path, number, f"`{match.group(0)}` {advice}"))
        for number, name, _ in includes(text):
            if name == "base/clock.h" and path not in CLOCK_FILES and not path.startswith(CLOCK_RIMS):
                findings.append(Finding(path, number, "not a rim: must not include base/clock.h (the list is in tools/lint/bans.py)"))
            if name in HEADERS and path not in HEADERS[name]:
                findings.append(Finding(path, number, f"<{name}> is only for {', '.join(HEADERS[name])}"))
    return findings


def self_test():
    clean = {
        "src/base/clock.cc": "#include <ctime>\nlong f() { return clock_gettime(0, 0); }\n",
        "src/base/prng.h": "#include <random>\n",
        "src/rpc/a.h": '// std::chrono::steady_clock\nconst char* s = "rand()"; int operand(int); int a = operand(1);\n'
        "int time_of(int); int b = x.time(now); char c = '\"'; int random_worker(); int times = 3;\n",
        "src/client/a.cc": '#include "base/clock.h"\n',
    }
    expect(check, clean)
    for line in (
        "auto t = std::chrono::steady_clock::now();",
        "auto t = clock_gettime(CLOCK_MONOTONIC, &x);",
        "auto t = time(nullptr);",
        "auto t = std::time(&x);",
        "auto t = __rdtsc();",
        "auto t = std::clock();",
        "#include <random>",
        "#include <ctime>",
        "std::random_device d;",
        "int r = rand();",
        "std::mt19937_64 g;",
        "std::uniform_int_distribution<int> d;",
        '#include "base/clock.h"',
    ):
        expect(check, clean | {"src/rpc/b.h": f"\n{line}\n"}, "src/rpc/b.h:2")
