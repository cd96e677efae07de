"""Make connections: to the host that ``rewrite`` names, with TLS for ``tls://``, and explain failures.

The certificate has to name the host that was asked for or the host that ``rewrite`` puts in its place. The
caller trusts both: the controller named the first, and the caller named the second.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pravega_lab.client.connection import in_process
from pravega_lab.client.connection.access import Access
from pravega_lab.errors import BadInputError, TlsError
from pravega_lab.protocol.addresses import is_loopback

PROBE_S_MAX = 3.0
_OTHER_HOST = (62, 64)  # OpenSSL's X509_V_ERR_HOSTNAME_MISMATCH and X509_V_ERR_IP_ADDRESS_MISMATCH
_OUTDATED = (9, 10)
_UNKNOWN_AUTHORITY = (2, 18, 19, 20, 21)
_HTTP2 = ("h2",)


class Endpoint(NamedTuple):
    """Names a host and port, as the controller or the caller wrote them."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Dialer:
    """Makes the connections of one client.

    Args:
        is_secure: Use TLS.
    """

    def __init__(self, access: Access, is_secure: bool) -> None:
        self.access = access
        self.is_secure = is_secure
        self._contexts: dict[tuple[str, ...], ssl.SSLContext] = {}

    def check_secrets(self, endpoint: Endpoint) -> None:
        """Check that credentials and tokens for an endpoint cross no network in clear.

        Raises:
            BadInputError: They would, and the caller did not allow it.
        """
        place = self.reach(endpoint)
        if self.is_secure or self.access.plain_credentials or not self.access.has_credentials:
            return
        if not is_loopback(place.host):
            raise BadInputError(
                f"tcp://{place} is another machine, and the credentials {self.access.source} would cross the "
                "network in clear. Write tls://, leave the credentials out, or allow it by "
                "plain_credentials=True or --plain-credentials"
            )

    def reach(self, endpoint: Endpoint) -> Endpoint:
        """Return the endpoint to connect to in place of this one."""
        return Endpoint(*self.access.reach(*endpoint))

    async def connect(self, factory: Callable[[], asyncio.BaseProtocol], endpoint: Endpoint) -> None:
        """Connect a protocol.

        Raises:
            OSError: The host cannot be reached.
            TlsError: The host can be reached, but not safely. Trying again does not help.
        """
        self.check_secrets(endpoint)
        host, port = self.reach(endpoint)
        store = in_process.find(host, port)
        if store is not None:
            in_process.connect(factory, store)
            return
        loop = asyncio.get_running_loop()
        if not self.is_secure:
            await loop.create_connection(factory, host, port)
            return

        async def as_name(name: str) -> None:
            await loop.create_connection(factory, host, port, ssl=self._context(()), server_hostname=name)

        await self._as_any_name(endpoint, as_name)

    async def probe(self, endpoint: Endpoint) -> tuple[str, dict[str, Any]]:
        """Do a TLS handshake as an HTTP/2 client does, and disconnect.

        Return the name that the certificate matched, and the certificate.

        Raises:
            OSError, TlsError: As `connect`.
        """
        found: dict[str, Any] = {}

        async def as_name(name: str) -> None:
            found.update(await self._shake_hands(endpoint, name))

        async with asyncio.timeout(PROBE_S_MAX):
            return await self._as_any_name(endpoint, as_name), found

    async def is_tls(self, endpoint: Endpoint) -> bool:
        """Return whether the endpoint speaks TLS, with any certificate."""
        host, port = self.reach(endpoint)
        anybody = ssl.create_default_context()
        anybody.check_hostname, anybody.verify_mode = False, ssl.CERT_NONE
        try:
            async with asyncio.timeout(PROBE_S_MAX):
                _, writer = await asyncio.open_connection(host, port, ssl=anybody)
        except (OSError, TimeoutError) as error:
            return isinstance(error, ssl.SSLError) and "ALERT" in str(error.reason)
        writer.transport.abort()
        return True

    async def _shake_hands(self, endpoint: Endpoint, name: str) -> dict[str, Any]:
        host, port = self.reach(endpoint)
        _, writer = await asyncio.open_connection(host, port, ssl=self._context(_HTTP2), server_hostname=name)
        certificate: dict[str, Any] = writer.get_extra_info("peercert") or {}
        writer.transport.abort()
        return certificate

    async def _as_any_name(self, endpoint: Endpoint, attempt: Callable[[str], Any]) -> str:
        names = list(dict.fromkeys([endpoint.host, self.reach(endpoint).host]))
        for name in names:
            try:
                await attempt(name)
            except ssl.SSLCertVerificationError as error:
                if error.verify_code not in _OTHER_HOST or name == names[-1]:
                    raise self._refused(endpoint, names, error) from error
            except ssl.SSLError as error:
                raise self._no_tls(endpoint, error) from error
            else:
                return name
        raise AssertionError(names)

    def _refused(
        self, endpoint: Endpoint, names: Sequence[str], error: ssl.SSLCertVerificationError
    ) -> TlsError:
        where, why = f"the certificate of {endpoint}", error.verify_message
        if error.verify_code in _OTHER_HOST:
            return TlsError(
                f"{where} is not for {' or '.join(names)} ({why}). Connect under a name that it has, with "
                "rewrite={that name: reachable host} where needed, or pass validate_host_name=False"
            )
        if error.verify_code in _OUTDATED:
            return TlsError(f"{where} is out of date ({why}). Renew it, or check this machine's clock")
        if error.verify_code in _UNKNOWN_AUTHORITY:
            signers = self.access.ca_file or "an authority that this system trusts"
            return TlsError(
                f"{where} is not signed by {signers} ({why}). Pass ca_file=, or --ca-file, with the "
                "certificate of the authority that signed it"
            )
        return TlsError(f"{where} is refused: {why}. See ca_file= and validate_host_name=")

    def _no_tls(self, endpoint: Endpoint, error: ssl.SSLError) -> TlsError:
        reason = error.reason or str(error)
        if "ALERT" in reason:
            return TlsError(
                f"{endpoint} broke off the TLS handshake ({reason}). Compare the TLS versions and ciphers "
                "that the cluster allows with those of this machine's OpenSSL"
            )
        return TlsError(
            f"{endpoint} does not speak TLS ({reason}). Write tcp:// instead of tls:// if that is right"
        )

    def _context(self, protocols: tuple[str, ...]) -> ssl.SSLContext:
        context = self._contexts.get(protocols)
        if context is None:
            context = self._contexts[protocols] = ssl.create_default_context()
            if self.access.ca_file:
                context = self._contexts[protocols] = _context_of(Path(self.access.ca_file))
            context.check_hostname = self.access.validate_host_name
            # As Java and gRPC do with the same file: trust any certificate in it, even a server's own, and
            # accept old certificates that lack what newer rules of OpenSSL require.
            context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
            context.verify_flags &= ~ssl.VERIFY_X509_STRICT
            if protocols:
                context.set_alpn_protocols(list(protocols))
        return context


def certificates(ca_file: str) -> bytes:
    """Return the text of all certificates in a file or a folder. Raises `BadInputError`."""
    path = Path(ca_file)
    files = sorted(part for part in path.iterdir() if part.is_file()) if path.is_dir() else [path]
    try:
        found = b"\n".join(part.read_bytes() for part in files)
    except OSError as error:
        raise BadInputError(f"ca_file {ca_file} cannot be read: {error.strerror}") from error
    if b"-----BEGIN CERTIFICATE-----" not in found:
        raise BadInputError(
            f"ca_file {ca_file} has no certificate. It takes PEM: -----BEGIN CERTIFICATE-----"
        )
    return found


def name_in(certificate: dict[str, Any]) -> str | None:
    """Return a host that a certificate, as `ssl.SSLSocket.getpeercert` returns it, names, or None."""
    alternatives = [value for kind, value in certificate.get("subjectAltName", ()) if kind == "DNS"]
    common = [
        value for part in certificate.get("subject", ()) for kind, value in part if kind == "commonName"
    ]
    return next((name.replace("*", "any", 1) for name in (*alternatives, *common)), None)


def _context_of(ca_file: Path) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cadata=certificates(str(ca_file)).decode(errors="replace"))
    except ssl.SSLError as error:
        raise BadInputError(f"ca_file {ca_file} has a malformed certificate: {error.reason}") from error
