"""README.md from nbs/index.ipynb through nbconvert: figures become files beside the notebook, with their alt text and caption."""
import base64, json, re
from pathlib import Path
from nbformat import from_dict
from nbconvert import MarkdownExporter
from fold import is_caption

root = Path(__file__).resolve().parent.parent
files = root/'nbs/index_files'

def directives(src):
    "The `#| key: value` lines of a cell, and its source without them"
    d = dict(re.findall(r'^#\| *([\w-]+):? *(.*?) *$', src, flags=re.M))
    return {k: v.strip('"') for k, v in d.items()}, re.sub(r'^#\|.*\n?', '', src, flags=re.M).strip()

def figure(data, d):
    "Write the picture among the output `data` to a file; returns the Markdown that shows it"
    files.mkdir(exist_ok=True)
    png = 'image/png' in data
    f = files/(d.get('label', 'fig-unnamed') + ('.png' if png else '.svg'))
    f.write_bytes(base64.b64decode(data['image/png']) if png else ''.join(data['image/svg+xml']).encode())
    cap = d.get('fig-cap')
    return f"![{d.get('fig-alt', '')}]({f.relative_to(root).as_posix()})\n" + (f'\n*{cap}*\n' if cap else '')

def cells(nb):
    "The notebook's cells as the README shows them"
    for c in nb['cells']:
        d, src = directives(''.join(c['source'])) if c['cell_type'] == 'code' else ({}, ''.join(c['source']))
        if 'hide' in d or c['cell_type'] == 'raw': continue
        if c['cell_type'] == 'markdown':
            src = re.sub(r'\]\((?!https?:|#|\.\./|nbs/)([^)\s]+)\)', r'](nbs/\1)', src).replace('](../', '](')   # links, seen from the top
        if d.get('echo') == 'false': src = ''
        if c['cell_type'] == 'markdown' or src:
            yield dict(c, source=src, outputs=[], metadata={}) if c['cell_type'] == 'code' else dict(c, source=src, metadata={})
        for o in c.get('outputs', []):
            data = o.get('data', {})
            if is_caption(o): continue                                  # `figure` sets it
            if {'image/png', 'image/svg+xml'} & data.keys(): yield dict(cell_type='markdown', metadata={}, source=figure(data, d))
            elif 'text/markdown' in data: yield dict(cell_type='markdown', metadata={}, source=''.join(data['text/markdown']))
            else: yield dict(cell_type='markdown', metadata={}, source=f"```\n{''.join(o.get('text', data.get('text/plain', ''))).rstrip()}\n```")

def main():
    nb = json.loads((root/'nbs/index.ipynb').read_text())
    for f in files.glob('*'): f.unlink()
    out = dict(nbformat=4, nbformat_minor=5, metadata=dict(nb['metadata'], language_info=dict(name='python')), cells=[dict(c, id=f'c{i}') for i, c in enumerate(cells(nb))])
    for c in out['cells']:
        if c['cell_type'] == 'code': c['execution_count'] = None
        else: c.pop('outputs', None)
    md, _ = MarkdownExporter().from_notebook_node(from_dict(out))
    md = re.sub(r'\n{3,}', '\n\n', md).strip() + '\n'
    md = md.replace('\n```\n\n```python\n', '\n')                       # neighbours are one piece of code
    if not md.startswith('# '): md = f"# {nb['metadata'].get('title', 'turboquant')}\n\n" + md
    (root/'README.md').write_text(md, encoding='utf-8')

if __name__ == '__main__': main()
