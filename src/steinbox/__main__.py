"""``python -m steinbox``."""

from steinbox.cli.main import main

main()
