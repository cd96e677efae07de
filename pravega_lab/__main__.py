"""The program ``pravega-lab``, also as ``python -m pravega_lab``: runs `cli`.

It imports next to nothing by itself, so that an interrupt during the imports ends the program without a
traceback.
"""

from __future__ import annotations

import sys


def main() -> int:
    """Run one command and return its exit code; see `pravega_lab.cli.main`."""
    try:
        from pravega_lab import cli

        return cli.main()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
