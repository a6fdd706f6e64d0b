"""`python -m refspan` is `refspan`."""

import sys

from refspan.cli import main

if __name__ == "__main__":
    sys.exit(main())
