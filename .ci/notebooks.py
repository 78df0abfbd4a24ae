"""The notebooks of the book, and which of them a word means: a path, a file's name, or a chapter's number."""
import sys
from pathlib import Path

NBS = Path(__file__).resolve().parent.parent/'nbs'

def everything(): return sorted(f for f in NBS.glob('**/[!_.]*.ipynb') if '.ipynb_checkpoints' not in f.parts)

def named(word):
    "The notebook that `word` means: nbs/06a_blas.ipynb, 06a_blas or 06a; else the program ends with a list of all"
    name = Path(word).name.removesuffix('.ipynb')
    if Path(word).suffix == '.ipynb' and Path(word).is_file(): return Path(word).resolve()
    for f in everything():
        if name and (f.stem == name or f.stem.startswith(name + '_')): return f
    print(f'no notebook {word!r}. There are:', *(f'    {f.relative_to(NBS.parent)}' for f in everything()), sep='\n', file=sys.stderr)
    sys.exit(2)
