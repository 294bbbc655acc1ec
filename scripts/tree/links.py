"""The links of Markdown files that lead to other files of the same folder tree, and to their headings."""

import functools
import os
import re

LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)")


def unfenced(text):
    """Yields (number, line) of the lines outside of code blocks."""
    fenced = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, line


def anchor_of(heading):
    """The anchor that GitHub gives to the first heading with this text."""
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.strip().lower())
    return re.sub(r"[^\w\- ]", "", words).replace(" ", "-")


@functools.cache
def anchors(text):
    """The anchors of all headings of a Markdown file."""
    found = set()
    for _, line in unfenced(text):
        if heading := re.match(r"#+ (.+)", line):
            anchor = name = anchor_of(heading[1])
            repeated = 0
            while anchor in found:
                repeated += 1
                anchor = f"{name}-{repeated}"
            found.add(anchor)
    return found


def check_links(path, text, root):
    """One line per relative link in the Markdown file `path` below `root` that leads to nothing."""
    if not path.endswith(".md"):
        return []
    errors = []
    for number, line in unfenced(text):
        for target, anchor in LINK.findall(line):
            file = os.path.join(root, os.path.dirname(path), target) if target else ""
            if re.match(r"\w+:", target) or not (target or anchor):
                continue
            if file and not os.path.exists(file):
                errors.append(f"{path}:{number}: the link to {target} leads to nothing")
            elif anchor and (not file or file.endswith(".md")) and anchor not in anchors(read(file) if file else text):
                errors.append(f"{path}:{number}: the link to {target}#{anchor} leads to no heading")
    return errors


def read(file):
    with open(file, encoding="utf-8") as opened:
        return opened.read()
