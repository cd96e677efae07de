"""A command for authors of exercises, which prints the digest of an answer and the sealed solution.

Run ``python -m pravega_lab.tutorials.learning.seal 03.1 "2 2 3" < solution.txt``. The answer is brought into
its one form first (see `answer_forms`).
"""

from __future__ import annotations

import sys

from pravega_lab.tutorials.learning.book import digest, seal


def main() -> None:
    """Print both; return 0, or 2 if the arguments are wrong."""
    number, answer = sys.argv[1:3]
    print(digest(number, answer))
    print(seal(" ".join(sys.stdin.read().split())))


if __name__ == "__main__":
    main()
