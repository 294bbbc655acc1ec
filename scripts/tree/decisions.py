"""docs/decisions.md: entries `### N. Title` in groups `## NAME`, and an index with a row for each of them."""

import re

from tree.links import anchor_of, unfenced

PATH = "docs/decisions.md"
ROW = re.compile(r"\| (\d+) \| \[(.*)\]\(#(\S*)\) \| (.*) \|$")


def check_decisions(path, text):
    """One line per entry whose row in the index is missing or differs, per row without an entry, per number twice."""
    if path != PATH:
        return
    group, entries, rows = None, {}, {}
    for number, line in unfenced(text):
        place = f"{path}:{number}"
        if entry := re.match(r"(##+) (\d+)\. (.+)", line):
            if entry[1] != "###":
                yield f"{place}: entry {entry[2]} is in no group: write ### and put it at the end of its group"
            if entry[2] in entries:
                yield f"{place}: a second entry {entry[2]}"
            entries[entry[2]] = (entry[3], anchor_of(f"{entry[2]}. {entry[3]}"), group)
        elif heading := re.match(r"## (.+)", line):
            group = heading[1]
        elif row := ROW.match(line):
            if row[1] in rows:
                yield f"{place}: a second row for entry {row[1]}"
            rows[row[1]] = (row[3], row[4])
    for number, (title, anchor, group) in entries.items():
        if rows.get(number) != (anchor, group):
            yield f"{path}: the index needs the row | {number} | [{title}](#{anchor}) | {group} |"
    for number in rows.keys() - entries.keys():
        yield f"{path}: the index has a row for entry {number}, which is not there"
