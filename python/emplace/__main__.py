"""python -m emplace: the command `emplace`."""
import sys

from emplace.cli import main

sys.exit(main())
