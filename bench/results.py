#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes bench/RESULTS.md from the runs in bench/results.

    bench/results.py [--check]

Each JSON file is one run; bench/README.md describes its fields. RESULTS.md has one table for each
device and subject: that of the newest run. --check writes nothing, and ends with 1 where RESULTS.md
is not what the runs give."""
import argparse
import datetime
import json
import math
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
REQUIRED = ("kind", "device", "subject", "date", "commit", "software", "measured", "columns",
            "rows")
OPTIONAL = ("brief", "compare", "ratios", "summary")
KINDS = {"CPU": "CPUs", "GPU": "GPUs"}
WIDTH = 100
HEADER = """# Results

`bench/results.py` writes this page from the runs in `bench/results`: one table for each device and
subject, from its newest run. A run marked as brief shows its means alone. [README.md](README.md)
describes the measurements, and how to add a run. A ratio compares two times of one run, unless the
text above its table names another one. A ratio above 1 means that Tartan is faster. Means are
geometric.
"""


def fail(path, message):
    sys.exit(f"{path}: {message}")


def load(path):
    """Reads and checks a run."""
    try:
        run = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        fail(path, f"not JSON: {error}")
    for name in REQUIRED:
        if name not in run:
            fail(path, f"no field '{name}'")
    for name in run:
        if name not in REQUIRED + OPTIONAL:
            fail(path, f"unknown field '{name}'")
    if run["kind"] not in KINDS:
        fail(path, f"kind is '{run['kind']}', not one of {', '.join(KINDS)}")
    try:
        datetime.date.fromisoformat(run["date"])
    except ValueError as error:
        fail(path, f"date: {error}")
    for row in run["rows"]:
        if len(row) != len(run["columns"]):
            fail(path, f"a row of {len(row)} for {len(run['columns'])} columns: {row}")
    named = list(run.get("ratios", [])) + ([run["summary"]] if "summary" in run else [])
    for compare in run.get("compare", []):
        named += compare["of"] + [compare["by"]]
    for name in named:
        if name not in run["columns"]:
            fail(path, f"no column '{name}'")
    return run


def add_comparisons(run):
    """Appends a column for each comparison: the minimum of the columns 'of', divided by 'by'."""
    ratios = list(run.get("ratios", []))
    columns = list(run["columns"])
    rows = [list(row) for row in run["rows"]]
    for compare in run.get("compare", []):
        for row, figures in zip(rows, run["rows"]):
            values = dict(zip(run["columns"], figures))
            others = [values[name] for name in compare["of"] if values[name] is not None]
            ours = values[compare["by"]]
            row.append(min(others) / ours if others and ours is not None else None)
        columns.append(compare["name"])
        ratios.append(compare["name"])
    return columns, rows, ratios


def figures_of(rows, index):
    """The numbers of a column, with their rows."""
    return [(row[index], row) for row in rows if isinstance(row[index], (int, float))]


def mean(figures):
    return math.exp(sum(math.log(value) for value, _ in figures) / len(figures))


def cell(value, is_ratio=False):
    if value is None:
        return ""
    if is_ratio and isinstance(value, (int, float)):
        return f"{value:.2f}"
    return f"{value:g}" if isinstance(value, float) else str(value)


def table(head, rows):
    numeric = [any(isinstance(row[i], str) and row[i][:1].isdigit() for row in rows) and i > 0
               for i in range(len(head))]
    lines = ["| " + " | ".join(head) + " |",
             "|" + "|".join("---:" if is_number else "---" for is_number in numeric) + "|"]
    return lines + ["|" + "|".join(f" {text} " if text else " " for text in row) + "|"
                    for row in rows]


def summary(columns, rows, ratios, group):
    """A row for each group: the number of problems, and each ratio's mean and minimum."""
    groups = {}
    for row in rows:
        groups.setdefault(row[columns.index(group)], []).append(row)
    lines = []
    for name, members in groups.items():
        line = [name, str(len(members))]
        for ratio in ratios:
            figures = figures_of(members, columns.index(ratio))
            minimum, row = min(figures, default=(None, None), key=lambda pair: pair[0])
            line.append(cell(mean(figures), True) if row else "")
            line.append(f"{cell(minimum, True)} `{row[1]}`" if row else "")
        lines.append(line)
    head = [group, "problems"]
    for ratio in ratios:
        head += [f"{ratio}, mean", "minimum"]
    return table(head, lines)


def full(columns, rows, ratios):
    """All rows."""
    is_ratio = [name in ratios or name.startswith("of ") for name in columns]
    return table(columns, [[cell(value, is_ratio[i]) for i, value in enumerate(row)]
                           for row in rows])


def means(columns, rows, ratios):
    """A sentence for each ratio: its geometric mean and its minimum."""
    text = ""
    for ratio in ratios:
        figures = figures_of(rows, columns.index(ratio))
        if len(figures) > 1:
            minimum = min(value for value, _ in figures)
            text += f" `{ratio}`: mean {mean(figures):.2f}, minimum {minimum:.2f}."
    return text


def wrap(text):
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > WIDTH:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + word
    return lines


def text_of(runs):
    """The document: kinds of devices, subjects, and the newest run of each device."""
    newest = {}
    for name, run in sorted(runs.items()):
        key = (run["kind"], run["subject"], run["device"])
        if key not in newest or newest[key][1]["date"] <= run["date"]:
            newest[key] = (name, run)
    lines = HEADER.splitlines()
    for kind, title in KINDS.items():
        lines += ["", f"## {title}"]
        subject = None
        for key in sorted(key for key in newest if key[0] == kind):
            name, run = newest[key]
            if key[1] != subject:
                subject = key[1]
                lines += ["", f"### {subject}"]
            columns, rows, ratios = add_comparisons(run)
            commit = f"commit `{run['commit']}`" if run["commit"] else "commit not recorded"
            text = (f"{run['device']}, {run['date']}, {commit} ([run](results/{name})); "
                    f"{run['software']}; {run['measured']}.")
            if "summary" not in run:
                text += means(columns, rows, ratios)
            lines += [""] + wrap(text)
            if "summary" in run:
                lines += [""] + summary(columns, rows, ratios, run["summary"])
            elif not run.get("brief", False):
                lines += [""] + full(columns, rows, ratios)
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare instead of write")
    options = parser.parse_args()
    text = text_of({path.name: load(path) for path in (FOLDER / "results").glob("*.json")})
    results = FOLDER / "RESULTS.md"
    if not options.check:
        results.write_text(text, encoding="utf-8")
    elif results.read_text(encoding="utf-8") != text:
        sys.exit("bench/RESULTS.md is not what bench/results.py writes: run it")


if __name__ == "__main__":
    main()
