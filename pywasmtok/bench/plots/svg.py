"""SVG by hand: the few elements that plots are made of.

Nothing is drawn behind them, and text and lines change with the reader's colour scheme, so that a
plot sits well on a light page and on a dark one.
"""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import escape, quoteattr

__all__ = ["Canvas"]

STYLE = """
text { font-family: system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #57606a }
.title { font-size: 16px; font-weight: 600; fill: #24292f }
.subtitle { font-size: 12px }
.panel { font-size: 12px; font-weight: 600; fill: #24292f }
.tick, .note { font-size: 11px }
.key { font-size: 12px }
.grid { stroke: #8c959f; stroke-opacity: 0.28; stroke-width: 1 }
.axis { stroke: #8c959f; stroke-opacity: 0.8; stroke-width: 1 }
@media (prefers-color-scheme: dark) {
  text { fill: #9da7b3 }
  .title, .panel { fill: #e6edf3 }
}
"""


class Canvas:
    def __init__(self, width: float, height: float, title: str) -> None:
        self.width, self.height = width, height
        self._title = title
        self._parts: list[str] = []

    def line(
        self, x1: float, y1: float, x2: float, y2: float, *, css: str = "", stroke: str = ""
    ) -> None:
        look = f"class={quoteattr(css)}" if css else stroke
        self._parts.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" {look}/>'
        )

    def path(self, points: Iterable[tuple[float, float]], stroke: str) -> None:
        steps = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        self._parts.append(
            f'<path d="M{steps}" fill="none" stroke-linejoin="round" stroke-linecap="round" '
            f"{stroke}/>"
        )

    def text(self, x: float, y: float, text: str, css: str, anchor: str = "start") -> None:
        self._parts.append(
            f'<text x="{x:.1f}" y="{y:.1f}" class="{css}" text-anchor="{anchor}">'
            f"{escape(text)}</text>"
        )

    def mark(
        self,
        x: float,
        y: float,
        look: tuple[str, str],
        size: float,
        *,
        hint: str = "",
        hollow: bool = False,
    ) -> None:
        """A small sign of a shape and a color; `hint` shows where a reader points at it."""
        shape, color = look
        paint = f'fill="{color}"'
        if hollow:
            paint = f'fill="none" stroke="{color}" stroke-width="1.4"'
        inside = f"<title>{escape(hint)}</title>" if hint else ""
        if shape == "circle":
            body = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size:.1f}" {paint}'
            self._parts.append(f"{body}>{inside}</circle>" if inside else f"{body}/>")
            return
        corners = {
            "square": ((-1, -1), (1, -1), (1, 1), (-1, 1)),
            "diamond": ((0, -1.4), (1.4, 0), (0, 1.4), (-1.4, 0)),
            "up": ((0, -1.3), (1.3, 1), (-1.3, 1)),
            "down": ((0, 1.3), (1.3, -1), (-1.3, -1)),
        }[shape]
        points = " ".join(f"{x + size * dx:.1f},{y + size * dy:.1f}" for dx, dy in corners)
        body = f'<polygon points="{points}" {paint}'
        self._parts.append(f"{body}>{inside}</polygon>" if inside else f"{body}/>")

    def document(self) -> str:
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width:g}" '
            f'height="{self.height:g}" viewBox="0 0 {self.width:g} {self.height:g}" role="img" '
            f"aria-label={quoteattr(self._title)}>"
        )
        body = "\n".join(self._parts)
        title = f"<title>{escape(self._title)}</title>"
        return f"{head}\n{title}\n<style>{STYLE}</style>\n{body}\n</svg>\n"
