"""The book as a website in _docs, without Quarto: nbdev's processors, a few of Quarto's conveniences resolved, then smalldocs.

build_site.py [KATEX]: a folder with a KaTeX distribution to ship with the pages; without it they load KaTeX from a CDN."""
import json, re, shutil, subprocess, sys
from pathlib import Path
from nbdev.config import get_config
from nbdev.quarto import nbdev_sidebar, refresh_quarto_yml
from nbdev import serve
from nbdev.processors import FilterDefaults, exec_show_docs

source = lambda cell: ''.join(cell.get('source', ''))

class KeepStored(exec_show_docs):
    """nbdev runs again, alone, exports, `show_doc`s and whatever has an import among other code. Such a last one may need a cell
    that was not run: it keeps the outputs stored in the notebook."""
    def __call__(self, cell):
        old = cell.get('outputs')
        try: super().__call__(cell)
        except Exception:
            if {'export', 'exports', 'exporti'} & set(cell.directives_): raise
            cell.outputs, self.k.exc = old, None

class Filters(FilterDefaults):
    "nbdev's processors, with that one in its place"
    def base_procs(self): return [KeepStored if p is exec_show_docs else p for p in super().base_procs()]

def page_names(src):
    "Notebook file -> the file it becomes: nbdev drops the chapter's number from a page's name"
    names = {}
    for f in src.glob('**/*.ipynb'):
        m = re.search(r'^output-file: (\S+)\.html', source(json.loads(f.read_text())['cells'][0]), re.M)
        names[f.name] = (m[1] if m else f.stem) + '.ipynb'
    return names

def references(cells):
    "Label -> ('Figure' or 'Equation', its number on the page)"
    refs, n = {}, dict(fig=0, eq=0)
    for c in cells:
        for label in re.findall(r'#\| *label: *(fig-\S+)|\{#(eq-[\w-]+)\}', source(c)):
            label = ''.join(label); kind = label.split('-')[0]; n[kind] += 1
            refs[label] = (dict(fig='Figure', eq='Equation')[kind], n[kind])
    return refs

def resolve(cell, refs, base, names):
    "The cell's source with references, captions and links written out"
    s = source(cell)
    if cell['cell_type'] == 'raw': s = re.sub(r'^output-file:.*\n', '', s, flags=re.M)
    if cell['cell_type'] == 'markdown':
        s = re.sub(r'\$\$\s*(.*?)\s*\$\$ *\{#(eq-[\w-]+)\}',
                   lambda m: f'::: {{#{m[2]}}}\n$$\n{m[1]} \\tag{{{refs[m[2]][1]}}}\n$$\n:::', s, flags=re.S)
        s = re.sub(r'@((?:fig|eq)-[\w-]+)', lambda m: f'[{refs[m[1]][0]} {refs[m[1]][1]}](#{m[1]})' if m[1] in refs else m[0], s)
    if m := re.search(r'#\| *label: *(fig-\S+)', s): s = re.sub(r'(#\| *fig-cap: *")', rf'\1Figure {refs[m[1]][1]}: ', s)
    for a, b in names.items(): s = s.replace(f']({a}', f']({b}')
    return s.replace(base, '')

def page(text, base, names):
    "A processed notebook, ready for smalldocs"
    nb = json.loads(text); refs = references(nb['cells'])
    for c in nb['cells']:
        c['source'] = resolve(c, refs, base, names)
        for o in c.get('outputs', []):
            if 'text/markdown' not in (d := o.get('data', {})): continue
            plain = lambda m: re.sub(r'\[(`[^`]+`)\]\([^)]*\)', r'\1', m[0])       # no links inside a signature
            d['text/markdown'] = re.sub(r'```python.*?```', plain, ''.join(d['text/markdown']), flags=re.S).replace(base, '')
    return json.dumps(nb)

def prepare(src, dst, base):
    "Copy what nbdev processed from `src` to `dst`, page by page"
    names = page_names(src)
    for f in src.rglob('*'):
        if not f.is_file() or '_docs' in f.parts: continue
        to = dst/f.relative_to(src); to.parent.mkdir(exist_ok=True, parents=True)
        if f.suffix == '.ipynb': to.with_name(names[f.name]).write_text(page(f.read_text(), base, names))
        elif f.suffix == '.yml':
            t = f.read_text()
            for a, b in names.items(): t = t.replace(a, b)
            to.write_text(t)
        else: shutil.copy(f, to)

def bundle(out, katex):
    "Ship KaTeX with the pages in `out`"
    shutil.copytree(katex, out/'site_libs/katex')
    for h in out.rglob('*.html'):
        up = '../'*(len(h.relative_to(out).parts) - 1)
        h.write_text(re.sub(r'https://cdn\.jsdelivr\.net/npm/katex@[\d.]+/dist', up + 'site_libs/katex', h.read_text()))

def main(katex=None):
    cfg = get_config(); refresh_quarto_yml(); nbdev_sidebar.__wrapped__()
    serve.FilterDefaults = Filters                          # seen in this process only: hence no workers below
    dst = cfg.config_path/'_site_src'
    shutil.rmtree(dst, ignore_errors=True); dst.mkdir()
    prepare(serve.proc_nbs(n_workers=0, force=True), dst, f'{cfg.doc_host}{cfg.doc_baseurl}'.rstrip('/') + '/')
    subprocess.run([str(Path(sys.executable).parent/'smalldocs'), 'render', str(dst)], check=True)
    out = dst/cfg.doc_path.name
    if katex: bundle(out, katex)
    shutil.rmtree(cfg.doc_path, ignore_errors=True); shutil.move(out, cfg.doc_path); shutil.rmtree(dst)
    print(f'{cfg.doc_path}/index.html')

if __name__ == '__main__': main(*sys.argv[1:])
