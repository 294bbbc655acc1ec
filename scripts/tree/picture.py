"""Boxes within boxes, in layers from what includes to what is included, as an SVG."""

from xml.sax.saxutils import escape

LETTER, LINE, PAD, GAP_X, GAP_Y, TITLE = 7.4, 32, 16, 22, 40, 26
FILLS = ["#ffffff", "#eef3f9", "#dbe7f4", "#c9daee"]  # by depth
STYLE = "font-family: Helvetica, Arial, sans-serif; font-size: 13px"


def reachable(start, arrows):
    """All that `start` reaches in one step or more."""
    seen, open_ends = set(), [start]
    while open_ends:
        here = open_ends.pop()
        for a, b in arrows:
            if a == here and b not in seen:
                seen.add(b)
                open_ends.append(b)
    return seen


def reduced(arrows):
    """The arrows that do not follow from others. Raises ValueError where they make a circle."""
    reach = {a: reachable(a, arrows) for pair in arrows for a in pair}
    for box, seen in sorted(reach.items()):
        if box in seen:
            raise ValueError(f"{box} includes what includes it")
    return {(a, b) for a, b in arrows if not any(b in reach[c] for x, c in arrows if x == a and c != b)}


def depths(boxes, arrows):
    """Box -> row, counted from below: 1 more than the highest that it includes."""
    depth = {}

    def depth_of(box):
        if box not in depth:
            depth[box] = 1 + max((depth_of(b) for a, b in arrows if a == box), default=-1)
        return depth[box]

    for box in boxes:
        depth_of(box)
    return depth


def layers(boxes, arrows):
    """(rows, paths): rows of names, the including ones first, and for each arrow the names that it passes, one for each
    row. Where an arrow passes a row, a gap is kept free for it: a name that is no box."""
    depth, rows, paths = depths(boxes, arrows), {}, []
    for box in sorted(boxes):
        rows.setdefault(depth[box], []).append(box)
    for a, b in sorted(arrows):
        gaps = [(d, f"{a} > {b} {d}") for d in range(depth[a] - 1, depth[b], -1)]
        for d, gap in gaps:
            rows[d].append(gap)
        paths.append([a] + [gap for _, gap in gaps] + [b])
    ordered = [rows[d] for d in sorted(rows, reverse=True)]
    steps = [step for path in paths for step in zip(path, path[1:], strict=False)]
    for above, row in zip(ordered, ordered[1:], strict=False):
        middles = {}
        for at, name in enumerate(row):
            places = [(above.index(a) + 0.5) / len(above) for a, b in steps if b == name]
            middles[name] = sum(places) / len(places) if places else (at + 0.5) / len(row)
        row.sort(key=middles.get)
    return ordered, paths


class Box:
    """A box with its size, and where it lies within its container."""

    def __init__(self, name, boxes, arrows):
        self.name, self.x, self.y = name, 0, 0
        rows, self.paths = layers(boxes.get(name, ()), reduced(arrows.get(name, set())))
        self.rows = [[Box(n, boxes, arrows) for n in row] for row in rows]
        self.title = "" if not name else name.split("/")[-1] + ("" if name.endswith("*") else "/")
        if name.endswith("/*"):
            self.title = name
        self.width, self.height = len(self.title) * LETTER + 2 * PAD, LINE
        if ">" in name:
            self.width = 1  # a gap for an arrow
        if self.rows:
            self.place()

    def place(self):
        widths = [sum(b.width for b in row) + GAP_X * (len(row) - 1) for row in self.rows]
        self.width = max(self.width, max(widths) + 2 * PAD)
        top = TITLE if self.title else PAD
        for row, width in zip(self.rows, widths, strict=True):
            x, height = (self.width - width) / 2, max(b.height for b in row)
            for box in row:
                box.x, box.y = x, top + (height - box.height) / 2
                x += box.width + GAP_X
            top += height + GAP_Y
        self.height = top - GAP_Y + PAD

    def svg(self, depth):
        lines = [f'<g transform="translate({self.x:.0f} {self.y:.0f})">']
        if self.name:
            lines.append(f'<rect width="{self.width:.0f}" height="{self.height:.0f}" rx="5" '
                         f'fill="{FILLS[min(depth, len(FILLS) - 1)]}" stroke="#4a6785"/>')
            y, weight = (18, "bold") if self.rows else (LINE / 2 + 5, "normal")
            lines.append(f'<text x="{self.width / 2:.0f}" y="{y:.0f}" text-anchor="middle" font-weight="{weight}">'
                         f"{escape(self.title)}</text>")
        children = {b.name: b for row in self.rows for b in row}
        lines += [self.arrow(children, path) for path in self.paths]
        for box in children.values():
            if ">" not in box.name:
                lines += box.svg(depth + 1)
        return lines + ["</g>"]

    def port(self, children, box, others):
        """How far along an edge of `box` each arrow ends that comes from, or goes to, one of `others`."""
        ordered = sorted(others, key=lambda n: children[n].x)
        return {n: children[box].x + children[box].width * (i + 1) / (len(ordered) + 1) for i, n in enumerate(ordered)}

    def arrow(self, children, path):
        """From the lower edge of its first box to the upper edge of its last, through the gaps between."""
        def extent(name):
            row = next(row for row in self.rows if children[name] in row)
            return min(b.y for b in row), max(b.y + b.height for b in row)

        start, end = children[path[0]], children[path[-1]]
        out = self.port(children, path[0], [p[1] for p in self.paths if p[0] == path[0]])
        into = self.port(children, path[-1], [p[-2] for p in self.paths if p[-1] == path[-1]])
        x, y = out[path[1]], extent(path[0])[1]
        line = f"M{x:.0f} {start.y + start.height:.0f}V{y:.0f}"
        for name in path[1:]:
            top, bottom = extent(name)
            next_x = children[name].x if name != path[-1] else into[path[-2]]
            bend = (top - 3 - y) / 2
            line += f"C{x:.0f} {y + bend:.0f} {next_x:.0f} {top - 3 - bend:.0f} {next_x:.0f} {top - 3:.0f}"
            x, y = next_x, bottom if name != path[-1] else end.y - 3
            line += f"V{y:.0f}"
        return f'<path d="{line}" fill="none" stroke="#4a6785" marker-end="url(#tip)"/>'


def draw(boxes, arrows):
    whole = Box("", boxes, arrows)
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {whole.width:.0f} {whole.height:.0f}" '
            f'width="{whole.width:.0f}" style="{STYLE}">')
    tip = ('<defs><marker id="tip" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="7" markerHeight="7" '
           'orient="auto"><path d="M0 0L8 4L0 8z" fill="#4a6785"/></marker></defs>')
    return "\n".join([head, "<!-- Written by scripts/include_graph. -->", tip,
                      f'<rect width="{whole.width:.0f}" height="{whole.height:.0f}" fill="#ffffff"/>',
                      *whole.svg(0), "</svg>"]) + "\n"
