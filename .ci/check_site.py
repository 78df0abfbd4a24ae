"""Headless Chromium over every page of the site in _docs, with no way to any other host.

check_site.py [--shots DIR] [PAGE ...]: check all pages, or the named ones (`packing.html`); DIR gets pictures of each page in both
themes and both widths. Per page: no error on the console and no failed request of its own, every link and anchor inside the site
leads somewhere, every image has its text and loads, no sideways scroll at 390 and 1280 pixels, both themes render with text that can
be read, formulas and references are resolved, an --option is no dash, figures are numbered without a gap, headings of the API have a
text, and each interactive figure moves with each of its controls. The last line is `N passed, M failed`."""
import argparse, functools, http.server, json, re, sys, threading, time
from pathlib import Path
from urllib.parse import unquote, urlsplit
from browser import Browser, BrowserError

DOCS = Path(__file__).resolve().parent.parent/'_docs'
PREFIX = '/turboquant/'                                     # as on GitHub Pages: what links to the host's root is seen to be broken
WIDTHS = {390: 'phone', 1280: 'desk'}

class Handler(http.server.SimpleHTTPRequestHandler):
    "Serves _docs under PREFIX, silently; the root's favicon, which browsers ask for, is no fault"
    def translate_path(self, path):
        p = unquote(urlsplit(path).path)
        return super().translate_path('/' + p[len(PREFIX):]) if p.startswith(PREFIX) else '/nonexistent'
    def do_GET(self):
        if self.path == '/favicon.ico': self.send_response(204); self.end_headers()
        else: super().do_GET()
    def log_message(self, *_): pass

def serve(root):
    "The address of a server on `root`, in a thread of its own"
    s = http.server.ThreadingHTTPServer(('127.0.0.1', 0), functools.partial(Handler, directory=str(root)))
    threading.Thread(target=s.serve_forever, daemon=True).start()
    return f'http://127.0.0.1:{s.server_port}'

# What the page knows of itself
FACTS = r"""(() => {
const seen = e => !!(e.offsetWidth || e.offsetHeight || e.getClientRects().length), main = document.querySelector('main') || document.body;
const walk = document.createTreeWalker(main, NodeFilter.SHOW_TEXT), left = [];
while (walk.nextNode()) { const e = walk.currentNode.parentElement;
  if (!e.closest('pre, code, script, style, .katex, annotation')) {
    const m = walk.currentNode.data.match(/@(fig|eq|tbl|sec)-[\w-]+|\{#(fig|eq|tbl|sec)-[\w-]+\}|\{\{<[^>]*>\}\}|\\\(|\\\[|\?\?\?|[\s(\[]–[a-z][\w-]*/); if (m) left.push(m[0]) } }
return { links: [...document.querySelectorAll('a[href]')].map(a => [a.href, a.getAttribute('href'), a.textContent.trim().slice(0, 40)]),
  ids: [...document.querySelectorAll('[id]')].map(e => e.id).concat([...document.querySelectorAll('a[name]')].map(e => e.name)),
  twice: [...document.querySelectorAll('[id]')].map(e => e.id).filter((x, i, a) => a.indexOf(x) != i),
  images: [...document.querySelectorAll('img')].map(i => [i.src.slice(0, 90), (i.alt || '').trim(), i.complete && i.naturalWidth > 0]),
  captions: [...main.querySelectorAll('figcaption')].map(c => c.textContent.trim()),
  mute: [...main.querySelectorAll('.cell-output-markdown')].filter(d => /^\s*source\s*\S+\s*$/.test(d.textContent) && d.querySelector('h3, h4')).map(d => d.querySelector('h3, h4').textContent),
  drawings: [...main.querySelectorAll('svg')].filter(s => seen(s) && !s.closest('[aria-hidden=true], [aria-label], [role=presentation], button, a, .katex') && !s.querySelector('title')).length,
  buttons: [...document.querySelectorAll('button, a, input, select')].filter(b => seen(b) && !(b.textContent.trim() || b.ariaLabel || b.title ||
    b.querySelector('img[alt], [aria-label]') || (b.labels && b.labels.length) || b.placeholder)).map(b => b.outerHTML.slice(0, 90)),
  notebook: [...document.querySelectorAll('a[download]')].map(a => a.getAttribute('href')), h1: document.querySelectorAll('h1').length, left, math: document.querySelectorAll('.katex').length,
  mathErrors: [...document.querySelectorAll('.katex-error')].map(e => e.title || e.textContent) } })()"""

# What sticks out on the right: pixels to scroll, and what of the text's column is cut off; elements inside a box that scrolls do not count
WIDE = r"""(() => { const d = document.documentElement, w = d.clientWidth, out = [], main = document.querySelector('main') || document.body;
let over = Math.max(d.scrollWidth, document.body.scrollWidth) - w;
for (const t of w < 600 ? main.querySelectorAll('table.tq-rows') : []) if (t.scrollWidth > w || t.parentElement.scrollWidth > w) { over = Math.max(over, t.scrollWidth - w); out.push('table ' + t.textContent.trim().slice(0, 20)) }
for (const e of main.querySelectorAll('*')) { const r = e.getBoundingClientRect(); if (!r.width || r.right <= w + 1 || e.ownerSVGElement || e.closest('.katex-mathml')) continue;
  let p = e.parentElement; while (p && p != document.body && !/auto|scroll/.test(getComputedStyle(p).overflowX)) p = p.parentElement;
  if (!p || p == document.body) { over = Math.max(over, r.right - w);
    out.push(e.tagName.toLowerCase() + (e.id ? '#' + e.id : '') + '.' + String(e.className.baseVal ?? e.className).split(' ').join('.') + ' ' + Math.round(r.right)) } }
return [Math.round(over), out.slice(-3)] })()"""

# Text too pale for its ground (WCAG contrast), the page's own ground, and which theme the page says it shows
THEME = r"""(() => {
const c = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
const rgb = s => { c.clearRect(0, 0, 1, 1); c.fillStyle = s; c.fillRect(0, 0, 1, 1); const d = c.getImageData(0, 0, 1, 1).data; return [d[0], d[1], d[2], d[3]/255] };
const over = (a, b) => a.slice(0, 3).map((x, i) => x*a[3] + b[i]*(1 - a[3]));
const lum = v => { const [r, g, b] = v.map(x => (x /= 255) <= .03928 ? x/12.92 : ((x + .055)/1.055)**2.4); return .2126*r + .7152*g + .0722*b };
const ground = e => { const s = []; for (; e; e = e.parentElement) s.push(rgb(getComputedStyle(e).backgroundColor));
  return s.reverse().reduce((b, a) => over(a, b), [255, 255, 255]) };
const pale = {}, memo = new Map(), w = document.createTreeWalker(document.querySelector('main') || document.body, NodeFilter.SHOW_TEXT);
while (w.nextNode()) { const e = w.currentNode.parentElement; if (!w.currentNode.data.trim() || e.closest('script, style, [hidden]')) continue;
  if (!memo.has(e)) { const b = ground(e), t = getComputedStyle(e), f = over(rgb(t.color), b), x = lum(f), y = lum(b);
    memo.set(e, (Math.max(x, y) + .05)/(Math.min(x, y) + .05)) }
  if (memo.get(e) < MIN) pale[e.tagName.toLowerCase() + '.' + e.className] = [+memo.get(e).toFixed(2), w.currentNode.data.trim().slice(0, 30)] }
return { ground: lum(ground(document.body)), dark: document.documentElement.classList.contains('quarto-dark') || document.body.classList.contains('quarto-dark'), pale } })()"""

TOGGLE = "(() => { const t = document.querySelector('.quarto-color-scheme-toggle'); if (!t) return false; t.click(); return true })()"

# Each control of each interactive figure: set it to its other end, tell the figure, and see what is shown change
TWINS = r"""(async () => { const tick = () => new Promise(r => setTimeout(r, 5)), out = [];
for (const f of document.querySelectorAll('figure')) { const cs = [...f.querySelectorAll('input[type=range], select')]; if (!cs.length) continue;
  const img = f.querySelector('img'), shown = () => img.src;
  for (const [i, c] of cs.entries()) { const n = c.type == 'range' ? +c.max + 1 : c.options.length, at = c.type == 'range' ? +c.value : c.selectedIndex, seen = new Set([shown()]);
    const visible = c.offsetWidth > 0 && c.getBoundingClientRect().right <= document.documentElement.clientWidth + 1; let texts = new Set([img.alt]), ok = true;
    for (let k = 0; k < n; k++) { if (c.type == 'range') c.value = k; else c.selectedIndex = k; c.dispatchEvent(new Event('input', {bubbles: true})); await tick();
      try { await img.decode() } catch { ok = false } seen.add(shown()); texts.add(img.alt) }
    if (c.type == 'range') c.value = at; else c.selectedIndex = at; c.dispatchEvent(new Event('input', {bubbles: true}));
    out.push({figure: f.id, control: i, frames: n, seen: seen.size, visible, ok}) } }
return out })()"""

class Report:
    "Counts what holds and prints what does not"
    def __init__(self): self.good = self.bad = 0
    def __call__(self, page, what, faults):
        faults = [str(f) for f in faults]
        if faults: self.bad += 1; print(f'FAIL {page}: {what}:', *[f'\n     {f[:300]}' for f in dict.fromkeys(faults)], flush=True)
        else: self.good += 1
    @property
    def line(self): return f'{self.good} passed, {self.bad} failed'

def trouble(b, host):
    "Console errors and failed requests of the page's own, since it was opened"
    ours = lambda url: not url.startswith('http') or url.startswith(host)
    urls = {e['requestId']: e['request']['url'] for e in b.on('Network.requestWillBeSent')}
    for e in b.on('Runtime.exceptionThrown'): d = e['exceptionDetails']; yield 'exception: ' + d.get('exception', {}).get('description', d['text'])
    for e in b.on('Runtime.consoleAPICalled'):
        if e['type'] in ('error', 'assert'): yield 'console: ' + ' '.join(str(a.get('value', a.get('description'))) for a in e['args'])
    for e in b.on('Log.entryAdded'):
        if (e := e['entry'])['level'] == 'error' and ours(e.get('url', '')): yield f'console: {e["text"]} {e.get("url", "")}'
    for e in b.on('Network.loadingFailed'):
        if ours(u := urls.get(e['requestId'], '')) and not e.get('canceled'): yield f'request: {u} {e["errorText"]}'
    for e in b.on('Network.responseReceived'):
        if ours(e['response']['url']) and e['response']['status'] >= 400: yield f'request: {e["response"]["url"]} {e["response"]["status"]}'

def others(b, host):
    "Hosts that the page asked, other than its own"
    return sorted({urlsplit(u).netloc for e in b.on('Network.requestWillBeSent') if (u := e['request']['url']).startswith('http') and not u.startswith(host)})

def themes(b, name, shots):
    "Both themes, by the page's own toggle; yields (theme, faults)"
    def settled():                                          # a theme's style sheet arrives after the click
        for _ in range(50):
            if (t := b.js(THEME.replace('MIN', '3')))['dark'] == (t['ground'] < .3): break
            time.sleep(.1)
        return t
    first = settled()
    yield ('dark' if first['dark'] else 'light'), pale(first)
    if not b.js(TOGGLE): yield 'other', ['no toggle']; return
    other = settled()
    yield ('dark' if other['dark'] else 'light'), pale(other) + ([] if abs(first['ground'] - other['ground']) > .3 else ['the ground stays'])

def pale(t): return [f'{k}: contrast {v[0]} of {v[1]!r}' for k, v in t['pale'].items()] + (['ground does not fit'] if (t['ground'] < .3) != t['dark'] else [])

def check(b, host, name, report, shots):
    "One page; its links and its ids"
    b.size(1280); b.open(f'{host}{PREFIX}{name}')
    b.js("Promise.race([document.fonts.ready, new Promise(r => setTimeout(r, 2000))]).then(() => 1)")
    b.js("(async () => { for (const i of document.images) { i.loading = 'eager'; try { await i.decode() } catch {} } })()")
    f, bundled = b.js(FACTS), (DOCS/'site_libs/katex').is_dir()
    report(name, 'images', [f'{s}: no alt text' for s, alt, _ in f['images'] if not alt] + [f'{s}: not loaded' for s, _, ok in f['images'] if not ok]
           + [f'{f["drawings"]} drawings without a title']*bool(f['drawings']))
    report(name, 'structure', ([] if f['h1'] == 1 else [f'{f["h1"]} first-level headings']) + [f'id twice: {x}' for x in f['twice']]
           + [f'a control without a name: {x}' for x in f['buttons']] + [f'a heading without a text: {x}' for x in f['mute']])
    numbers = [int(m[1]) for c in f['captions'] if (m := re.match(r'Figure (\d+):', c))]
    report(name, 'numbers of figures', [numbers] if numbers != list(range(1, len(numbers) + 1)) else [])
    left = [x for x in f['left'] if bundled or x not in ('\\(', '\\[')]
    report(name, 'formulas, references and options', [f'left over: {x}' for x in left] + [f'formula: {x}' for x in f['mathErrors']])
    moves = b.js(TWINS, 300)
    if moves: report(name, 'interactive figures', [f'{m["figure"]} control {m["control"]}: {m["seen"]} pictures of {m["frames"]}'
        + ('' if m['visible'] else ', out of sight') + ('' if m['ok'] else ', a frame does not draw')
        for m in moves if m['seen'] < min(m['frames'], 2) or not m['visible'] or not m['ok']])
    for w, where in WIDTHS.items():
        b.size(w, mobile=w < 600)
        over, what = b.js(WIDE)
        report(name, f'width {w}', [f'{over} pixels too wide: {", ".join(what)}'] if over > 1 else [])
        if w < 600 and not shots: continue
        for theme, faults in themes(b, name, shots):
            if w == 1280: report(name, f'{theme} theme', faults)
            if shots: b.screenshot(shots/f'{name.replace("/", "_")[:-5]}-{where}-{theme}.png')
        b.js(TOGGLE)
    report(name, 'console and requests', trouble(b, host))
    return f, others(b, host), len(moves)

def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument('pages', nargs='*'); a.add_argument('--shots', type=Path); a = a.parse_args()
    if a.shots: a.shots.mkdir(parents=True, exist_ok=True)
    pages = sorted(str(p.relative_to(DOCS)) for p in DOCS.rglob('*.html') if 'site_libs' not in p.parts)
    if not pages: sys.exit(f'no pages in {DOCS}: run `make site` first')
    want = a.pages or pages
    host, report, found, away, moves = serve(DOCS), Report(), {}, set(), 0
    with Browser() as b:
        for p in want:
            try:
                found[p], o, m = check(b, host, p, report, a.shots); away |= set(o); moves += m
            except BrowserError as e: report(p, 'the page', [e])
        ids = {p: set(f['ids']) for p, f in found.items()}
        for p, f in found.items():
            faults = []
            for url, href, text in f['links']:
                if not url.startswith(('http:', 'https:')): continue
                u = urlsplit(url)
                if not url.startswith(host): continue
                to = unquote(u.path)
                if not to.startswith(PREFIX): faults.append(f'{href} ({text}): leads out of the site'); continue
                to = to[len(PREFIX):] or 'index.html'
                if to.endswith('/'): to += 'index.html'
                if not (DOCS/to).is_file(): faults.append(f'{href} ({text}): no such page')
                elif u.fragment and to.endswith('.html'):
                    if to not in ids: ids[to] = set(re.findall(r'\bid="([^"]+)"', (DOCS/to).read_text()))
                    if unquote(u.fragment) not in ids[to] | {'', 'top'}: faults.append(f'{href} ({text}): no such anchor')
            report(p, f'{len(f["links"])} links', faults)
        if not a.pages:
            b.size(1280); b.open(f'{host}{PREFIX}index.html')
            report('index.html', 'search', search(b))
    if not a.pages:
        report('site', 'notebooks to download', downloads({n for f in found.values() for n in f['notebook']}))
        report('site', 'llms.txt', texts())
    report('site', 'other hosts asked', [h for h in away if h != 'cdn.jsdelivr.net'])
    print(f'{len(want)} pages, {moves} controls moved; other hosts asked: {", ".join(sorted(away)) or "none"}')
    print(report.line)
    return int(report.bad > 0)

def downloads(offered):
    "Faults of the notebooks that pages offer: each is there, is a notebook, and its first code installs the library"
    there = {f'notebooks/{f.name}' for f in (DOCS/'notebooks').glob('*.ipynb')}
    yield from (f'{n}: on no page' for n in sorted(there - offered))
    if not there: yield 'none'
    for n in sorted(there):
        code = next(c for c in json.loads((DOCS/n).read_text())['cells'] if c['cell_type'] == 'code')
        if '%pip install' not in ''.join(code['source']): yield f'{n}: its first code cell installs nothing'

def texts():
    "Faults of llms.txt and the pages as text: each link leads to a page, no page carries pictures as text"
    links = re.findall(r'\]\(\S*?([\w-]+\.llms\.md)\)', (DOCS/'llms.txt').read_text())
    yield from (f'{l}: no such file' for l in links if not (DOCS/l).is_file())
    for f in DOCS.glob('*.llms.md'):
        if f.name not in links: yield f'{f.name}: not in llms.txt'
        if re.search(r'base64,[\w+/]{200}', f.read_text()): yield f'{f.name}: a picture as text'

def search(b):
    "Faults of the search box: typing a word of the book must bring pages, readable in both themes"
    b.js("document.querySelector('#quarto-search button, #quarto-search [role=button], #quarto-search input')?.click()")
    b.js("(() => { const i = [...document.querySelectorAll('input')].find(i => /search/i.test(i.type + i.placeholder + i.className + i.ariaLabel)); if (!i) return; i.focus() })()")
    b.call('Input.insertText', text='nibble')
    try: b.wait(lambda: b.js("[...document.querySelectorAll('a[href*=\"packing.html\"]')].some(a => a.closest('[class*=search], [class*=aa-], #quarto-search, [role=listbox], dialog'))"), 10, 'results')
    except BrowserError as e: return [e]
    found = THEME.replace('MIN', '4').replace("document.querySelector('main')", "document.querySelector('[class*=search-results], .aa-Panel')")
    faults = pale(b.js(found))
    b.js(TOGGLE); time.sleep(1)
    return faults + pale(b.js(found))

if __name__ == '__main__': sys.exit(main())
