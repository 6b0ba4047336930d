"""A browser that is told what to do: Chromium without a window, through chromedriver (W3C
WebDriver)."""

import base64
import json
import re
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

KEYS = {"tab": "\ue004", "enter": "\ue007", "left": "\ue012", "right": "\ue014",
        "end": "\ue010", "home": "\ue011"}


class Browser:
    """One browser with one window. To be used with `with`. `keep`: where a picture of the window is
    left if that fails."""

    def __init__(self, width=1280, height=800, keep=None):
        self._keep = keep
        self._profile = tempfile.mkdtemp(prefix="chainbase-browser-")
        self._driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        try:
            self._address = f"http://127.0.0.1:{self._port()}/session"
            options = {"args": ["--headless=new", "--no-sandbox", "--disable-gpu",
                                "--disable-dev-shm-usage", "--hide-scrollbars",
                                f"--user-data-dir={self._profile}"]}
            wanted = {"browserName": "chrome", "goog:chromeOptions": options,
                      "goog:loggingPrefs": {"browser": "ALL"}}
            made = self._send("POST", "", {"capabilities": {"alwaysMatch": wanted}})
            self._address += "/" + made["sessionId"]
            self.resize(width, height)
        except BaseException:
            self._end()
            raise

    def __enter__(self):
        return self

    def __exit__(self, failure, *_):
        try:
            if failure and self._keep:
                self.screenshot(self._keep)
                print(f"the page as it was: {self._keep}")
            self._send("DELETE", "")
        finally:
            self._end()

    def _end(self):
        self._driver.terminate()
        self._driver.wait()
        shutil.rmtree(self._profile, ignore_errors=True)

    def _port(self):
        for line in self._driver.stdout:
            found = re.search(r"started successfully on port (\d+)", line)
            if found:
                return int(found.group(1))
        raise RuntimeError("chromedriver did not start")

    def _send(self, method, path, body=None):
        data = None if method != "POST" else json.dumps(body or {}).encode()
        request = urllib.request.Request(self._address + path, data=data, method=method,
                                         headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as refused:
            raise RuntimeError(f"{method} {path}: {refused.read().decode()[:2000]}") from None

    def resize(self, width, height):
        """The inner size of the window."""
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=height,
                     deviceScaleFactor=1, mobile=False)

    def command(self, name, **parameters):
        """One of the DevTools protocol."""
        return self._send("POST", "/goog/cdp/execute", {"cmd": name, "params": parameters})

    def scheme(self, name):
        """`dark` or `light`, as the user would prefer it."""
        self.command("Emulation.setEmulatedMedia",
                     features=[{"name": "prefers-color-scheme", "value": name}])

    def open(self, url):
        self._send("POST", "/url", {"url": url})

    def run(self, script, *arguments):
        """What the body of a function returns in the page."""
        return self._send("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def settle(self):
        """Waits until what was changed is drawn."""
        self._send("POST", "/execute/async", {"script": "const done = arguments[0];"
                   "requestAnimationFrame(() => requestAnimationFrame(() => done()))", "args": []})

    def press(self, *names):
        """Keys by name, or letters, one after the other, wherever the focus is."""
        actions = []
        for name in names:
            key = KEYS.get(name, name)
            actions += [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        self._send("POST", "/actions", {"actions": [{"type": "key", "id": "keys",
                                                     "actions": actions}]})

    def log(self):
        """What the page has written to its console since the last call."""
        return self._send("POST", "/se/log", {"type": "browser"})

    def screenshot(self, file=None):
        """The window as PNG."""
        image = base64.b64decode(self._send("GET", "/screenshot"))
        if file:
            with open(file, "wb") as out:
                out.write(image)
        return image

    def until(self, script, what, seconds=30):
        """Waits until the script returns something that is true, and returns that."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = self.run(script)
            if found:
                return found
            time.sleep(0.1)
        raise AssertionError(f"not within {seconds} s: {what}")
