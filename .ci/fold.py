"""What readers see in JupyterLab, VS Code and on GitHub as on the site. Cells that the site folds (`#| code-fold: true`) are folded: a flag
in their metadata, and for the solutions of exercises one for what they print. Captions (`#| fig-cap:`) stand below their pictures, as
`turboquant.figures` sets them when the cell runs. fold.py writes both into nbs/*.ipynb; `unfolded` names the notebooks that lack some."""
import html, json, re
from pathlib import Path

NBS = Path(__file__).resolve().parent.parent/'nbs'

def wanted(cells):
    "Each code cell, and the flags that its metadata should hold under `jupyter`"
    exercises = False
    for c in cells:
        s = ''.join(c['source'])
        if c['cell_type'] == 'markdown' and (h := re.search(r'^## (.*)', s, re.M)): exercises = h[1].strip() == 'Exercises'
        if c['cell_type'] == 'code':
            if not re.search(r'^#\| *code-fold: *true', s, re.M): yield c, {}
            else: yield c, dict(source_hidden=True) | (dict(outputs_hidden=True) if exercises else {})

def fold(nb):
    "Set the flags in the notebook `nb`, a dict; returns whether any was missing"
    new = False
    for c, flags in wanted(nb['cells']):
        if c['metadata'].get('jupyter', {}) != flags:
            c['metadata'].pop('jupyter', None); new = True
            if flags: c['metadata']['jupyter'] = flags
    return new

def is_caption(output): return ''.join(output.get('data', {}).get('text/html', '')).startswith('<p class="tq-caption">')

def caption(nb):
    "Put captions below the pictures of `nb`; returns whether any was missing or another"
    new = False
    for c in nb['cells']:
        m = c['cell_type'] == 'code' and re.search(r'^#\| *fig-cap: *"(.*)" *$', ''.join(c['source']), re.M)
        if not m or not any({'image/png', 'image/svg+xml'} & o.get('data', {}).keys() for o in c['outputs']): continue
        data = {'text/html': [f'<p class="tq-caption"><em>{html.escape(m[1], quote=False)}</em></p>'], 'text/plain': ['<IPython.core.display.HTML object>']}
        want = [o for o in c['outputs'] if not is_caption(o)] + [dict(data=data, metadata={}, output_type='display_data')]
        if c['outputs'] != want: c['outputs'] = want; new = True
    return new

def both(nb): return fold(nb) | caption(nb)

def files(): return sorted(f for f in NBS.glob('[!.]*.ipynb') if both(json.loads(f.read_text(encoding='utf-8'))))

def unfolded():
    "A complaint about notebooks whose flags are not as they should be, or nothing"
    bad = [f.name for f in files()]
    return f"cells to fold or captions to set in {', '.join(bad)}: run `make export`" if bad else ''

def main():
    for f in files():
        nb = json.loads(f.read_text(encoding='utf-8')); both(nb)
        new = f.with_name(f.name + '.new')
        new.write_text(json.dumps(nb, indent=1, ensure_ascii=False, sort_keys=True) + '\n', encoding='utf-8'); new.replace(f)

if __name__ == '__main__': main()
