"""The template that users deploy: read, packaged with real binaries, written for the emulator.

`package` does what `sam package` does. What else differs from a deployment to AWS stands in transformations.py.
"""

import hashlib
import io
import json
import stat
import zipfile
from pathlib import Path

from samtranslator.yaml_helper import yaml_parse

FUNCTION = "AWS::Serverless::Function"


def load(path):
    return yaml_parse(Path(path).read_text())


def functions(template):
    return {name: r for name, r in template["Resources"].items() if r["Type"] == FUNCTION}


def package(template, binaries, upload):
    """Uploads each function's binary as a zip with one `bootstrap`, and points the function at it.

    The binary of the crate in functions/NAME is oncehook-NAME, as `sam build` has it.
    """
    sizes = []
    for function in functions(template).values():
        crate = Path(function["Properties"]["CodeUri"]).name
        archive = bootstrap(binaries / f"oncehook-{crate}")
        sizes.append(f"{crate} {len(archive) >> 20} MB")
        key = f"oncehook/{hashlib.sha256(archive).hexdigest()[:32]}"
        function["Properties"]["CodeUri"] = upload(key, archive)
    return f"{', '.join(sizes)} in S3"


def bootstrap(binary):
    """The same binary gives the same bytes: an unchanged function is not deployed again."""
    file = zipfile.ZipInfo("bootstrap", (1980, 1, 1, 0, 0, 0))
    file.external_attr = (stat.S_IFREG | 0o755) << 16
    file.compress_type = zipfile.ZIP_DEFLATED
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(file, binary.read_bytes(), compresslevel=1)
    return buffer.getvalue()


def render(template):
    return json.dumps(template, indent=1).encode()
