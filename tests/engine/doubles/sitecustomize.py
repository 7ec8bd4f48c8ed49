"""Makes the doubles known to every Python process that has this folder on its PYTHONPATH."""

import enginedoubles

enginedoubles.register()
