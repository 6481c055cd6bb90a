"""`python -m kcoord` is the same program as `kcoord`."""

from kcoord.cli import main

if __name__ == "__main__":
    main()
