"""python -m watersmeet: the same as the `watersmeet` command."""

from __future__ import annotations

from watersmeet.cli import main

if __name__ == "__main__":
    main()
