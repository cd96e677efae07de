"""The secret files of a store: passwords, the private key of its certificate, and the key of its tokens."""

from __future__ import annotations

import logging
import os
import ssl
import stat
from pathlib import Path

from pravega_lab.errors import BadInputError

from ...store.log_fields import log_fields
from ...store.security.passwords import User, parse_password_file

log = logging.getLogger(__name__)

KEY_BYTES = 64
TOKEN_KEY = "token-key"
SECURITY_FOLDER = "security"


def read_secret(path: Path, what: str) -> bytes:
    """Return the content of a file that only its owner may read.

    Raises:
        BadInputError: It cannot be read, or others may read or write it.
    """
    try:
        with open(path, "rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            if mode & 0o077 and stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise BadInputError(
                    f"{what} {path}: others than its owner may use it (mode {mode:04o})."
                    f" Run: chmod 600 {path}"
                )
            return file.read()
    except OSError as error:
        raise BadInputError(
            f"{what} {path} cannot be read: {error.strerror}. Name a file that this user may read"
        ) from error


def read_users(path: Path) -> dict[str, User]:
    """Return the users of a password file, and log what looks like a mistake. Raises BadInputError."""
    content = read_secret(path, "--password-file")

    def warn(what: str) -> None:
        fields = log_fields("odd_password_line", file=path)
        log.warning("--password-file %s: %s", path, what, extra=fields)

    try:
        return parse_password_file(content.decode("utf-8-sig"), warn)
    except UnicodeDecodeError:
        raise BadInputError(
            f"--password-file {path} is no text in UTF-8. Name the file that 'pravega-lab password' wrote"
        ) from None
    except BadInputError as error:
        raise BadInputError(f"--password-file {path}: {error}") from None


def token_key(data: Path | None) -> bytes:
    """Return the key that signs the tokens of a store. A store with a folder keeps its key there.

    Tokens that were issued before a restart therefore stay good. Delete the file to make them worthless.
    """
    if data is None:
        return os.urandom(KEY_BYTES)
    path = data / SECURITY_FOLDER / TOKEN_KEY
    try:
        _make_key(path)
    except OSError as error:
        raise BadInputError(
            f"the key of delegation tokens cannot be made in {path.parent}: {error.strerror}. Look at owner"
            " and mode of that folder, and at the disk"
        ) from error
    key = read_secret(path, "the key of delegation tokens")
    if len(key) != KEY_BYTES:
        raise BadInputError(
            f"{path} has {len(key)} bytes and not {KEY_BYTES}: delete it, and a new one is made"
        )
    return key


def _make_key(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.exists():
        return
    temporary = path.with_suffix(".tmp")
    temporary.unlink(missing_ok=True)
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with open(handle, "wb") as file:
        file.write(os.urandom(KEY_BYTES))
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


class Certificate:
    """A certificate with its private key, as the two servers want it.

    Args:
        certificate: A file (PEM) with the certificate, and with those of the authorities between it and the
            one that clients trust.
        key: A file (PEM) with the private key, not encrypted.

    Raises:
        BadInputError: A file cannot be read, is malformed, or the two do not belong together.
    """

    def __init__(self, certificate: Path, key: Path) -> None:
        self.key = read_secret(key, "--tls-key")
        self.context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            self.chain = certificate.read_bytes()
            self.context.load_cert_chain(certificate, key, password=_no_password)
        except ssl.SSLError as error:
            raise BadInputError(
                f"--tls-cert {certificate} and --tls-key {key} are no certificate with its key:"
                f" {error.reason or error}. Both are PEM, and the key is not encrypted"
            ) from error
        except OSError as error:
            raise BadInputError(
                f"--tls-cert {certificate} cannot be read: {error.strerror}. Name a file that this user may"
                " read"
            ) from error

    def __repr__(self) -> str:
        return "Certificate(…)"


def _no_password() -> str:
    """Keep OpenSSL from asking for a password on the terminal."""
    return ""
