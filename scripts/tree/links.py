"""The links of Markdown files that lead to other files of the same folder tree."""

import os
import re

LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)")


def check_links(path, text, root):
    """One line per relative link in the Markdown file `path` below `root` that leads to nothing."""
    if not path.endswith(".md"):
        return []
    errors, fenced = [], False
    for number, line in enumerate(text.split("\n"), 1):
        fenced ^= line.lstrip().startswith("```")
        for target in [] if fenced else LINK.findall(line):
            if re.match(r"\w+:", target):
                continue
            if not os.path.exists(os.path.join(root, os.path.dirname(path), target)):
                errors.append(f"{path}:{number}: the link to {target} leads to nothing")
    return errors
