#!/usr/bin/python3
"""Draws what `rain sweep` and `rain figures` have run, and holds the figures against what the paper says.

usage: plot.py FOLDER sweep                          sweep.csv -> sweep.png
       plot.py FOLDER --requests=N FIGURE...         FIGURE.csv -> FIGURE.png; index.html, claims.csv, a table

figures.toml lies beside this file and says what is drawn. A verdict is computed from the data, never written by hand:
"reproduced" within TOLERANCE of the paper's number, else by how much ours differs, with the likely reason.
"""

import csv
import html
import os
import sys
import tomllib

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  the backend must be chosen first

TOLERANCE = 0.15
COLOURS = {"rain": "#0b6e99", "rain-paper": "#8e6bbf", "r2p2": "#c0392b", "racksched": "#2e8b57", "draconis": "#d68910",
           "pallas": "#7f8c8d", "ideal": "#222222"}
DASHES = {"JBSQ(2)": "--", "depth 1": "-", "depth 2": "--", "depth 3": "-.", "depth 4": ":", "depth 8": ":"}

# ---- data ---------------------------------------------------------------------------------------------------------


def number(text):
    return float(text) if text else None


class Curve:
    """What was measured at each load, in rising order."""

    def __init__(self, rows):
        self.rows = sorted(rows, key=lambda row: row["load_krps"])

    def loads(self):
        return [row["load_krps"] for row in self.rows]

    def values(self, metric):
        return [row[metric] for row in self.rows]

    def at(self, load, metric="p99_us"):
        row = min(self.rows, key=lambda row: abs(row["load_krps"] - load))
        return row[metric]

    def most(self, up_to, metric="p99_us"):
        return max(row[metric] for row in self.rows if row["load_krps"] <= up_to + 1e-6)

    def sustained(self, limit, metric="p99_us"):
        """The load up to which the metric stays at or below the limit, and whether the curve ends before it does not."""
        below = None
        for row in self.rows:
            value = row[metric]
            if value is None or value > limit or row["overloaded"]:
                if below is None:
                    return row["load_krps"], False
                if value is None or row["overloaded"]:
                    return below["load_krps"], False
                part = (limit - below[metric]) / (value - below[metric])
                return below["load_krps"] + part * (row["load_krps"] - below["load_krps"]), False
            below = row
        return below["load_krps"], True


def lower_envelope(curves, metrics):
    """At each load the row of the curve that has the lowest value of the first metric and is not overloaded."""
    rows = []
    for same_load in zip(*(curve.rows for curve in curves)):
        rows.append(min(same_load, key=lambda row: (row["overloaded"], row[metrics[0]] is None, row[metrics[0]] or 0)))
    return Curve(rows)


class Figure:
    def __init__(self, folder, name, spec):
        self.name, self.spec, self.panels = name, spec, {}
        with open(os.path.join(folder, name + ".csv"), encoding="utf-8") as stream:
            for line in csv.DictReader(stream):
                row = {key: number(text) for key, text in line.items() if key not in ("panel", "curve")}
                row["overloaded"] = row["overloaded"] == 1
                # Too few requests to state a p99, as in a very quick run: the next quantile that can be stated stands in.
                for key in [key for key in row if "p99" in key and "p99" == key.split("_us")[0].split("_")[-1]]:
                    for lower in ("p90", "p50"):
                        if row[key] is None:
                            row[key] = row[key.replace("p99", lower)]
                self.panels.setdefault(line["panel"], {}).setdefault(line["curve"], []).append(row)
        for curves in self.panels.values():
            for curve in curves:
                curves[curve] = Curve(curves[curve])
        for curves in self.panels.values():
            for name_of, members in self.groups("envelope").items():
                curves[name_of] = lower_envelope([curves[one] for one in members], spec["plots"])
            for name_of, members in self.groups("best_of").items():
                curves[name_of] = curves[self.best(curves, members)]

    def groups(self, key):
        groups = {}
        for curve in self.spec["curve"]:
            if key in curve:
                groups.setdefault(curve[key], []).append(curve["name"])
        return groups

    def best(self, curves, members):
        """The member that collapses last; of equals the one that is lowest, averaged over the loads that all bear."""
        metric = self.spec["plots"][0]
        fair = [i for i in range(len(curves[members[0]].rows)) if not any(curves[m].rows[i]["overloaded"] for m in members)]
        return min(members, key=lambda m: (sum(row["overloaded"] for row in curves[m].rows),
                                           sum(curves[m].rows[i][metric] for i in fair)))


# ---- pictures -----------------------------------------------------------------------------------------------------


def look(name):
    """Colour and line style of a curve, the same in all figures."""
    scheduler = next((s for s in sorted(COLOURS, key=len, reverse=True) if name.startswith(s)), None)
    style = {"color": COLOURS.get(scheduler), "linestyle": "-", "linewidth": 1.6}
    for words, dashes in DASHES.items():
        if words in name:
            style["linestyle"] = dashes
    if scheduler == "ideal":
        style.update(linestyle=":", linewidth=1.2)
    if "best fixed" in name:
        style["linewidth"] = 2.2
    if scheduler == "rain":
        style.update(linewidth=2.2, zorder=5)
    if name == "rain, one pool":
        style.update(linewidth=1.2, linestyle="--")
    return style


LABELS = {"p99_us": "p99 latency, us", "p9999_us": "p99.99 latency, us", "max_us": "maximum latency, us",
          "slowdown_p99": "p99 slowdown, all requests", "get_p99_us": "GET p99 latency, us",
          "scan_p99_us": "SCAN p99 latency, us", "depth": "mean depth of the workers", "queued_percent": "waited in the switch, %"}


def draw_curves(axes, figure, curves, metric, top):
    grouped = figure.groups("best_of")
    thin = {m for members in figure.groups("envelope").values() for m in members}
    hidden = {m for members in grouped.values() for m in members}
    for name, curve in curves.items():
        if name in hidden:
            continue
        style = look(name)
        label = name
        if name in grouped:
            label = figure.best(curves, grouped[name])
        if name in thin:
            style.update(linewidth=0.8, alpha=0.6)
        # An overloaded point is off the axis, whatever number a finite run gives it.
        points = [(row["load_krps"], 1e9 if row["overloaded"] else row[metric]) for row in curve.rows]
        points = [point for point in points if point[1] is not None]
        if not points:
            continue
        axes.plot(*zip(*points), label=label, marker="." if name not in thin else None, markersize=4, **style)
    axes.set_ylim(0, top)
    axes.set_xlabel("load, kRPS")
    axes.set_ylabel(LABELS.get(metric, metric))
    axes.grid(True, linewidth=0.3)


def draw(folder, figure):
    """A row for each panel and a column for each metric; one metric only: panels side by side."""
    spec = figure.spec
    plots, panels = spec["plots"], spec["panel"]
    wide = len(plots) == 1
    rows, columns = (1, len(panels)) if wide else (len(panels), len(plots))
    if figure.name == "ablation":
        return draw_ablation(folder, figure)
    picture, boxes = plt.subplots(rows, columns, figsize=(5.4 * columns, 4.2 * rows), squeeze=False)
    for p, panel in enumerate(panels):
        for m, metric in enumerate(plots):
            axes = boxes[0][p] if wide else boxes[p][m]
            draw_curves(axes, figure, figure.panels[panel["name"]], metric, panel["tops"][m])
            axes.set_title(panel["title"], fontsize=10)
    boxes[0][0].legend(fontsize=7)
    save(picture, folder, figure)
    return None


def draw_ablation(folder, figure):
    """A bar for each variant, in a box for each load, as a multiple of what `rain` comes to by default."""
    panels = figure.spec["panel"]
    names = [curve["name"] for curve in figure.spec["curve"]]
    picture, boxes = plt.subplots(1, len(panels), figsize=(4.6 * len(panels), 5), squeeze=False, sharey=True)
    for axes, panel in zip(boxes[0], panels):
        curves = figure.panels[panel["name"]]
        shades = [str(0.8 - 0.2 * i) for i in range(len(panel["loads"]))]
        for i, load in enumerate(panel["loads"]):
            base = curves[names[0]].rows[i]["p99_us"]
            heights = [min(curves[n].rows[i]["p99_us"] / base, 2) for n in names]
            places = [n + 0.2 * (i - 1.5) for n in range(len(names))]
            axes.barh(places, heights, height=0.18, color=shades[i], label=load)
        axes.axvline(1, color=COLOURS["rain"], linewidth=1)
        axes.set_yticks(range(len(names)), names, fontsize=8)
        axes.set_title(panel["title"], fontsize=10)
        axes.set_xlabel("p99 / p99 of rain as it comes (bars end at 2)")
        axes.set_xlim(0.6, 2)
        axes.grid(True, axis="x", linewidth=0.3)
        axes.legend(title="load", fontsize=7, loc="lower right")
    boxes[0][0].invert_yaxis()
    save(picture, folder, figure)


class OverTime:
    """Fig. 10: what the clients of a rack see from one interval to the next."""

    def __init__(self, folder, name, spec):
        self.name, self.spec, self.curves = name, spec, {}
        with open(os.path.join(folder, name + ".csv"), encoding="utf-8") as stream:
            for line in csv.DictReader(stream):
                row = {key: number(text) for key, text in line.items() if key != "curve"}
                self.curves.setdefault(line["curve"], []).append(row)


def draw_over_time(folder, figure):
    """p99, and under it depth and workers of the slice that has the load."""
    boxes_of = (("p99_us", "p99 latency, us", True), ("depth_0", "depth of the slice's workers", False),
                ("workers_0", "workers of the slice", False))
    picture, boxes = plt.subplots(3, 1, figsize=(9, 9), sharex=True, height_ratios=(2, 1, 1))
    for axes, (metric, label, steep) in zip(boxes, boxes_of):
        for n, (name, rows) in enumerate(figure.curves.items()):
            axes.plot([row["end_ms"] / 1000 for row in rows], [row[metric] for row in rows], label=name, linewidth=1.2,
                      color=f"C{n}")
        axes.set_ylabel(label)
        axes.grid(True, linewidth=0.3)
        if steep:
            axes.set_yscale("log")
            axes.legend(fontsize=7)
    boxes[-1].set_xlabel("time, s")
    save(picture, folder, figure)


def save(picture, folder, figure):
    picture.suptitle(figure.spec["title"])
    picture.tight_layout()
    picture.savefig(os.path.join(folder, figure.name + ".png"), dpi=110)
    plt.close(picture)


class ScanTimes:
    """Fig. 2: time of a SCAN by size of the items and number of keys."""

    name = "fig2"
    spec = {"title": "Fig. 2: time of a SCAN of RocksDB on this machine, us"}

    def __init__(self, folder):
        with open(os.path.join(folder, "fig2.csv"), encoding="utf-8") as stream:
            self.us = {(int(r["item_bytes"]), int(r["keys"])): float(r["scan_us"]) for r in csv.DictReader(stream)}
        self.sizes = sorted({size for size, _ in self.us})
        self.keys = sorted({keys for _, keys in self.us})


def draw_scan_times(folder, figure):
    picture, axes = plt.subplots(figsize=(5.4, 4.2))
    grid = [[figure.us[size, keys] for size in figure.sizes] for keys in figure.keys]
    image = axes.imshow(grid, origin="lower", aspect="auto", cmap="viridis")
    bright = 0.7 * max(max(row) for row in grid)
    for y, row in enumerate(grid):
        for x, value in enumerate(row):
            axes.text(x, y, f"{value:.0f}", ha="center", va="center", color="black" if value > bright else "white", fontsize=8)
    axes.set_xticks(range(len(figure.sizes)), figure.sizes)
    axes.set_yticks(range(len(figure.keys)), figure.keys)
    axes.set_xlabel("size of an item, bytes")
    axes.set_ylabel("keys of a SCAN")
    picture.colorbar(image)
    save(picture, folder, figure)


def draw_sweep(folder):
    curves = {}
    with open(os.path.join(folder, "sweep.csv"), encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            name = row["scheduler"] + (f", depth {row['depth']}" if row["depth"] else "")
            if row["p99_us"] and row["overloaded"] == "0":
                curves.setdefault(name, {}).setdefault(float(row["load_rps"]) / 1000, []).append(float(row["p99_us"]))
    picture, axes = plt.subplots(figsize=(7, 4.6))
    for name, by_load in curves.items():
        loads = sorted(by_load)
        middles = [sorted(by_load[load])[len(by_load[load]) // 2] for load in loads]
        style = look(name)
        axes.plot(loads, middles, label=name, marker=".", **style)
        axes.fill_between(loads, [min(by_load[x]) for x in loads], [max(by_load[x]) for x in loads],
                          color=style["color"], alpha=0.15)
    axes.set_xlabel("load, kRPS (overloaded points are left out)")
    axes.set_ylabel("p99 latency, us: median and range of the seeds")
    axes.set_ylim(bottom=0)
    axes.grid(True, linewidth=0.3)
    if curves:
        axes.legend(fontsize=8)
    picture.tight_layout()
    picture.savefig(os.path.join(folder, "sweep.png"), dpi=110)


# ---- claims -------------------------------------------------------------------------------------------------------


class Claims:
    """Rows (figure, claim, paper, ours, verdict)."""

    def __init__(self):
        self.rows = []

    def add(self, figure, claim, paper, ours, verdict):
        self.rows.append((figure, claim, paper, ours, verdict))

    def near(self, figure, claim, paper, ours, text, reason):
        """A number against the paper's."""
        off = ours / paper[0] - 1
        good = abs(off) <= TOLERANCE
        self.add(figure, claim, paper[1], text, "reproduced" if good else f"differs: {off * 100:+.0f} %; {reason}")

    def holds(self, figure, claim, paper, good, text, reason):
        """A statement that is true or not."""
        self.add(figure, claim, paper, text, "reproduced" if good else f"differs: {reason}")


def krps(value):
    load, at_least = value if isinstance(value, tuple) else (value, False)
    return f"{'at least ' if at_least else ''}{load:,.0f} kRPS"


def claims_fig1(claims, figure):
    one, two = (figure.panels["exponential"][f"rain-paper, depth {d}"] for d in (1, 2))
    limit = 150  # where the paper's axis ends
    falls, goes_on = one.sustained(limit), two.sustained(limit)
    claims.near("fig1", "exponential: depth 1 collapses (p99 above 150 us)", (2600, "near 2,600 kRPS"), falls[0], krps(falls),
                "the collapse lies at workers / (service + token round trip), and our round trip is 2 us")
    claims.holds("fig1", "exponential: depth 2 goes on where depth 1 collapses", "yes", goes_on[0] > 1.05 * falls[0],
                 f"to {krps(goes_on)}", "it does not")
    loss = 1 - falls[0] / goes_on[0]
    panel = figure.panels["bimodal"]
    one, two = (panel[f"rain-paper, depth {d}"].sustained(400) for d in (1, 2))
    small = 1 - one[0] / two[0]
    claims.holds("fig1", "bimodal: depth has little effect on the load sustained", "less pronounced", abs(small) < loss / 2,
                 f"depth 1 loses {small * 100:.1f} % of the load with p99 up to 400 us, {loss * 100:.1f} % when exponential",
                 "the loss is as large")


def claims_fig2(claims, figure):
    small, large = figure.sizes[0], figure.sizes[-1]
    few, many = figure.keys[0], figure.keys[-1]
    claims.near("fig2", "SCAN of 500 keys, 1,024-byte items (section 5.2.2)", (107, "107 us"), figure.us[large, few],
                f"{figure.us[large, few]:.0f} us", "another processor, another build of RocksDB, all from the page cache")
    by_keys = figure.us[large, many] / figure.us[large, few]
    by_size = figure.us[large, many] / figure.us[small, many]
    claims.holds("fig2", "time grows with the number of keys and with the size of an item", "200 to 600 us and above",
                 by_keys > 1.5 and by_size > 1.1,
                 f"x {by_keys:.1f} from {few} to {many} keys, x {by_size:.1f} from {small} to {large} bytes",
                 "one of the two hardly matters here")


def claims_fig6(claims, figure):
    constant = figure.panels["constant"]
    best = "rain-paper, best fixed depth"
    ideal = constant["ideal"].most(2800)
    for name, reason in (
            (best, f"`ideal`, which wastes nothing but 4 us of wire, has {ideal:.1f} us under Poisson arrivals; the paper's clients "
                   "seem to send more evenly"),
            ("rain", "up to 8 tasks wait centrally before a busy worker gets one; that pays by dispersion, and here is none")):
        value = constant[name].most(2800)
        claims.near("fig6", f"constant: p99 of {name} up to 2,800 kRPS", (15, "about 15 us"), value, f"{value:.1f} us", reason)
    for name, paper, reason in (
            ("r2p2", 30, "a lap of recirculation costs little in our switch"),
            ("draconis", 35, "one round trip of 2 us for each task, and another for a fifth of them, leave 32 workers 2,580 kRPS; the "
                             "paper's, whose depth 1 collapses near 2,600 kRPS in Fig. 1, holds 2,800 here: both cannot follow from "
                             "one round trip")):
        value, collapsed = constant[name].at(2600), constant[name].at(2600, "overloaded")
        text = (f"{'collapsed' if collapsed else f'{value:.1f} us'} ({constant[name].at(2000):.1f} us at 2,000, "
                f"{constant[name].at(2400):.1f} at 2,400; up to 100 us until {krps(constant[name].sustained(100))})")
        if collapsed:
            claims.holds("fig6", f"constant: p99 of {name} (at 2,600 kRPS)", f"about {paper} us", False, text, reason)
        else:
            claims.near("fig6", f"constant: p99 of {name} (at 2,600 kRPS)", (paper, f"about {paper} us"), value, text, reason)
    off = max(abs(a["p99_us"] / b["p99_us"] - 1) for a, b in zip(constant["pallas"].rows, constant[best].rows)
              if a["load_krps"] <= 2800)
    claims.holds("fig6", "constant: Pallas equals Rain up to 2,800 kRPS", "equal", off <= 0.05,
                 f"p99 differs by at most {off * 100:.1f} %", "it does not")
    for panel, begin in (("exponential", 2600), ("bimodal", 350)):
        curves = figure.panels[panel]
        rivals = [curves[name] for name in ("rain", best, "r2p2", "racksched", "draconis")]
        shown = [i for i, row in enumerate(curves["pallas"].rows) if row["load_krps"] >= begin]
        worst = [i for i in shown if all(curves["pallas"].rows[i]["p99_us"] >= rival.rows[i]["p99_us"]
                                         or rival.rows[i]["overloaded"] for rival in rivals)]
        at = ", ".join(f"{curves['pallas'].rows[i]['load_krps']:,.0f}" for i in worst) or "none"
        claims.holds("fig6", f"{panel}: Pallas is the worst (of those not collapsed, from {begin:,} kRPS on)", "worst",
                     worst == shown, f"at {len(worst)} of {len(shown)} loads: {at} kRPS",
                     "at the lower loads two random workers are more often both busy than the next one in turn is: RackSched is "
                     "worse there")
    low = []
    for panel, top in (("constant", 100), ("exponential", 150), ("bimodal", 500)):
        curves = figure.panels[panel]
        pulls = [curves["r2p2"], curves["draconis"]]
        wins = [row["load_krps"] for i, row in enumerate(curves["racksched"].rows)
                if any(row["p99_us"] < pull.rows[i]["p99_us"] <= top for pull in pulls)]
        low.append((panel, wins))
    claims.holds("fig6", "RackSched beats R2P2 or Draconis before they collapse only at low load and low dispersion", "yes",
                 not low[2][1], "; ".join(f"{panel}: {', '.join(f'{w:,.0f}' for w in wins) or 'never'}" for panel, wins in low),
                 "it does at some loads of the bimodal workload too")
    for panel, top in (("constant", 100), ("exponential", 150), ("bimodal", 500)):
        curves = figure.panels[panel]
        pull = max((curves[name].sustained(top) for name in ("r2p2", "draconis")), key=lambda load: load[0])
        ours = curves[best].sustained(top)
        claims.holds("fig6", f"{panel}: Rain sustains at least what R2P2 and Draconis do (p99 up to {top} us)", "yes",
                     ours[0] >= 0.99 * pull[0],
                     f"{krps(ours)} against {krps(pull)}; `rain` {krps(curves['rain'].sustained(top))}", "it does not")


def claims_fig7(claims, figure):
    curves = figure.panels["rocksdb-fixed"]
    best = "rain-paper, slices, best fixed depth"
    for name, paper, reason in ((best, 1650, ""), ("rain, slices", 1650, ""), ("pallas, slices", 1650, ""),
                                ("draconis", 900, "a pull and a fetch of 2 us each leave 32 workers 1,450 kRPS; to be lost at 900 the "
                                                  "paper's must have cost 17 us a task")):
        load = curves[name].sustained(10, "slowdown_p99")
        claims.near("fig7", f"p99 slowdown stays below 10: {name}", (paper, f"{paper:,} kRPS"), load[0], krps(load), reason)
    one, two = (curves[f"r2p2, JBSQ({n})"] for n in (1, 2))
    value = two.at(600, "get_p99_us")
    passed = two.sustained(107, "get_p99_us")
    claims.near("fig7", "R2P2's GET p99 nears a SCAN's service time at light load (600 kRPS), JBSQ(2)", (107, "about 107 us"), value,
                f"{value:.0f} us, 107 us only at {krps(passed)} (JBSQ(1): {one.at(600, 'get_p99_us'):.0f} us)",
                "a lap over the four groups of workers takes 2 us in our switch, so at this load a task finds an idle worker before "
                "depth 2 sends it behind a SCAN; the paper's prototype must lose far more by a lap")


def claims_fig8(claims, figure):
    curves = figure.panels["rocksdb-exp"]
    best = "rain-paper, slices, best fixed depth"
    pallas = curves["pallas, slices"]
    limit = pallas.sustained(10, "slowdown_p99")
    for name in (best, "rain, slices"):
        load = curves[name].sustained(10, "slowdown_p99")
        claims.near("fig8", f"load sustained at p99 slowdown 10 against Pallas: {name}", (1.75, "1.75 x"), load[0] / limit[0],
                    f"{load[0] / limit[0]:.2f} x ({krps(load)} / {krps(limit)})",
                    "our tasks of one key last a tenth of the mean, with no floor under them")
    # Where Pallas nears overload: GETs and SCANs have workers of their own, so each where it leaves the paper's axis.
    for kind, top, paper in (("get", 100, 41.10), ("scan", 800, 37.69)):
        metric = kind + "_p99_us"
        load = max((row["load_krps"] for row in pallas.rows if row[metric] <= top), default=pallas.rows[0]["load_krps"])
        for name in (best, "rain, slices"):
            cut = (1 - curves[name].at(load, metric) / pallas.at(load, metric)) * 100
            claims.near("fig8", f"{kind.upper()} p99 below Pallas' where that nears overload ({load:,.0f} kRPS): {name}",
                        (paper, f"{paper:.2f} % lower"), cut, f"{cut:.1f} % lower",
                        "the paper does not say at which load; here the last at which Pallas' tail fits its axis")


def claims_fig9(claims, figure):
    curves = figure.panels["exponential"]
    fixed = curves["rain-paper w/o adaptive scheduling"]
    by_rth = {rth: curves[f"rain-paper, Rth {rth}"] for rth in (0.2, 0.5, 0.8)}
    light = fixed.rows[0]["load_krps"]
    depths = {rth: curve.at(light, "depth") for rth, curve in by_rth.items()}
    text = ", ".join(f"{rth}: {depth:.2f}" for rth, depth in depths.items())
    claims.holds("fig9", f"R_th 0.2 lowers the depth from 2 to 1 at low load ({light:,.0f} kRPS)", "to 1", depths[0.2] < 1.5,
                 f"mean depth by R_th: {text}", "slowdown stays below the threshold there, and nothing is changed below it")
    kept = [row["load_krps"] for row in by_rth[0.8].rows if row["load_krps"] < 3000 and abs(row["depth"] - 2) > 0.25]
    claims.holds("fig9", "R_th 0.8 leaves the depth at 2 below 3,000 kRPS", "until 3,000 kRPS", not kept,
                 f"another depth at {', '.join(f'{load:,.0f}' for load in kept) or 'no load'}"
                 + (" kRPS" if kept else ""), "at light load nothing waits in the switch at depth 2, so the ratio is 1, above any R_th; just below 3,000 kRPS the queue there dominates "
                 "and the depth rises")
    pairs = [(a["load_krps"], a["p99_us"] / b["p99_us"]) for a, b in zip(by_rth[0.2].rows, fixed.rows)
             if a["load_krps"] < 2300 and not b["overloaded"]]
    load, least = min(pairs, key=lambda pair: pair[1])
    claims.holds("fig9", "R_th 0.2 has the best tail below 2,300 kRPS", "best", least < 0.97 and all(p[1] <= 1.02 for p in pairs),
                 f"p99 x {least:.2f} of the fixed depth at best (at {load:,.0f} kRPS)", "see the depth")
    worst = max(a["p99_us"] / b["p99_us"] for a, b in zip(by_rth[0.2].rows, by_rth[0.8].rows) if a["load_krps"] >= 2600)
    claims.holds("fig9", "a small R_th is more susceptible to collapse at higher loads", "yes", worst > 1.05,
                 f"p99 with 0.2 up to x {worst:.2f} of that with 0.8 from 2,600 kRPS on",
                 "its depth rises again in time, and less far than with 0.8")


def sequence_of(rows, begin_ms, most):
    """What changed in the slice from one interval to the next, beginning with the first that is over after begin_ms."""
    words, before = [], None
    for row in rows:
        now = (row["depth_0"], row["workers_0"])
        if before is not None and row["end_ms"] > begin_ms and now != before:
            if abs(now[0] - before[0]) > 0.5:
                words.append(f"depth {now[0]:.0f}")
            if now[1] != before[1]:
                words.append(f"{now[1]:.0f} workers")
        before = now
        if len(words) >= most:
            break
    return ", ".join(words)


def claims_fig10(claims, figure):
    end = max(row["end_ms"] for row in next(iter(figure.curves.values())))
    dispersed, loaded, calm = (1000, 3000, 4000) if end > 2000 else (200, 600, 800)
    fixed = figure.curves["rain-paper w/o adaptive scheduling"]
    ours, three = (figure.curves[name] for name in ("rain-paper, adaptive", "rain-paper, adaptive, depth up to 3"))
    rain = figure.curves["rain, adaptive"]

    def last(rows, until, metric):
        return [row[metric] for row in rows if row["end_ms"] <= until][-5]

    depth = last(ours, loaded, "depth_0")
    change = next((row["end_ms"] - dispersed for row in ours if row["end_ms"] > dispersed and row["depth_0"] <= 1.01), None)
    claims.holds("fig10", "dispersion rises: depth 2 -> 1, and the tail falls", "yes", depth <= 1.01 and change is not None,
                 f"all workers at 1 after {change or 0:.0f} ms; p99 {last(ours, 2 * dispersed, 'p99_us'):.0f} us, with depth 2 "
                 f"{last(fixed, 2 * dispersed, 'p99_us'):.0f} us", "it does not")
    paper = "1 -> 2, 2 -> 3, a worker, a second one, -> 2 in five intervals"
    steps = sequence_of(ours, loaded, 12)
    claims.holds("fig10", "load rises: the sequence of changes, as the algorithm is published", paper,
                 steps.startswith("depth 2, depth 3, 17 workers, 18 workers, depth 2"), steps,
                 "with thousands waiting in the switch the ratio is near 0, and line 16 raises the depth to n_max = 8 before line 19 can "
                 "count an overload; the paper's run cannot have had that queue, or not that n_max")
    steps = sequence_of(three, loaded, 6)
    claims.holds("fig10", "the first four steps of it with n_max = 3", paper, steps.startswith("depth 2, depth 3, 17 workers, 18 workers"), steps,
                 "see the sequence")
    first_within = []
    for name, rows in (("as published", ours), ("n_max = 3", three), ("`rain`, policy rain", rain)):
        within = next((row["end_ms"] - loaded for row in rows if row["end_ms"] > loaded + 10 and row["slowdown_p99"] <= 10), None)
        first_within.append((name, within))
        back = [row["end_ms"] - loaded for row in rows if loaded < row["end_ms"] <= calm and row["slowdown_p99"] > 10]
        worst = max(row["p99_us"] for row in rows if loaded < row["end_ms"] <= calm)
        at_end = last(rows, calm, "slowdown_p99")
        claims.holds("fig10", f"load rises: slowdown comes back within the target of 10: {name}", "yes", at_end <= 10,
                     f"p99 slowdown {at_end:.1f} at the end, last above 10 after {max(back, default=0):.0f} ms; p99 at most {worst:.0f} us",
                     "it stays above")
    claims.holds("fig10", "load rises: slowdown is first back within the target of 10", "after five intervals, 50 ms",
                 any(within is not None and within <= 50 for _, within in first_within),
                 ", ".join(f"{name}: {'never' if within is None else f'{within:.0f} ms'}" for name, within in first_within),
                 "the backlog of the first interval has to be served first, and the target needs 24 workers, not 18")
    claims.holds("fig10", "without adaptive scheduling the queue grows as long as the load lasts", "yes",
                 last(fixed, calm, "p99_us") > 3 * last(ours, calm, "p99_us"), f"p99 {last(fixed, calm, 'p99_us'):.0f} us at its end",
                 "it does not")


def claims_fig11(claims, figure):
    for panel, moderate in (("constant", 2500), ("exponential", 2500), ("bimodal", 400)):
        curves = figure.panels[panel]
        deep = [curves[f"rain-paper, depth {d}"] for d in (1, 2, 3, 4)]
        near = deep[0].rows[-1]["load_krps"]
        shares = ", ".join(f"{curve.at(moderate, 'queued_percent'):.2g}" for curve in deep)
        ends = ", ".join(f"{curve.at(near, 'queued_percent'):.0f}" for curve in deep)
        adaptive = min(curve.at(moderate, "queued_percent") for curve in deep)
        rises = all(a.at(near, "queued_percent") > a.at(moderate, "queued_percent") for a in deep)
        falls = all(a.at(moderate, "queued_percent") >= b.at(moderate, "queued_percent") for a, b in zip(deep, deep[1:]))
        claims.holds("fig11", f"{panel}: few wait at {moderate:,} kRPS, more near saturation, fewer the deeper", "negligible; rises",
                     adaptive < 5 and rises and falls,
                     f"depth 1 to 4: {shares} % at {moderate:,}, {ends} % at {near:,.0f} kRPS", "see the numbers")


def worst_ratio(loads, curve, other, up_to):
    """(load, ratio of the p99s) where the curve is worst against the other, over the loads that the other sustains."""
    return max(((load, a["p99_us"] / b["p99_us"]) for load, a, b in zip(loads, curve.rows, other.rows)
                if load <= up_to and not b["overloaded"]), key=lambda pair: pair[1])


def claims_ours(claims, figure):
    best = "rain-paper, best fixed depth"
    for panel, limit, up_to in (("exponential", 1.05, 98), ("bimodal", 1.16, 95)):
        curves = figure.panels[panel]
        loads = [int(text.rstrip("%")) for text in next(p for p in figure.spec["panel"] if p["name"] == panel)["loads"]]
        for name, most_allowed in (("rain", limit), ("rain, adaptive", 1.05)):
            load, most = worst_ratio(loads, curves[name], curves[best], up_to)
            claims.holds("ours", f"{panel}: p99 of `{name}` against the best fixed depth, 60 to {up_to} %",
                         f"at most {most_allowed} x (our promise)", most <= most_allowed, f"{most:.3f} x at worst (at {load} %)",
                         f"{most:.3f} x at {load} % of capacity")
        load, most = worst_ratio(loads, curves["rain, adaptive"], curves["rain"], 98)
        claims.holds("ours", f"{panel}: p99 of `rain, adaptive` against the defaults, 60 to 98 %", "at most 1.02 x (our promise)",
                     most <= 1.02, f"{most:.3f} x at worst (at {load} %)", f"{most:.3f} x at {load} % of capacity")
        overloaded = curves["rain"].rows[loads.index(98)]["overloaded"]
        at98 = curves["rain"].rows[loads.index(98)]
        claims.holds("ours", f"{panel}: `rain` does not collapse before 98 %", "our promise", not overloaded,
                     f"at 98 %: p99 {at98['p99_us']:.0f}, ideal {curves['ideal'].rows[loads.index(98)]['p99_us']:.0f} us", "overloaded")
        at95, ideal95 = (curves[name].rows[loads.index(95)] for name in ("rain", "ideal"))
        tail = at95["p9999_us"] or at95["max_us"]
        ideal_tail = ideal95["p9999_us"] or ideal95["max_us"]
        claims.holds("ours", f"{panel}: nothing starves at 95 % (p99.99 within 2 x of ideal)", "our promise",
                     tail <= 2 * ideal_tail, f"p99.99 {tail:.0f}, max {at95['max_us']:.0f} us; ideal {ideal_tail:.0f}, "
                     f"{ideal95['max_us']:.0f} us", "the far tail is longer")


def claims_ablation(claims, figure):
    base = "rain (n 4, spill 8, drain 4)"
    for panel in figure.spec["panel"]:
        curves = figure.panels[panel["name"]]
        for name, what in (("levels alone, n 4", "without the spill threshold"), ("spill alone, n 2", "with one spare level, no drain"),
                           ("no drain", "without drain")):
            cells = []
            for load, row, ours in zip(panel["loads"], curves[name].rows, curves[base].rows):
                far = f", p99.99 x {row['p9999_us'] / ours['p9999_us']:.2f}" if row["p9999_us"] and ours["p9999_us"] else ""
                cells.append(f"{load}: x {row['p99_us'] / ours['p99_us']:.2f}{far}")
            claims.add("ablation", f"{panel['title']}: p99 of `rain` {what}", "-", "; ".join(cells), "-")


CLAIMS = {"fig1": claims_fig1, "fig2": claims_fig2, "fig6": claims_fig6, "fig7": claims_fig7, "fig8": claims_fig8,
          "fig9": claims_fig9, "fig10": claims_fig10, "fig11": claims_fig11, "ours": claims_ours, "ablation": claims_ablation}

# ---- page ---------------------------------------------------------------------------------------------------------

STYLE = """body{font:15px/1.45 sans-serif;max-width:75em;margin:2em auto;padding:0 1em;color:#222}img{max-width:100%}
table{border-collapse:collapse;margin:1em 0}td,th{border:1px solid #ccc;padding:.3em .6em;text-align:left;vertical-align:top}
.good{background:#e6f4ea}.bad{background:#fdecea}h2{margin-top:2em}"""


def table_of(rows):
    lines = ["<table><tr><th>claim<th>paper<th>ours<th>verdict</tr>"]
    for _, claim, paper, ours, verdict in rows:
        tone = "" if verdict == "-" else "good" if verdict == "reproduced" else "bad"
        cells = "".join(f"<td>{html.escape(text)}" for text in (claim, paper, ours))
        lines.append(f'<tr>{cells}<td class="{tone}">{html.escape(verdict)}</tr>')
    return "\n".join(lines + ["</table>"])


def write_page(folder, figures, claims, requests):
    stated = [row for row in claims.rows if row[4] != "-"]
    good = sum(row[4] == "reproduced" for row in stated)
    parts = [f"<!doctype html><html lang='en'><meta charset='utf-8'><title>Rain: figures</title><style>{STYLE}</style>",
             "<h1>The papers' figures, simulated</h1>",
             f"<p>{good} of {len(stated)} claims reproduced. Each point: 10 s, but at most {requests:,.0f} requests, after a tenth "
             "as many that are not measured; 32 workers; one calibration for all curves (docs/reproduction.md).</p>"]
    if requests < 1e6:
        parts.append("<p><b>So few requests show that it works, not what comes out: verdicts need a run without --quick.</b></p>")
    for figure in figures:
        parts.append(f"<h2>{html.escape(figure.spec['title'])}</h2>")
        parts.append(f"<p><img src='{figure.name}.png' alt='{figure.name}'></p>")
        parts.append(table_of([row for row in claims.rows if row[0] == figure.name]))
        parts.append(f"<p><a href='{figure.name}.csv'>{figure.name}.csv</a></p>")
    with open(os.path.join(folder, "index.html"), "w", encoding="utf-8") as stream:
        stream.write("\n".join(parts) + "\n</html>\n")


def write_table(folder, claims):
    with open(os.path.join(folder, "claims.csv"), "w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(("figure", "claim", "paper", "ours", "verdict"))
        writer.writerows(claims.rows)
    for figure, claim, paper, ours, verdict in claims.rows:
        print(f"{figure}: {claim}\n    paper: {paper}   ours: {ours}\n    {verdict}")


def main(arguments):
    if len(arguments) < 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    folder, rest = arguments[0], arguments[1:]
    if rest == ["sweep"]:
        draw_sweep(folder)
        return 0
    requests = float(rest[0].removeprefix("--requests="))
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "figures.toml"), "rb") as stream:
        specs = tomllib.load(stream)
    claims, figures = Claims(), []
    for name in rest[1:]:
        if name == "fig2":
            figure = ScanTimes(folder)
            draw_scan_times(folder, figure)
        elif "over_time" in specs[name]:
            figure = OverTime(folder, name, specs[name])
            draw_over_time(folder, figure)
        else:
            figure = Figure(folder, name, specs[name])
            draw(folder, figure)
        CLAIMS[name](claims, figure)
        figures.append(figure)
    write_page(folder, figures, claims, requests)
    write_table(folder, claims)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
