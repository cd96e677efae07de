"""For who writes exercises: ``python -m pravega_lab.exercises.seal 03.1 "2 2 3" < solution.txt``

prints the digest of an answer (in its one form, see `answers`) and the solution, sealed.
"""

from __future__ import annotations

import sys

from pravega_lab.exercises.book import digest, seal


def main() -> None:
    number, answer = sys.argv[1:3]
    print(digest(number, answer))
    print(seal(" ".join(sys.stdin.read().split())))


if __name__ == "__main__":
    main()
