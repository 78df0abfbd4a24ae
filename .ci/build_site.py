"""The book as a website in _docs, without Quarto: nbdev's processors, a few of Quarto's conveniences resolved, then smalldocs.

build_site.py [KATEX]: a folder with a KaTeX distribution to ship with the pages; without it one comes from PyPI, and without a
network the pages load KaTeX from a CDN."""
import ast, hashlib, json, re, shutil, subprocess, sys, zipfile
from pathlib import Path
from nbdev.config import get_config
from nbdev.quarto import nbdev_sidebar, refresh_quarto_yml
from nbdev import serve
from nbdev.process import Processor
from nbdev.processors import FilterDefaults, exec_show_docs, rm_export
import yaml

KATEX = 'djangocms-katex', '1.0.2', '79774fa17f7d328252f6dd05688799fa7ee49abebb7cbe09f0cbf6f103352ac2'   # a wheel with KaTeX 0.16.40 whole
source = lambda cell: ''.join(cell.get('source', ''))

class KeepStored(exec_show_docs):
    """nbdev runs again, alone, exports, `show_doc`s and whatever has an import among other code. Such a last one may need a cell
    that was not run: it keeps the outputs stored in the notebook. A module's own `sys.exit(main())` is nothing to mind."""
    def __call__(self, cell):
        old = cell.get('outputs')
        try: super().__call__(cell)
        except Exception:
            if {'export', 'exports', 'exporti'} & set(cell.directives_) and not isinstance(self.k.exc, SystemExit): raise
            cell.outputs, self.k.exc = old, None

class ShowSource(Processor):
    """nbdev drops exported cells from a page. Here the reader sees them: after their `show_doc`s, whose signature the source repeats,
    or alone. Cells that only import, and hidden ones, go."""
    def begin(self):
        cells = self.nb.cells
        for c in [c for c in cells if c.cell_type == 'code' and {'export', 'exporti'} & c.directives_.keys()]:
            i = next(i for i, x in enumerate(cells) if x is c); j = i + 1
            while j < len(cells) and getattr(cells[j], 'has_sd', 0): unsigned(cells[j]); j += 1
            cells[i:j] = [*cells[i + 1:j][::-1], c]                     # nbdev puts them in backwards
            c.documented = j > i + 1
    def __call__(self, cell):
        if cell.cell_type != 'code' or not cell.directives_: return
        export = {'export', 'exporti'} & cell.directives_.keys()
        if {'hide', 'default_exp'} & cell.directives_.keys() or export and only_imports(source(cell)): del cell['source']
        elif export: cell.source = '#| code-fold: show\n#| code-summary: "Source"\n'*cell.documented + cell.source

def only_imports(text): return all(isinstance(n, (ast.Import, ast.ImportFrom)) for n in ast.parse(text).body)

def unsigned(cell):
    "Drop the signature from a `show_doc`'s output"
    for o in cell.outputs or []:
        if t := o.get('data', {}).get('text/markdown'): o['data']['text/markdown'] = re.sub(r'```python.*?```\s*', '', ''.join(t), flags=re.S)

class Filters(FilterDefaults):
    "nbdev's processors, with those two in their places"
    def base_procs(self): return [{exec_show_docs: KeepStored, rm_export: ShowSource}.get(p, p) for p in super().base_procs()]

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

def numbered(text, refs):
    "References to figures and equations as links with their numbers"
    return re.sub(r'@((?:fig|eq)-[\w-]+)', lambda m: f'[{refs[m[1]][0]} {refs[m[1]][1]}](#{m[1]})' if m[1] in refs else m[0], text)

def resolve(cell, refs, base, names):
    "The cell's source with references, captions and links written out"
    s = source(cell)
    if cell['cell_type'] == 'raw': s = re.sub(r'^output-file:.*\n', '', s, flags=re.M)
    if cell['cell_type'] == 'markdown':
        s = re.sub(r'\$\$\s*(.*?)\s*\$\$ *\{#(eq-[\w-]+)\}',
                   lambda m: f'::: {{#{m[2]}}}\n$$\n{m[1]} \\tag{{{refs[m[2]][1]}}}\n$$\n:::', s, flags=re.S)
        s = re.sub(r'^(#+ .*?)\[(`[^`]+`)\]\(\S*\)', r'\1\2', s, flags=re.M)   # a heading is no link
        s = numbered(s, refs)
    if m := re.search(r'#\| *label: *(fig-\S+)', s): s = re.sub(r'(#\| *fig-cap: *")', rf'\1Figure {refs[m[1]][1]}: ', s)
    for a, b in names.items(): s = s.replace(f']({a}', f']({b}')
    return strays(s).replace(base, '')

def strays(text):
    """Links that nbdev laid amiss, taken off: on words such as `bits`, also the name of a drawing function in the appendix, and on
    private names, which have a source on their page but no anchor"""
    return re.sub(r'\[(`\w+`)\]\(https?://[^)\s]*(?:/figures\.html#\w+|\.html#_\w+)\)', r'\1', text)

def told(text, titled):
    "A `show_doc`'s output without a heading that the chapter has already, and without italics that end in mid-sentence"
    if (m := re.search(r'^#+ ([\w.]+)$', text, re.M)) and m[1] in titled:
        text = re.sub(r'\A---\s*', '', text.replace(m[0], '', 1))
    return re.sub(r'^\*(.*)\*\n(?=\S)', r'\1\n', text, flags=re.M)

def page(text, base, names):
    "A processed notebook, ready for smalldocs"
    nb = json.loads(text); refs = references(nb['cells'])
    titled = {m for c in nb['cells'] if c['cell_type'] == 'markdown' for m in re.findall(r'^#+ \[?`?([\w.]+)`?(?:\]\(\S*\))?$', source(c), re.M)}
    for c in nb['cells']:
        c['source'] = resolve(c, refs, base, names)
        for o in c.get('outputs', []):
            if 'text/markdown' not in (d := o.get('data', {})): continue
            d['text/markdown'] = told(strays(numbered(''.join(d['text/markdown']), refs)), titled).replace(base, '')
    return json.dumps(nb)

def sidebar(contents, src):
    "The sidebar's entries with their chapters' numbers; those whose notebook is not there are left out"
    res = []
    for e in contents:
        if isinstance(e, dict): res.append(e | dict(contents=sidebar(e['contents'], src)))
        elif (src/e).exists():
            front = yaml.safe_load(source(json.loads((src/e).read_text())['cells'][0]).strip().strip('-'))
            n = re.match(r'(\d+[a-z]?)_', e)
            res.append(dict(href=e, text=f'{n[1]} {front["title"]}') if n else e)
        else: print(f'sidebar.yml: no {e}: left out')
    return res

def prepare(src, dst, base):
    "Copy what nbdev processed from `src` to `dst`, page by page"
    names = page_names(src)
    for f in src.rglob('*'):
        if not f.is_file() or '_docs' in f.parts: continue
        to = dst/f.relative_to(src); to.parent.mkdir(exist_ok=True, parents=True)
        if f.suffix == '.ipynb': to.with_name(names[f.name]).write_text(page(f.read_text(), base, names))
        elif f.suffix == '.yml':
            t = yaml.safe_load(f.read_text())
            if f.name == 'sidebar.yml': t['website']['sidebar']['contents'] = sidebar(t['website']['sidebar']['contents'], src)
            t = yaml.safe_dump(t, sort_keys=False, allow_unicode=True)
            for a, b in names.items(): t = t.replace(a, b)
            to.write_text(t)
        else: shutil.copy(f, to)

def alone(out):
    "No fonts from another host: the themes' own lists end in the system's"
    for f in (out/'site_libs').rglob('*.css'):
        if 'googleapis' in (t := f.read_text()): f.write_text(re.sub(r'@import url\([^)]*googleapis[^)]*\);?', '', t))

def fetch_katex(folder):
    "A folder with KaTeX, unpacked from a wheel whose hash is known; None when it cannot be had"
    name, version, sha = KATEX; to = folder/'katex'
    if (to/'katex.min.js').exists(): return to
    folder.mkdir(exist_ok=True, parents=True)
    subprocess.run([sys.executable, '-m', 'pip', 'download', '-q', '--disable-pip-version-check', '--no-deps', '-d', str(folder), f'{name}=={version}'],
                   stderr=subprocess.DEVNULL)
    for w in folder.glob('*.whl'):
        if hashlib.sha256(w.read_bytes()).hexdigest() != sha: continue
        with zipfile.ZipFile(w) as z:
            for n in z.namelist():
                _, part, rest = n.partition('/vendor/katex/')
                if rest and not rest.endswith(('/', '.mjs', '.ttf', '.woff')):
                    (to/rest).parent.mkdir(exist_ok=True, parents=True); (to/rest).write_bytes(z.read(n))
        w.unlink()
        return to
    print('KaTeX is not to be had: the pages ask a CDN for it')

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
    alone(out)
    if katex := katex or fetch_katex(cfg.config_path/'.venv/katex'): bundle(out, katex)
    shutil.rmtree(cfg.doc_path, ignore_errors=True); shutil.move(out, cfg.doc_path); shutil.rmtree(dst)
    print(f'{cfg.doc_path}/index.html')

if __name__ == '__main__': main(*sys.argv[1:])
