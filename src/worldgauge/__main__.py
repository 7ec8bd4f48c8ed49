"""`python -m worldgauge`: the command line of this very Python, where `worldgauge` is not on the path."""

from worldgauge.cli.main import main

if __name__ == "__main__":
    main()
