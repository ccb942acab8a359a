"""``python -m steinbox``."""

from steinbox.cli import main

main()
