"""What an explained run is written as: text for a terminal, or one page of HTML with the picture."""

from __future__ import annotations

from html import escape

from pravega_lab.portable.words import plural

from ..kernel.run import Result
from .picture import sequence_svg, share_svg
from .story import Story
from .turning import TurningPoint

STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.3rem; } pre { white-space: pre-wrap; } figure { margin: 0; overflow-x: auto; }
"""


def heading(story: Story) -> str:
    """Return the line above a story."""
    result = story.result
    bug = f" with the planted bug {result.bug}" if result.bug else ""
    return f"Seed {result.seed} of scenario {result.scenario}{bug} violates the rule: {story.rule}"


def summary(first: Result, story: Story, runs: int) -> str:
    """Return in sentences how much smaller the run is than the one that the seed draws."""
    small = story.result
    n_before, n_now = len(first.happened), len(small.happened)
    parts = [f"The seed draws {n_before} faults. The smallest run found that violates the rule has "]
    parts.append(plural(n_now, "fault"))
    parts.append(f" and {small.steps:,} steps of {first.steps:,}; {runs} runs were tried.")
    if small.plan.variant is not None:
        parts.append(" Its times and its order are those of another seed.")
    return "".join(parts)


def as_text(first: Result, story: Story, runs: int, turning: TurningPoint) -> str:
    """Return the story as lines of text."""
    lines = [heading(story), summary(first, story, runs), "", *story.sentences(), "", turning.sentence(), ""]
    return "\n".join([*lines, f"repeat: {story.result.command}"])


def as_page(first: Result, story: Story, runs: int, turning: TurningPoint) -> str:
    """Return the story as a page of HTML that refers to nothing outside."""
    told = "\n".join(f"<li>{escape(sentence)}</li>" for sentence in story.sentences())
    title = escape(heading(story))
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>{STYLE}</style></head>
<body><main><h1>{title}</h1>
<p>{escape(summary(first, story, runs))}</p>
<figure>{sequence_svg(story)}</figure>
<h2>In sentences</h2>
<ol>
{told}
</ol>
<h2>When it became inevitable</h2>
<p>{escape(turning.sentence())} Across: the steps of the run. Upwards: the share of futures that fail.</p>
<figure>{share_svg(turning)}</figure>
<h2>Repeat it</h2>
<pre>{escape(story.result.command)}</pre>
</main></body></html>
"""
