"""The picture of docs/performance.md: plot.py RESULTS SVG, in the environment of the benchmark's own tools."""

import json
import statistics
import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("svg")
import matplotlib.pyplot as plt

COLOURS = {
    "sparkrig": "#2e7d32",
    "floor, one process": "#9e9e9e",
    "floor, one ssh each": "#cfcfcf",
    "stock pyinfra": "#1565c0",
    "Ansible, mitogen": "#ef6c00",
    "Ansible, pipelining": "#c62828",
}


def main(results: Path, picture: Path) -> None:
    rows = [row for part in json.loads(results.read_text()).values() for row in part["rows"]]
    rows = [row for row in rows if row["seconds"]]  # one that broke off has none
    for row in rows:
        row["median"] = statistics.median(row["seconds"])
    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "sparkrig", "font.size": 10})
    figure, axes = plt.subplots(1, 3, figsize=(13, 4.2), width_ratios=(1.2, 1, 1), layout="constrained")
    pair([row for row in rows if "light" not in row["place"] and "memory" not in row["place"]], axes[0])
    lines([row for row in rows if "light" in row["place"] and row["hosts"] > 2], "hosts", axes[1])
    lines([row for row in rows if "light" in row["place"] and row["hosts"] == 2], "round_trip_ms", axes[2])
    axes[1].set(title="drift of a fleet on loopback", xlabel="hosts", xscale="log", yscale="log", ylabel="seconds")
    axes[1].set_xticks([8, 32, 64, 128], ["8", "32", "64", "128"])
    axes[1].minorticks_off()
    axes[2].set(title="drift of two hosts, by distance", xlabel="round trip, ms", ylim=(0, None))
    axes[2].set_xticks([0, 10, 30])
    for each in axes:
        each.spines[["top", "right"]].set_visible(False)
    # of all three: in one of them it may lie on a bar
    figure.legend(
        *axes[0].get_legend_handles_labels(), frameon=False, loc="outside lower center", ncols=len(COLOURS)
    )
    figure.savefig(picture, metadata={"Date": None})


def pair(rows: list, axis) -> None:
    works = ["drift", "no-op converge", "first converge"]
    names = [name for name in COLOURS if any(row["contender"] == name for row in rows)]
    height = 0.8 / len(names)
    for number, name in enumerate(names):
        for place, work in enumerate(works):
            found = [row["median"] for row in rows if (row["contender"], row["work"]) == (name, work)]
            if found:
                y = place + (len(names) / 2 - number - 0.5) * height
                axis.barh(y, found[0], height * 0.9, color=COLOURS[name], label=name if place == 0 else None)
                axis.text(found[0], y, f" {found[0]:.0f}", va="center", fontsize=8)
    axis.set_yticks(range(len(works)), works)
    axis.set(title="two virtual Sparks (emulated)", xlabel="seconds")


def lines(rows: list, key: str, axis) -> None:
    for name, colour in COLOURS.items():
        points = sorted((row[key], row["median"]) for row in rows if row["contender"] == name)
        if points:
            axis.plot(*zip(*points, strict=True), "o-", color=colour, label=name)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
