"""A headless Chromium driven over its DevTools protocol: enough of it for the checks of the site and of JupyterLab."""
import base64, json, os, shutil, subprocess, tempfile, time
from pathlib import Path
from websocket import WebSocketTimeoutException, create_connection

NAMES = ('chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome',
         '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome', '/Applications/Chromium.app/Contents/MacOS/Chromium')

def find():
    "The browser's program: $CHROMIUM, or the first of the usual names that is there"
    for n in (os.environ.get('CHROMIUM'), *NAMES):
        if n and (p := shutil.which(n)): return p
    raise SystemExit('no Chromium or Chrome found: install one (Debian: apt-get install chromium) or name it in $CHROMIUM')

class BrowserError(Exception):
    "What the page or the browser answered with"

class Browser:
    """One page in a Chromium that reaches this machine alone: every other host's name stays unresolved.
    `events` holds what the page told since `clear`; `on(method)` lists the parameters of one kind."""
    def __init__(self):
        self.dir, self.n, self.events = tempfile.TemporaryDirectory(ignore_cleanup_errors=True), 0, []
        flags = ('--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --no-proxy-server '
                 '--disable-component-update --disable-sync --disable-extensions --disable-dev-shm-usage --hide-scrollbars --mute-audio '
                 '--remote-debugging-port=0 --remote-allow-origins=*').split()
        rule = '--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE localhost'
        self.p = subprocess.Popen([find(), *flags, rule, f'--user-data-dir={self.dir.name}', 'about:blank'],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        port, end = Path(self.dir.name)/'DevToolsActivePort', time.monotonic() + 60
        while not (port.exists() and len(at := port.read_text().split()) == 2):
            if self.p.poll() is not None or time.monotonic() > end: raise BrowserError(f'{find()} did not start')
            time.sleep(.1)
        self.ws = create_connection(f'ws://127.0.0.1:{at[0]}{at[1]}', suppress_origin=True)
        self.session = None
        page = next(t for t in self.call('Target.getTargets')['targetInfos'] if t['type'] == 'page')
        self.session = self.call('Target.attachToTarget', targetId=page['targetId'], flatten=True)['sessionId']
        for d in ('Page', 'Runtime', 'Log', 'Network'): self.call(f'{d}.enable')

    def __enter__(self): return self
    def __exit__(self, *_): self.close()
    def close(self):
        "End the browser and remove its folder"
        try: self.session = None; self.call('Browser.close')
        except Exception: pass
        try: self.p.wait(10)
        except subprocess.TimeoutExpired: self.p.kill(); self.p.wait()
        self.dir.cleanup()

    def _read(self, timeout):
        "The next message, or None; events are kept"
        self.ws.settimeout(max(timeout, .01))
        try: m = json.loads(self.ws.recv())
        except WebSocketTimeoutException: return
        if 'method' in m: self.events.append(m)
        return m

    def call(self, method, timeout=60, **params):
        "The result of a protocol command"
        self.n += 1; n, end = self.n, time.monotonic() + timeout
        self.ws.send(json.dumps(dict(id=n, method=method, params=params) | (dict(sessionId=self.session) if self.session else {})))
        while (left := end - time.monotonic()) > 0:
            m = self._read(left)
            if m and m.get('id') == n:
                if 'error' in m: raise BrowserError(f'{method}: {m["error"]}')
                return m['result']
        raise BrowserError(f'{method}: no answer in {timeout} s')

    def js(self, code, timeout=60):
        "The value of a JavaScript expression in the page; promises are awaited"
        r = self.call('Runtime.evaluate', timeout, expression=code, returnByValue=True, awaitPromise=True)
        if x := r.get('exceptionDetails'): raise BrowserError(x.get('exception', {}).get('description', x['text']))
        return r['result'].get('value')

    def clear(self): self.events = []
    def on(self, method): return [e['params'] for e in self.events if e['method'] == method]

    def wait(self, done, timeout=60, what='the page'):
        "Read events until `done()`"
        end = time.monotonic() + timeout
        while not (r := done()):
            if time.monotonic() > end: raise BrowserError(f'waited {timeout} s for {what}')
            self._read(.1)
        return r

    def open(self, url, timeout=60):
        "Load a page, from an empty list of events"
        for last in (False, True):                          # a browser that has just started may lose the first
            self.clear(); self.call('Page.navigate', url=url)
            try: return self.wait(lambda: self.on('Page.loadEventFired'), timeout, url)
            except BrowserError:
                if last: raise

    def size(self, width, height=900, mobile=False):
        self.call('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1, mobile=mobile)

    def screenshot(self, file, full=True, limit=6000):
        "A PNG of the window; or of the whole page, in pieces of at most `limit` pixels: NAME.png, NAME-2.png, ..."
        def shoot(to, **clip): Path(to).write_bytes(base64.b64decode(self.call('Page.captureScreenshot', 300, format='png', **clip)['data']))
        if not full: return shoot(file)
        s, file = self.call('Page.getLayoutMetrics')['cssContentSize'], Path(file)
        for i, y in enumerate(range(0, int(s['height']), limit)):
            clip = dict(x=0, y=y, width=s['width'], height=min(s['height'] - y, limit), scale=1)
            shoot(file if not i else file.with_name(f'{file.stem}-{i + 1}.png'), clip=clip, captureBeyondViewport=True)
