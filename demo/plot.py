#!/usr/bin/python3
"""Draws the latency of each class of request as a share of requests above a latency, one curve per report.

usage: plot.py PICTURE.png REPORT.json...   (reports as `rain load --out` and `rain compare --out` write them)
"""

import json
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  the backend must be chosen first

COLOURS = {"rain": "#0b6e99", "random": "#c0392b", "rain-paper": "#8e6bbf"}


def curve(points):
    """Steps of the complementary distribution, without its end at zero, which a logarithmic axis cannot show."""
    shown = [(latency, above) for latency, above in points if above > 0]
    return [point[0] for point in shown], [point[1] for point in shown]


def draw_class(axes, name, index, reports):
    for report in reports:
        scheduler = report["scheduler"]
        one = report["classes"][index]
        latencies, above = curve(one["latency_distribution_us"])
        p99 = one["latency_us"]["p99"]
        label = scheduler if p99 is None else f"{scheduler}: p99 {p99:,.0f} us"
        axes.step(latencies, above, where="post", label=label, color=COLOURS.get(scheduler))
    axes.axhline(0.01, color="#999999", linewidth=0.6, linestyle="--")
    axes.annotate("p99", (0.995, 0.0105), xycoords=("axes fraction", "data"), ha="right", va="bottom", color="#777777")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_title(name)
    axes.set_xlabel("latency from the intended send time, us")
    axes.grid(True, which="major", linewidth=0.3)
    axes.legend()


def main(arguments):
    if len(arguments) < 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    reports = []
    for path in arguments[1:]:
        with open(path, encoding="utf-8") as stream:
            reports.append(json.load(stream))
    names = [one["name"] for one in reports[0]["classes"]]
    figure, all_axes = plt.subplots(1, len(names), figsize=(5.5 * len(names), 4.2), squeeze=False)
    for index, name in enumerate(names):
        draw_class(all_axes[0][index], name, index, reports)
    all_axes[0][0].set_ylabel("share of requests above")
    figure.suptitle(f"{reports[0]['workers']} workers, {reports[0]['offered_rps']:,.0f} requests/s, the same load")
    figure.tight_layout()
    figure.savefig(arguments[0], dpi=130)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
