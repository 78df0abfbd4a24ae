"""JupyterLab in headless Chromium: opens a copy of a notebook, finds its solutions folded, runs all its cells, moves the first slider with
the arrow key and sees the figure change. check_lab.py [NOTEBOOK]; the last line is `N passed, M failed`."""
import os, shutil, socket, subprocess, sys, tempfile, time, urllib.request
from pathlib import Path
from browser import Browser, BrowserError
from notebooks import NBS, named

TRACKER = '@jupyterlab/notebook-extension/tracker.jupyterlab-settings'
# The slider's output and its picture, as text: an image's own bytes, or what is drawn
AREA = "[...document.querySelectorAll('.jp-OutputArea-output')].find(o => o.querySelector('.noUi-handle'))"
PICTURE = f"""(async () => {{ const a = {AREA}; if (!a) return ''; const t = [];
for (const i of a.querySelectorAll('img')) t.push(i.src.startsWith('blob:') ? await (await fetch(i.src)).text() : i.src);
for (const s of a.querySelectorAll('svg')) t.push(s.outerHTML); return t.join('') }})()"""
ERRORS = "[...document.querySelectorAll('.jp-RenderedText[data-mime-type=\"application/vnd.jupyter.error\"], [data-mime-type=\"application/vnd.jupyter.stderr\"] .ansi-red-fg')].map(e => e.textContent.slice(-300))"

NOTEBOOK = "[...window.jupyterapp.shell.widgets('main')].find(w => w.content && w.content.model)"
# Is the kernel there and idle? How many cells of code were not run? And of each cell that asks to be folded, what code it shows nevertheless
READY = f"(() => {{ const k = {NOTEBOOK}?.sessionContext.session?.kernel; return !!k && k.connectionStatus == 'connected' && k.status == 'idle' }})()"
LEFT = f"{NOTEBOOK}.content.widgets.filter(w => w.model.type == 'code' && w.model.sharedModel.getSource().trim() && !w.model.executionCount).length"
FOLDED = f"""{NOTEBOOK}.content.widgets.filter(w => /^#\\| *code-fold: *true/m.test(w.model.sharedModel.getSource()))
.map(w => w.inputHidden ? '' : w.model.sharedModel.getSource().slice(0, 60))"""

def free_port():
    with socket.socket() as s: s.bind(('127.0.0.1', 0)); return s.getsockname()[1]

def start(folder, port):
    "JupyterLab on `folder`, without a token, on this machine alone; notebooks drawn whole"
    settings = folder/'settings'; (settings/TRACKER).parent.mkdir(parents=True)
    (settings/TRACKER).write_text('{"windowingMode": "none"}')
    env = os.environ | dict(JUPYTERLAB_SETTINGS_DIR=str(settings), JUPYTERLAB_WORKSPACES_DIR=str(folder/'spaces'), JUPYTER_RUNTIME_DIR=str(folder/'runtime'))
    root = ['--allow-root'] if hasattr(os, 'getuid') and os.getuid() == 0 else []
    return subprocess.Popen([sys.executable, '-m', 'jupyterlab', '--no-browser', '--ip=127.0.0.1', f'--port={port}', '--IdentityProvider.token=',
        '--LabApp.expose_app_in_browser=True', '--ServerApp.port_retries=0', f'--ServerApp.root_dir={folder}/nbs', *root],
        cwd=folder/'nbs', env=env, stdout=open(folder/'log', 'w'), stderr=subprocess.STDOUT)

def answer(url, process, timeout=120):
    end = time.monotonic() + timeout
    while process.poll() is None and time.monotonic() < end:
        try: return urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=5).read()
        except OSError: time.sleep(.5)
    raise BrowserError('JupyterLab does not answer')

def steps(b, url, name):
    "The things to see, each named before it is tried"
    yield 'JupyterLab opens the notebook'
    b.size(1280, 1000); b.open(f'{url}/lab/tree/{name}?reset', 120)
    b.wait(lambda: b.js("!!window.jupyterapp && document.querySelectorAll('.jp-Notebook .jp-Cell').length > 5"), 120, 'the notebook')
    b.wait(lambda: b.js(READY), 120, 'the kernel')
    yield 'solutions are folded'
    shown = b.js(FOLDED)
    if not shown or any(shown): raise BrowserError(f'{len(shown)} cells to fold, shown: {[s for s in shown if s]}')
    yield 'all cells run without an error'
    b.js("void window.jupyterapp.commands.execute('notebook:run-all-cells').then(() => { window.ran = true })")
    b.wait(lambda: b.js('!!window.ran'), 300, 'the cells')
    b.wait(lambda: b.js(READY), 120, 'the last cell')
    if n := b.js(LEFT): raise BrowserError(f'{n} cells of code were not run')
    if e := b.js(ERRORS): raise BrowserError(e[0])
    yield 'the first slider shows with its figure'
    before = b.wait(lambda: b.js(PICTURE), 60, 'a slider with a picture')
    yield 'the figure follows the slider'
    key = dict(key='ArrowRight', code='ArrowRight', windowsVirtualKeyCode=39)
    b.js(f"(() => {{ const h = {AREA}.querySelector('.noUi-handle'); h.scrollIntoView({{block: 'center'}}); h.focus() }})()")
    for kind in ('keyDown', 'keyUp'): b.call('Input.dispatchKeyEvent', type=kind, **key)
    b.wait(lambda: b.js(PICTURE) not in ('', before), 30, 'another picture')

def main(name='01_packing.ipynb', shot=None):
    good, bad, what, start_at = 0, 0, 'JupyterLab starts', time.monotonic()
    name = named(name).name
    print(f'a copy of {name} in JupyterLab, driven by a headless Chromium; all its cells are run, so this takes half a minute or more', flush=True)
    def done():
        print(f'ok   {what} ({time.monotonic() - start_at:.0f} s)', flush=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as d:
        d = Path(d); (d/'nbs').mkdir(); shutil.copy(NBS/name, d/'nbs')
        port = free_port(); lab = start(d, port)
        try:
            answer(f'http://127.0.0.1:{port}/api', lab)
            with Browser() as b:
                try:
                    for step in steps(b, f'http://127.0.0.1:{port}', name): done(); good, what = good + 1, step
                    done(); good += 1
                finally:
                    if shot: b.screenshot(shot, full=False)
        except BrowserError as e: bad = 1; print(f'FAIL {what}: {e}', (d/'log').read_text()[-1500:] if good == 0 else '')
        finally: lab.terminate(); lab.wait(30)
    print(f'{good} passed, {bad} failed')
    return bad

if __name__ == '__main__': sys.exit(main(*sys.argv[1:]))
