"""Lets emplace.gym be imported beside a gymnasium before 1.0, for systems that want one. Import it before `task`.

emplace.gym names AutoresetMode for its environments of many episodes, which are not used here.
"""
import types

import gymnasium.vector

if not hasattr(gymnasium.vector, "AutoresetMode"):
    gymnasium.vector.AutoresetMode = types.SimpleNamespace(NEXT_STEP=None)
