#!/usr/bin/python3
"""Makes a wheel of the package that the build has staged: wheel.py FOLDER VERSION

FOLDER has chainbase/ with the extension; the wheel is made in it, the same bytes for the same content.
"""

import base64
import hashlib
import os
import sys
import sysconfig
import time
import zipfile
from pathlib import Path

FOLDER, VERSION = Path(sys.argv[1]), sys.argv[2]
TAG = (f"cp{sys.version_info.major}{sys.version_info.minor}-" * 2
       + sysconfig.get_platform().replace("-", "_").replace(".", "_"))
INFO = f"chainbase-{VERSION}.dist-info"
METADATA = f"""Metadata-Version: 2.1
Name: chainbase
Version: {VERSION}
Summary: Reads chainbase states: rows by key, columns for NumPy and Arrow, proofs, the change feed
License: MIT
Requires-Python: >=3.9
Provides-Extra: columns
Requires-Dist: numpy (>=1.21) ; extra == 'columns'
Provides-Extra: arrow
Requires-Dist: pyarrow (>=14) ; extra == 'arrow'
Provides-Extra: pandas
Requires-Dist: pandas ; extra == 'pandas'
Requires-Dist: pyarrow (>=14) ; extra == 'pandas'
Provides-Extra: duckdb
Requires-Dist: duckdb ; extra == 'duckdb'
Requires-Dist: pyarrow (>=14) ; extra == 'duckdb'
Description-Content-Type: text/markdown

"""
WHEEL = f"Wheel-Version: 1.0\nGenerator: wheel.py\nRoot-Is-Purelib: false\nTag: {TAG}\n"


def main():
    readme = Path(__file__).with_name("README.md").read_text()
    files = {
        str(one.relative_to(FOLDER)): one.read_bytes()
        for one in sorted((FOLDER / "chainbase").iterdir()) if one.is_file()
    }
    extensions = [name for name in files if name.endswith(sysconfig.get_config_var("EXT_SUFFIX"))]
    if len(extensions) != 1:
        sys.exit(f"wheel: {FOLDER}/chainbase has {len(extensions)} extensions of this Python; build "
                 "chainbase_python_package")
    files[f"{INFO}/METADATA"] = (METADATA + readme).encode()
    files[f"{INFO}/WHEEL"] = WHEEL.encode()
    record = "".join(
        f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b'=').decode()},"
        f"{len(content)}\n" for name, content in files.items()
    )
    files[f"{INFO}/RECORD"] = f"{record}{INFO}/RECORD,,\n".encode()
    moment = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", 315532800)))[:6]
    wheel = FOLDER / f"chainbase-{VERSION}-{TAG}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as to:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, moment)
            entry.external_attr = (0o755 if name in extensions else 0o644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            to.writestr(entry, content)
    print(wheel)


main()
