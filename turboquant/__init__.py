__version__ = "0.0.1"

from os import environ as _environ
_environ.setdefault('MLX_ENABLE_CACHE_THRASHING_CHECK', '0')   # on NVIDIA it ends a process that was not at fault (chapter 6b)

try:                    # before anything imports MLX: a fast BLAS for it, where one is installed
    from .blas import load_blas
    load_blas()
except Exception: pass  # the package works without one
