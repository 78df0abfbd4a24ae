"""Run the notebooks as tests, then the hygiene checks; the last line is `N passed, M failed`.

nbdev's own `test_nb` runs each notebook, in a process of its own, two at a time. Counted as passed: each test cell (code
with an `assert` or a `test_...` call, not exported) that ran, each notebook that ran to its end, each hygiene check.
Counted as failed: each notebook that stopped, each check that found something. Cells skipped by a flag count as neither."""
import argparse, ast, builtins, json, os, re, shutil, signal, subprocess, symtable, sys, tempfile, time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
import fold
from notebooks import everything, named

root = Path(__file__).resolve().parent.parent
exports = {'export', 'exports', 'exporti'}

def is_test(cell, shell):
    "Does this code cell check something?"
    if exports & set(cell.directives_): return False
    name = lambda f: getattr(f, 'id', getattr(f, 'attr', ''))
    return any(isinstance(o, ast.Assert) or isinstance(o, ast.Call) and name(o.func).startswith('test_')
               for o in ast.walk(ast.parse(shell.transform_cell(cell.source))))

def run_one(nb, out, skip, force):
    "Run the notebook `nb` in this process and write what happened to the file `out`"
    import turboquant                                       # before any notebook imports MLX: see chapter 06a
    import nbdev.test
    count = dict(tests=0, cells=0)
    class Shell(nbdev.test.CaptureShell):
        "nbdev's shell, counting the cells that ran without an error"
        def cell(self, cell, **kw):
            super().cell(cell, **kw)
            if cell.cell_type != 'code' or self.exc: return
            count['cells'] += 1
            count['tests'] += is_test(cell, self)
    nbdev.test.CaptureShell = Shell
    ok, secs = nbdev.test.test_nb(Path(nb), skip_flags=skip, force_flags=force, basepath=root)
    Path(out).write_text(json.dumps(dict(count, ok=ok, secs=secs)))
    sys.stdout.flush(); sys.stderr.flush()
    os._exit(0)                                             # a failed notebook may leave threads that would be waited for

def launch(nb, flags, limit):
    "Run `nb` in a fresh Python; returns what it counted and the text it left on stderr"
    with tempfile.TemporaryDirectory() as d:
        out, err = Path(d, 'out'), Path(d, 'err')
        env = dict(os.environ, OBJC_DISABLE_INITIALIZE_FORK_SAFETY='YES')
        cmd = [sys.executable, __file__, '--one', str(nb), '--out', str(out), '--flags', flags]
        start = time.time()
        with err.open('w') as e:
            try: why = subprocess.run(cmd, cwd=root, env=env, stdin=subprocess.DEVNULL, stdout=e, stderr=e, timeout=limit).returncode
            except subprocess.TimeoutExpired: why = f'stopped after {limit} s'
        res = json.loads(out.read_text()) if out.exists() else dict(ok=False, tests=0, cells=0, secs=time.time()-start)
        text = err.read_text(errors='replace')
        if not out.exists(): text += f'\nthe process that ran {nb.name} ended early: {why}\n'
        return nb, res, text

def notebooks(paths, flags, workers, limit):
    "Run notebooks `workers` at a time, reporting each; returns passed and failed"
    passed = failed = cells = 0
    with ThreadPoolExecutor(workers) as pool:
        for nb, r, text in pool.map(lambda p: launch(p, flags, limit), paths):
            cells += r['cells']; passed += r['tests'] + r['ok']; failed += not r['ok']
            print(f"{'ok  ' if r['ok'] else 'FAIL'} {nb.name:28} {r['tests']:4} test cells {r['secs']:7.1f} s", flush=True)
            if not r['ok']: print(text, flush=True)
    print(f'{len(paths)} notebooks, {cells} code cells ran')
    return passed, failed

def changed(a, b):
    "Names of files that differ between the folders `a` and `b`, or are in one only"
    files = lambda d: {p.relative_to(d): p for p in d.rglob('*') if p.is_file() and not p.is_symlink()}
    fa, fb = files(a), files(b)
    return sorted(str(k) for k in fa.keys() | fb.keys() if k not in fa or k not in fb or fa[k].read_bytes() != fb[k].read_bytes())

def copy(to):
    "A copy of what nbdev reads and writes, so that a check changes nothing here"
    junk = shutil.ignore_patterns('__pycache__', '.ipynb_checkpoints', '*.so')
    for d in ('nbs', 'turboquant', '.ci'): shutil.copytree(root/d, to/d, symlinks=True, ignore=junk)
    for f in ('settings.ini', '_quarto.yml', 'README.md'): shutil.copy(root/f, to/f)
    return to

def leaves_no_diff(*cmd):
    "Run `cmd` in a copy of the project; returns a complaint, or nothing"
    with tempfile.TemporaryDirectory() as d:
        a, b = copy(Path(d, 'a')), copy(Path(d, 'b'))
        r = subprocess.run(cmd, cwd=b, capture_output=True, text=True, stdin=subprocess.DEVNULL, env=dict(os.environ, PYTHONDONTWRITEBYTECODE='1'))
        if r.returncode: return r.stdout + r.stderr
        files = changed(a, b)
        return f"would change {', '.join(files)}: run `make export` and look at the difference" if files else ''

def said(output):
    "The text of a cell's output"
    return ''.join(''.join(t) for t in (output.get('text', ''), *(v for k, v in output.get('data', {}).items() if k in ('text/plain', 'text/markdown'))))

def stored_errors():
    "Cells that were saved with an error, or with a `nan` although their source asks for none with `isnan`"
    wrong = lambda c, o: (o['output_type'] == 'error' or 'Traceback (most recent call last)' in said(o)
                          or re.search(r'\bnan\b', said(o)) and 'isnan' not in ''.join(c['source']))
    bad = [f"{p.name} (cell {c['id']})" for p in everything() for c in json.loads(p.read_text(encoding='utf-8'))['cells']
           if any(wrong(c, o) for o in c.get('outputs', []))]
    return f"errors or nan stored in {', '.join(bad)}" if bad else ''

def undefined(path):
    "Names that the Python file `path` uses and nobody defines"
    top = symtable.symtable(path.read_text(encoding='utf-8'), str(path), 'exec')
    def scopes(t):
        yield t
        for c in t.get_children(): yield from scopes(c)
    known, used = {*dir(builtins), '__file__'}, set()
    for t in scopes(top):
        for s in t.get_symbols():
            made = s.is_assigned() or s.is_imported() or s.is_namespace()
            if made and (t is top or s.is_declared_global()): known.add(s.get_name())
            if s.is_referenced() and (t is top or s.is_global()): used.add(s.get_name())
    return used - known

def undefined_names():
    "Modules that use a name which nobody defines: a NameError that waits for its line to run"
    with tempfile.TemporaryDirectory() as d:                # can this check fail?
        f = Path(d, 'broken.py'); f.write_text('import os\ndef f(x): return [os.sep + lost for y in x]\n')
        if undefined(f) != {'lost'}: return f'the check itself is broken: {undefined(f)}'
    bad = [f"{p.name}: {', '.join(sorted(u))}" for p in sorted((root/'turboquant').glob('**/*.py')) if (u := undefined(p))]
    return f"undefined: {'; '.join(bad)}" if bad else ''

def readme_runs():
    "The README's first piece of Python, run as it is printed; what went wrong, or nothing"
    code = re.search(r'```python\n(.*?)```', (root/'README.md').read_text(encoding='utf-8'), re.S)[1]
    r = subprocess.run([sys.executable, '-c', code + '\nprint(out.shape, float(out.sum()))'], cwd=root, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return '' if r.returncode == 0 and '(1, 8, 1, 64) ' in r.stdout and 'nan' not in r.stdout else r.stdout + r.stderr

def lost_anchors():
    "Links within the book to a heading that is not there, as Jupyter and GitHub write its anchor: 04_sdpa_int4.ipynb#What-we-built"
    text = {p.name: [''.join(c['source']) for c in json.loads(p.read_text(encoding='utf-8'))['cells'] if c['cell_type'] == 'markdown'] for p in everything()}
    heads = {n: {re.sub(r'[`*]', '', h.strip()).replace(' ', '-') for s in t for h in re.findall(r'^#+ (.*)', s, re.M)} for n, t in text.items()}
    bad = [f'{n}: {to}#{a}' for n, t in text.items() for s in t for to, a in re.findall(r'\]\(((?:\w+\.ipynb)?)#([^)\s]+)\)', s)
           if a not in heads.get(to or n, ()) and not a.startswith(('fig-', 'eq-'))]
    return f"no such heading: {'; '.join(bad)}" if bad else ''

def lost_openings():
    "Notebooks whose first cell of text says more than title, subtitle and settings: nbdev would leave it off the page"
    first = lambda p: next(''.join(c['source']) for c in json.loads(p.read_text())['cells'] if c['cell_type'] == 'markdown')
    bad = [p.name for p in sorted((root/'nbs').glob('[0-9]*.ipynb')) if any(l[:2] not in ('# ', '> ', '- ') for l in first(p).splitlines() if l)]
    return f"text in the title's cell of {', '.join(bad)}" if bad else ''

def hygiene():
    "Notebooks, modules and README agree; returns passed and failed"
    tool = lambda n: str(Path(sys.executable).parent/n)
    checks = {'nbdev_export leaves no diff': lambda: leaves_no_diff(tool('nbdev_export')),
              'nbdev_clean leaves no diff': lambda: leaves_no_diff(tool('nbdev_clean')),
              'README.md is that of nbs/index.ipynb': lambda: leaves_no_diff(sys.executable, '.ci/readme.py'),
              'the code in README.md runs': readme_runs,
              'no error and no stray nan is stored in a notebook': stored_errors,
              'the modules use no undefined name': undefined_names,
              'links lead to headings': lost_anchors,
              'solutions are folded in JupyterLab, captions stand there': fold.unfolded,
              'titles stand in cells of their own': lost_openings}
    failed = 0
    for name, check in checks.items():
        problem = check(); failed += bool(problem)
        print('FAIL' if problem else 'ok  ', name + (f': {problem}' if problem else ''), flush=True)
    return len(checks) - failed, failed

def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument('paths', nargs='*', help='notebooks, as paths or chapter numbers (default: all, and the hygiene checks)')
    p.add_argument('--flags', default='', help='flags whose cells are to run as well')
    p.add_argument('--workers', type=int, default=2)
    p.add_argument('--limit', type=int, default=1200, help='seconds for one notebook')
    p.add_argument('--one'); p.add_argument('--out')
    a = p.parse_args()
    sys.path.insert(0, str(root))
    from nbdev.config import get_config
    skip = get_config(path=root).tst_flags.split()
    if a.one: return run_one(a.one, a.out, skip, a.flags.split())
    if lost := [f for f in a.flags.split() if f not in skip]: p.error(f"no flag {', '.join(lost)}: there are {', '.join(skip)}")
    paths = [*map(named, a.paths)] or everything()
    print('skipping cells flagged:', ' '.join(f for f in skip if f not in a.flags.split()) or 'none')
    signal.signal(signal.SIGINT, signal.default_int_handler)     # a job in the background ignores it, and so would its children
    passed, failed = notebooks(paths, a.flags, a.workers, a.limit)
    if not a.paths: p2, f2 = hygiene(); passed += p2; failed += f2
    line = f'{passed} passed, {failed} failed'
    if (root/'.venv').is_dir(): (root/'.venv/summary').write_text(line + '\n')
    print(line, flush=True)
    sys.exit(failed > 0 or passed == 0)

if __name__ == '__main__': main()
