"""lab.py [NOTEBOOK] [OPTIONS FOR JUPYTER ...]: JupyterLab on nbs/, opened at the notebook, the first chapter unless one is named."""
import json, os, sys
from pathlib import Path
from notebooks import NBS, named

# What JupyterLab starts with in this project's environment; a person's own settings come before it
SETTINGS = {'@jupyterlab/notebook-extension:tracker': {'codeCellConfig': {'lineWrap': True}},          # long lines stay in sight
            '@jupyterlab/apputils-extension:notification': {'fetchNews': 'false'}}                     # no question over the first page

def settle():
    "Write `SETTINGS` where JupyterLab looks for them"
    f = Path(sys.prefix)/'share/jupyter/lab/settings/overrides.json'
    f.parent.mkdir(parents=True, exist_ok=True); f.write_text(json.dumps(SETTINGS, indent=1) + '\n')

def main(args):
    nb = named(next((a for a in args if a.endswith('.ipynb')), os.environ.get('TQ_NB') or '01_packing.ipynb')).name
    options = [a for a in args if not a.endswith('.ipynb')]
    if hasattr(os, 'getuid') and os.getuid() == 0: options.append('--allow-root')
    settle()
    print(f'==> JupyterLab opens at {nb}; if no browser comes up, open one of the addresses below. Ctrl-C twice ends it.', flush=True)
    jupyter = os.path.join(os.path.dirname(sys.executable), 'jupyter')
    os.chdir(NBS)
    os.execv(jupyter, [jupyter, 'lab', f'--LabApp.default_url=/lab/tree/{nb}', '--LabApp.log_level=WARN', '--ServerApp.log_level=WARN', *options])

if __name__ == '__main__': main(sys.argv[1:])
