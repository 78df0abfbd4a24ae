__version__ = "0.0.1"

try:                    # before anything imports MLX: a fast BLAS for it, where one is installed
    from .blas import load_blas
    load_blas()
except Exception: pass  # the package works without one
