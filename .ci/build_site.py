"""The book as a website in _docs: nbdev's processors, then smalldocs, which is pure Python; or Quarto, from the same pages.

build_site.py [--katex DIR] [--quarto]. DIR holds a KaTeX distribution to ship with the pages; without it one comes from PyPI, and
without a network the pages load KaTeX from a CDN. smalldocs lacks a few of Quarto's conveniences, so they are resolved here: numbers
of figures and equations, file names, links. _docs/notebooks holds the notebooks with a first cell that installs the library: what a
page's download link gives, and what the site's workflow publishes for Colab to open."""
import argparse, ast, base64, hashlib, html, importlib, json, os, re, shlex, shutil, subprocess, sys, tempfile, zipfile
from dataclasses import dataclass
from pathlib import Path
from nbdev.config import get_config
from nbdev.quarto import nbdev_sidebar, refresh_quarto_yml
from nbdev import serve
from nbdev.process import Processor
from nbdev.processors import FilterDefaults, exec_show_docs, rm_export
from smalldocs.markdown import pandoc_id
from fold import is_caption
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
            while j < len(cells) and getattr(cells[j], 'has_sd', 0): j += 1
            c.documented = sum(trimmed(d, documented(source(c))) for d in cells[i + 1:j]) > 0
            cells[i:j] = [*cells[i + 1:j][::-1], c]                     # nbdev puts them in backwards
    def __call__(self, cell):
        if cell.cell_type != 'code' or not cell.directives_: return
        export = {'export', 'exporti'} & cell.directives_.keys()
        if {'hide', 'default_exp'} & cell.directives_.keys() or export and only_imports(source(cell)): del cell['source']
        elif export: cell.source = '#| code-fold: show\n#| code-summary: "Source"\n'*cell.documented + cell.source

def only_imports(text): return all(isinstance(n, (ast.Import, ast.ImportFrom)) for n in ast.parse(text).body)

def documented(text):
    "Name -> whether its definition in the code `text` has a docstring"
    defs = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return {n.name: bool(ast.get_docstring(n)) for n in ast.walk(ast.parse(text)) if isinstance(n, defs)}

def trimmed(cell, own):
    """Drop the signature from a `show_doc`'s output, and a docstring that is inherited: `own` says which names have one of their own.
    Returns whether any text is left."""
    some = False
    for o in cell.outputs or []:
        if not (t := ''.join(o.get('data', {}).get('text/markdown', ''))): continue
        head, name, rest = re.fullmatch(r'(.*?^#+ (\S+)$|)(.*)', re.sub(r'```python.*?```\s*', '', t, flags=re.S), re.M | re.S).groups()
        if name and not own.get(name.split('.')[-1], True): rest = re.sub(r'^(?!\|).*\n?', '', rest, flags=re.M)
        o['data']['text/markdown'] = head + '\n\n' + rest.lstrip(); some |= bool(rest.strip())
    return some

class Filters(FilterDefaults):
    "nbdev's processors, with those two in their places"
    def base_procs(self): return [{exec_show_docs: KeepStored, rm_export: ShowSource}.get(p, p) for p in super().base_procs()]

@dataclass
class Address:
    """Where the repository is. GitHub's workflow knows, a clone's `origin` too; else `settings.ini` has the only word, unconfirmed.
    `told` is how settings.ini spells it, as nbdev writes it into the pages."""
    told: str; url: str; branch: str; commit: str; sure: bool
    def blob(self, path, branch=None): return f'{self.url}/blob/{branch or self.branch}/{path}'
    def colab(self, name):
        "Colab opens notebooks from GitHub: those of the branch `colab`, to which the site's workflow pushes _docs/notebooks"
        m = re.fullmatch(r'https://github\.com/([^/]+/[^/]+)', self.url)
        return f'https://colab.research.google.com/github/{m[1]}/blob/colab/{name}' if m and self.sure else None

def address(cfg):
    env, git = os.environ.get, lambda *a: subprocess.run(['git', *a], cwd=cfg.config_path, capture_output=True, text=True).stdout.strip()
    at = f'{env("GITHUB_SERVER_URL", "https://github.com")}/{env("GITHUB_REPOSITORY")}' if env('GITHUB_REPOSITORY') else ''
    if not at and (m := re.search(r'github\.com[:/]([^/]+/[^/]+?)(?:\.git)?/?$', git('config', '--get', 'remote.origin.url'))): at = f'https://github.com/{m[1]}'
    return Address(cfg.git_url, at or cfg.git_url, cfg.branch, env('GITHUB_SHA', ''), bool(at))

INSTALL = '''# Only where the library is missing, as on Colab: fetches the book, {which}, and installs it with the
# versions that made the outputs below. There is no Metal on Colab's machines: the kernels run on the CPU.
import importlib.util
if not importlib.util.find_spec('turboquant'):
    !git clone -q {url} book && git -C book checkout -q {ref}
    %pip install -q ./book {pins}
    %cd book/nbs'''

# What Colab must not choose for itself; the rest (NumPy, matplotlib, IPython) is what it has
PINNED = ['mlx', 'mlx-cpu', 'mlx-lm', 'fastcore', 'huggingface_hub', 'tokenizers', 'transformers']

def pins(cfg, imported):
    "Requirements with their versions: `PINNED`, and what else for development a notebook imports"
    at = dict(l.split('==') for l in (cfg.config_path/'.ci/pins.txt').read_text().splitlines() if '==' in l)
    dev = {re.split('[=<>~! ]', r)[0] for r in shlex.split(cfg.dev_requirements)} - {'nbdev', 'fastcore'}
    return ' '.join(f'{n}=={at[n]}' for n in [*PINNED, *sorted(dev & imported)] if n in at)

def imports(nb):
    "The top-level modules that a notebook's cells import"
    code = '\n'.join(source(c) for c in nb['cells'] if c['cell_type'] == 'code')
    return set(re.findall(r'^\s*(?:from|import) (\w+)', code, re.M))

def editions(cfg, repo, to):
    "The notebooks, each with `INSTALL` before its first cell of code, in folder `to`; returns their names"
    to.mkdir(parents=True); names = []
    which = f'at commit {repo.commit[:12]}' if repo.commit else f'branch {repo.branch}'
    if not repo.sure: which += ',\n# from the address in settings.ini, which nobody has confirmed'
    for f in sorted(cfg.nbs_path.glob('[0-9]*.ipynb')):
        nb = json.loads(f.read_text())
        if not (used := imports(nb)): continue
        text = INSTALL.format(which=which, url=repo.url, ref=repo.commit or repo.branch, pins=pins(cfg, used))
        at = next(i for i, c in enumerate(nb['cells']) if c['cell_type'] == 'code')
        nb['cells'].insert(at, dict(cell_type='code', execution_count=None, id='install', metadata={}, outputs=[], source=text.splitlines(True)))
        (to/f.name).write_text(json.dumps(nb, ensure_ascii=False, indent=1)); names.append(f.name)
    return names

def ways(f, repo, module, edition):
    "The line under a page's title: where the chapter runs, and its sources. `f` is the notebook, `module` its module or None"
    e = html.escape; link = lambda text, href, more='': f'<a href="{e(href)}"{more}>{text}</a>'
    out = []
    if edition:
        if c := repo.colab(f.name): out.append(link('Open in Colab', c) + ' (on its CPU: Colab has no Metal)')
        out.append(link('Download the notebook', f'notebooks/{f.name}', ' download')
                   + ('' if repo.colab(f.name) else ', for Jupyter or to upload to Colab (on its CPU: Colab has no Metal)'))
    src = link('notebook', repo.blob(f'nbs/{f.name}')) + (', ' + link('module', repo.blob(module)) if module else '')
    out.append(f'Source: {src}' + ('' if repo.sure else ', once the repository is public'))
    return '```{=html}\n<p class="tq-ways">' + ' · '.join(out) + '</p>\n```'

def page_names(src):
    "Notebook file -> the file it becomes: nbdev drops the chapter's number from a page's name"
    names = {}
    for f in src.glob('**/*.ipynb'):
        m = re.search(r'^output-file: (\S+)\.html', source(json.loads(f.read_text())['cells'][0]), re.M)
        names[f.name] = (m[1] if m else f.stem) + '.ipynb'
    return names

def options(text): return re.match(r'(?:#\|.*\n?)*', text)[0]            # a cell's `#|` lines: those in its strings are none

def references(cells):
    "Label -> ('Figure' or 'Equation', its number on the page)"
    refs, n = {}, dict(fig=0, eq=0)
    for c in cells:
        code = c['cell_type'] == 'code'
        for label in re.findall(r'#\| *label: *(fig-\S+)' if code else r'\{#(eq-[\w-]+)\}', options(source(c)) if code else source(c)):
            kind = label.split('-')[0]; n[kind] += 1
            refs[label] = (dict(fig='Figure', eq='Equation')[kind], n[kind])
    return refs

def numbered(text, refs):
    "References to figures and equations as links with their numbers"
    return re.sub(r'@((?:fig|eq)-[\w-]+)', lambda m: f'[{refs[m[1]][0]} {refs[m[1]][1]}](#{m[1]})' if m[1] in refs else m[0], text)

def resolve(cell, refs, symbols, names):
    "The cell's source with references, captions and links written out; `refs` is None where Quarto does the first two"
    s = source(cell)
    if cell['cell_type'] == 'markdown' and refs is not None:
        s = re.sub(r'\$\$\s*(.*?)\s*\$\$ *\{#(eq-[\w-]+)\}',
                   lambda m: f'::: {{#{m[2]}}}\n$$\n{m[1]} \\tag{{{refs[m[2]][1]}}}\n$$\n:::', s, flags=re.S)
        s = numbered(s, refs)
    if cell['cell_type'] == 'raw': s = re.sub(r'^output-file:.*\n', '', s, flags=re.M)
    if cell['cell_type'] == 'markdown':
        s = re.sub(r'^(#+ .*?)\[(`[^`]+`)\]\(\S*\)', r'\1\2', s, flags=re.M)   # a heading is no link
        s = re.sub(r'\[\[(`[^`]+`)\]\([^)\s]*\)\]\(', r'[\1](', s)       # nor is a link within a link: the writer's stays
        s = re.sub(r'\]\(((?:\w+\.ipynb)?)#([^)\s]+)\)', lambda m: f']({m[1]}#{m[2] if m[2] in (refs or ()) else anchor(m[2])})', s)
    if refs and (m := figure_label(cell)): s = re.sub(r'(#\| *fig-cap: *")', rf'\1Figure {refs[m][1]}: ', s, count=1)
    for a, b in names.items(): s = s.replace(f']({a}', f']({b}')
    return symbols.links(s)

def figure_label(cell):
    "The `fig-...` label of a cell of code, or None"
    m = cell['cell_type'] == 'code' and re.search(r'#\| *label: *(fig-\S+)', options(source(cell)))
    return m[1] if m else None

def anchor(heading):
    "A heading's anchor on the site, from the one that Jupyter and GitHub give it: What-we-built"
    return pandoc_id(heading.replace('-', ' '))

@dataclass
class Symbols:
    """What the links mean that nbdev lays on each `name` in the text of one notebook. nbdev takes the first of that name anywhere in the
    library: an ordinary word such as `held` or `step`, or another chapter's, more often than not. `at`: module -> name -> page#anchor."""
    at: dict; module: str; imported: dict; base: str
    def links(self, text):
        "Text with each of those links led to what is meant, or taken off; addresses become relative"
        return re.sub(rf'\[(`([\w.]+)(?:\(\))?`)\]\({re.escape(self.base)}\w+\.html#[\w.]+\)', self.one, text).replace(self.base, '')
    def one(self, m):
        to = self.target(m[2])
        return f'[{m[1]}]({to})' if to else m[1]
    def target(self, name):
        "The page's own public name; one that its notebook imports; or one that is no ordinary word and stands in one module only"
        if any(p.startswith('_') for p in name.split('.')): return None           # has no anchor
        has = [m for m in self.at if name in self.at[m]]
        if self.module in has: return self.at[self.module][name]
        if (m := self.imported.get(name.split('.')[0])) in has: return self.at[m][name]
        plain = not re.search(r'[a-z0-9][A-Z]|_', name)
        return None if plain or len(has) != 1 or has == ['figures'] else self.at[has[0]][name]

def symbols(cfg, nb, base):
    "The `Symbols` of the notebook `nb`, a dict"
    lib = cfg.lib_path.name; code = '\n'.join(source(c) for c in nb['cells'] if c['cell_type'] == 'code')
    at = {m.removeprefix(f'{lib}.'): {n.removeprefix(f'{m}.'): to for n, (to, _) in d.items()}
          for m, d in importlib.import_module(f'{lib}._modidx').d['syms'].items()}
    imported = {n.strip(): m[1] for m in re.finditer(rf'^\s*from {lib}\.(\w+) import (\([^)]*\)|[^\n#;]*)', code, re.M) for n in m[2].strip('()').split(',')}
    own = re.search(r'#\| *default_exp (\w+)', code)
    return Symbols(at, own and own[1], imported, base)

def told(text, titled):
    """A `show_doc`'s output without a heading that the chapter has already, and without italics that end in mid-sentence. Of a heading
    with nothing below it only the anchor stays."""
    text = re.sub(r'\*(Call self as a function|Return repr\(self\))\.\*', '', text)   # what Python says of methods that say nothing
    if m := re.search(r'^#+ ([\w.]+)$', text, re.M):
        alone = 'source]' in text and not text[m.end():].strip()
        if alone: return '' if m[1] in titled else f'::: {{#{pandoc_id(m[1])}}}\n:::\n'
        if m[1] in titled: text = re.sub(r'\A---\s*', '', text.replace(m[0], '', 1))
    text = re.sub(r'^#+ .*', lambda h: h[0].replace('__', r'\_\_'), text, flags=re.M)   # no bold type in `Model.__call__`
    as_it_is = lambda m: m[0] if m[0][0] == '`' else ''.join('\\' + c for c in m[0])
    text = re.sub(r'`[^`]*`|\^', as_it_is, text)                      # x^2 does not begin raised type
    text = re.sub(r'`[^`]*`|(?<![-\w])--[a-z][\w-]*', lambda m: m[0] if m[0][0] == '`' else f'`{m[0]}`', text)   # nor is --option a dash
    text = re.sub(r'^\*(.*)\*\n(?=\S)', r'\1\n', text, flags=re.M)
    star = lambda m: m[0] if m[0][0] == '`' else r'\*'               # a star within a sentence in italics
    return re.sub(r'^\*(.+\*.*)\*$', lambda m: '*' + re.sub(r'`[^`]*`|\*', star, m[1]) + '*', text, flags=re.M)

def joined(outputs):
    "Outputs, with what was printed in pieces in one"
    out = []
    for o in outputs:
        if out and o['output_type'] == out[-1]['output_type'] == 'stream' and o['name'] == out[-1]['name']:
            out[-1] = out[-1] | dict(text=''.join(out[-1]['text']) + ''.join(o['text']))
        else: out.append(o)
    return out

def page(text, symbols, names, line=None, quarto=False):
    "A processed notebook, ready for smalldocs or Quarto; `line` goes under its title"
    nb = json.loads(text); refs = None if quarto else references(nb['cells'])
    titled = {m for c in nb['cells'] if c['cell_type'] == 'markdown' for m in re.findall(r'^#+ \[?`?([\w.]+)`?(?:\]\(\S*\))?$', source(c), re.M)}
    for c in nb['cells']:
        c['source'] = resolve(c, refs, symbols, names)
        label = figure_label(c) if refs and '#| fig-cap' not in options(c['source']) else None
        if c.get('outputs'): c['outputs'] = joined(o for o in c['outputs'] if not is_caption(o))     # Jupyter's: here the figure has one
        for o in c.get('outputs', []):
            if 'text/markdown' in (d := o.get('data', {})):
                d['text/markdown'] = told(symbols.links(numbered(''.join(d['text/markdown']), refs or {})), titled).splitlines(True)
            if label and 'text/html' in d:                              # an interactive figure brings its own caption
                d['text/html'] = ''.join(d['text/html']).replace('<figcaption>', f'<figcaption>Figure {refs[label][1]}: ', 1).splitlines(True)
    if line: nb['cells'].insert(1, dict(cell_type='markdown', metadata={}, source=line))
    return json.dumps(nb)

def sidebar(contents, src):
    "The sidebar's entries with their chapters' numbers; those whose notebook is not there are left out"
    res = []
    for e in contents:
        if isinstance(e, dict): res.append(e | dict(contents=sidebar(e['contents'], src)))
        elif (src/e).exists():
            n = re.match(r'(\d+[a-z]*)_', e)
            res.append(dict(href=e, text=f'{n[1]} {front(json.loads((src/e).read_text()))["title"]}') if n else e)
        else: print(f'sidebar.yml: no {e}: left out')
    return res

def prepare(cfg, repo, src, dst, there, quarto=False):
    "Copy what nbdev processed from `src` to `dst`, page by page; `there`: the names of the notebooks to download"
    base, names = f'{cfg.doc_host}{cfg.doc_baseurl}'.rstrip('/') + '/', page_names(src)
    for f in src.rglob('*'):
        if not f.is_file() or '_docs' in f.parts: continue
        to = dst/f.relative_to(src); to.parent.mkdir(exist_ok=True, parents=True)
        if f.suffix == '.ipynb':
            nb = cfg.nbs_path/f.name; named = symbols(cfg, json.loads(nb.read_text()), base)
            line = None if nb.name == 'index.ipynb' else ways(nb, repo, named.module and f'{cfg.lib_path.name}/{named.module}.py', nb.name in there)
            to.with_name(names[f.name]).write_text(page(f.read_text(), named, names, line, quarto).replace(repo.told, repo.url))
        elif f.suffix == '.yml':
            t = yaml.safe_load(f.read_text())
            if f.name == 'sidebar.yml': t['website']['sidebar']['contents'] = sidebar(t['website']['sidebar']['contents'], src)
            t = yaml.safe_dump(t, sort_keys=False, allow_unicode=True)
            for a, b in [*names.items(), (repo.told, repo.url)]: t = t.replace(a, b)
            to.write_text(t)
        else: shutil.copy(f, to)

def by_line(code):
    "Highlighted code with a span for each line, which knows its indentation: a long line wraps below its own beginning"
    out, opened = [], []
    for l in code.split('\n'):
        text, again = html.unescape(re.sub('<.*?>', '', l)), ''.join(opened)
        for tag in re.findall('<.*?>', l): opened.pop() if tag == '</span>' else opened.append(tag)
        out.append(f'<span class="tq-line" style="--i:{len(text) - len(text.lstrip())}">{again}{l}{"</span>"*len(opened)}</span>')
    return '\n'.join(out)

def is_wide_table(text): return sum(len(html.unescape(l)) > 98 for l in text.split('\n')) > 3     # its columns stay in line: it scrolls

def sized(m):
    "An image tag with the width its PNG asks for: figures are stored with two pixels for one, and a small one must not be blown up"
    head = base64.b64decode(m[2][:96])
    if head[37:41] != b'pHYs': return m[0]
    wide, per_metre = (int.from_bytes(head[i:i + 4], 'big') for i in (16, 41))
    return f'{m[1]}width="{round(wide * 96 / (per_metre * .0254))}" src="data:image/png;base64,{m[2]}'

def stacked(m):
    """A table of four columns or more with sentences in them, for phones: each cell knows its column's title, so that a row can be shown
    as a heading with lines below it, or with one line when its cells are short (styles.css does that)"""
    said = lambda c: html.unescape(re.sub('<[^>]*>', '', c)).strip()
    heads, body = [said(h) for h in re.findall(r'<th\b[^>]*>(.*?)</th>', m[0], re.S)], m[0].split('<tbody', 1)
    rows = [re.findall(r'<td\b[^>]*>(.*?)</td>', r, re.S) for r in re.findall(r'<tr\b.*?</tr>', body[-1], re.S)]
    sizes = [len(said(c)) for r in rows for c in r[1:]]
    if len(heads) < 4 or max((len(said(c)) for r in rows for c in r), default=0) < 25: return m[0]
    for r in re.findall(r'<tr\b.*?</tr>', body[1], re.S):
        names = iter(heads)
        body[1] = body[1].replace(r, re.sub(r'<td\b', lambda _: f'<td data-column="{html.escape(next(names, ""))}"', r))
    return re.sub(r'class="', f'class="tq-rows{" tq-short" if max(sizes) < 40 else ""} ', '<tbody'.join(body), count=1)

def alone(out):
    """No fonts from another host: the themes' own lists end in the system's. An icon needs no address beside it, code in a caption is set
    as such, figures have their own width, code and outputs are cut into lines, and tables know how to be rows on a phone"""
    for h in out.glob('*.html'):
        t = re.sub(r'(<i class="bi bi-github"[^>]*></i>) <span class="menu-text">[^<]*</span>', r'\1', h.read_text())
        t = re.sub(r'<table class="caption-top table">.*?</table>', stacked, t, flags=re.S)
        t = re.sub(r'(<img [^>]*?)src="data:image/png;base64,([\w+/]{96,})', sized, t)
        t = re.sub(r'(?<=<figcaption>).*?(?=</figcaption>)', lambda m: re.sub('`([^`<]+)`', r'<code>\1</code>', m[0]), t, flags=re.S)
        h.write_text(re.sub(r'((?:<pre class="sourceCode [^>]*>|<div class="cell-output[^>]*>\s*<pre>)<code[^>]*>)(.*?)(</code></pre>)',
                            lambda m: m[0] if m[1][1] == 'd' and is_wide_table(m[2]) else m[1] + by_line(m[2]) + m[3], t, flags=re.S))
    for f in (out/'site_libs').rglob('*.css'):
        if 'googleapis' in (t := f.read_text()): f.write_text(re.sub(r'@import url\([^)]*googleapis[^)]*\);?', '', t))

def front(nb): return yaml.safe_load(source(nb['cells'][0]).strip().strip('-'))

def for_machines(out, src, cfg):
    "llms.txt in the book's order, each page with its subtitle; in the pages' texts a figure that moves is its caption and its words"
    moving = re.compile(r'<figure id="tq-.*?<img [^>]*alt="([^"]*)"[^>]*>(?:<figcaption>(.*?)</figcaption>)?.*?</figure>', re.S)
    for f in out.glob('*.llms.md'):
        t = moving.sub(lambda m: html.unescape(f'Figure with controls: {m[2] or ""} At first it shows: {m[1]}'), f.read_text())
        f.write_text(re.sub(r'```\{=html\}.*?```\n*|<!-- WARNING.*?-->\n*', '', t, flags=re.S))
    def line(e):
        f = src/(e['href'] if isinstance(e, dict) else e); m = front(json.loads(f.read_text()))
        return f'- [{e["text"] if isinstance(e, dict) else m["title"]}]({cfg.doc_host}{cfg.doc_baseurl}/{f.stem}.llms.md): {m.get("description", "")}'
    lines = [f'# {cfg.title}\n', f'> {cfg.description}']
    for e in yaml.safe_load((src/'sidebar.yml').read_text())['website']['sidebar']['contents']:
        lines += [f'\n## {e["section"]}\n', *map(line, e['contents'])] if isinstance(e, dict) and 'section' in e else ['', line(e)]
    (out/'llms.txt').write_text('\n'.join(lines) + '\n')

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
        h.write_text(re.sub(r'https://cdn\.jsdelivr\.net/npm/katex@[\w.]+/dist', up + 'site_libs/katex', h.read_text()))

def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument('--katex', type=Path); a.add_argument('--quarto', action='store_true'); a = a.parse_args()
    if a.quarto and not shutil.which('quarto'): sys.exit('--quarto: no `quarto` here; see https://quarto.org/docs/download, or build without it')
    cfg = get_config(); refresh_quarto_yml(); nbdev_sidebar.__wrapped__()
    serve.FilterDefaults = Filters                          # seen in this process only: hence no workers below
    print(f"building {len(list(cfg.nbs_path.glob('*.ipynb')))} pages, about a minute", flush=True)
    dst, repo, notebooks = cfg.config_path/'_site_src', address(cfg), Path(tempfile.mkdtemp())/'notebooks'
    shutil.rmtree(dst, ignore_errors=True); dst.mkdir()
    prepare(cfg, repo, serve.proc_nbs(n_workers=0, force=True), dst, editions(cfg, repo, notebooks), a.quarto)
    if a.quarto: subprocess.run(['quarto', 'render', '--no-cache'], cwd=dst, check=True)
    else: subprocess.run([str(Path(sys.executable).parent/'smalldocs'), 'render', str(dst)], check=True)
    out = dst/cfg.doc_path.name
    if not a.quarto: alone(out); for_machines(out, dst, cfg)
    if katex := a.katex or fetch_katex(cfg.config_path/'.venv/katex'): bundle(out, katex)
    shutil.move(notebooks, out/'notebooks'); notebooks.parent.rmdir()
    shutil.rmtree(cfg.doc_path, ignore_errors=True); shutil.move(out, cfg.doc_path); shutil.rmtree(dst)
    print(f'{cfg.doc_path}/index.html')

if __name__ == '__main__': main()
