"""Define how a client gets access to a cluster: TLS, credentials, and rewritten host names.

Every option can be a keyword (`AccessOptions`), in a file, or in the environment, in this order of
preference. Variables have the names of Pravega's own clients where those have one (``ClientConfig`` of Java,
Rust and Python). The others begin with ``PRAVEGA_``. Secrets are never shown: `Credentials` print their
method only, and options for other processes carry paths.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypedDict

from pravega_lab.client.connection.credentials import AUTH_PREFIX, Credentials, credentials_of, unreadable
from pravega_lab.errors import BadInputError

CA_VARIABLE = "pravega_client_tls_cert_path"  # Rust: a file, or a folder of them
FILE_VARIABLE = "PRAVEGA_CREDENTIALS_FILE"
HOST_NAME_VARIABLE = "PRAVEGA_VALIDATE_HOST_NAME"
REWRITE_VARIABLE = "PRAVEGA_REWRITE"
PLAIN_VARIABLE = "PRAVEGA_PLAIN_CREDENTIALS"


class AccessOptions(TypedDict, total=False):
    """Names the keywords of `connect`, ``AsyncClient``, ``Lab`` and ``observe``. All may be left out.

    Attributes:
        ca_file: Certificates (PEM) of the authority that signed those of the cluster: a file or a folder.
            Default: ``pravega_client_tls_cert_path``, else what the system trusts. For ``tls://`` only.
        credentials: Of the user: `Credentials`, or ``(user, password)``.
        credentials_file: A file with credentials; see `Credentials.from_file`. It is read again whenever it
            changes. Default for both: ``PRAVEGA_CREDENTIALS_FILE``, else ``pravega_client_auth_method`` and
            companions.
        validate_host_name: False accepts any host whose certificate the authority signed (as Java's
            ``validateHostName``). Default: ``PRAVEGA_VALIDATE_HOST_NAME``, else True.
        rewrite: Where to connect in place of a host that the controller (or the address) names:
            ``{"host": "host"}``, each maybe with ``:port``. Certificates may name either. Default:
            ``PRAVEGA_REWRITE``, as ``host=host,host:port=host:port``.
        plain_credentials: True sends credentials and tokens over ``tcp://`` to other machines, where whoever
            sees the network can read them. Default: ``PRAVEGA_PLAIN_CREDENTIALS``, else False.
    """

    ca_file: str | Path | None
    credentials: Credentials | tuple[str, str] | None
    credentials_file: str | Path | None
    validate_host_name: bool | None
    rewrite: Mapping[str, str] | None
    plain_credentials: bool | None


@dataclass(frozen=True)
class Access:
    """Holds `AccessOptions` with the environment looked up. Picklable, hashable, and safe to print."""

    ca_file: str | None = None
    credentials: Credentials | None = None
    credentials_file: str | None = None
    validate_host_name: bool = True
    rewrite: tuple[tuple[str, str], ...] = ()
    plain_credentials: bool = False
    is_own: bool = False  # the credentials are those of a store that this user started: others find them too
    _read: dict[int, Credentials] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, options: Mapping[str, Any], environ: Mapping[str, str] | None = None) -> Access:
        """Check `AccessOptions` and add what the environment says.

        Raises:
            BadInputError: An unknown keyword, a file that cannot be read, a malformed rewrite.
        """
        environ = os.environ if environ is None else environ
        unknown = sorted(set(options) - set(AccessOptions.__annotations__))
        if unknown:
            known = ", ".join(AccessOptions.__annotations__)
            raise BadInputError(
                f"there is no option {unknown[0]!r}; to get into a cluster there are: {known}"
            )
        credentials = credentials_of(options.get("credentials"))
        file = None if credentials else options.get("credentials_file") or environ.get(FILE_VARIABLE)
        if credentials is None and file is None:
            credentials = Credentials.from_environment(environ)
        ca_file = options.get("ca_file") or environ.get(CA_VARIABLE)
        if ca_file and not Path(ca_file).exists():
            raise BadInputError(
                f"ca_file: there is no file or folder {ca_file}. Name the CA's certificate, PEM"
            )
        rewrite = options.get("rewrite")
        access = cls(
            ca_file=os.path.abspath(ca_file) if ca_file else None,
            credentials=credentials,
            credentials_file=os.path.abspath(file) if file else None,
            validate_host_name=_switch(options.get("validate_host_name"), environ, HOST_NAME_VARIABLE, True),
            rewrite=_rewrites(
                rewrites_from(environ.get(REWRITE_VARIABLE, "")) if rewrite is None else rewrite
            ),
            plain_credentials=_switch(options.get("plain_credentials"), environ, PLAIN_VARIABLE, False),
        )
        access.authorization()
        return access

    def authorization(self) -> str | None:
        """Return the value of gRPC's ``authorization``, from the file as it is now, or None. It is secret."""
        found = self.credentials if self.credentials_file is None else self._from_file(self.credentials_file)
        return None if found is None else found.header

    @property
    def has_credentials(self) -> bool:
        """Return whether there are credentials."""
        return self.credentials is not None or self.credentials_file is not None

    @property
    def source(self) -> str:
        """Return where the credentials come from, for messages."""
        return f"in {self.credentials_file}" if self.credentials_file else "given"

    def reach(self, host: str, port: int) -> tuple[str, int]:
        """Return where to connect for a host: the host itself, unless ``rewrite`` says otherwise."""
        rules = dict(self.rewrite)
        target = rules.get(f"{host}:{port}", rules.get(host))
        return (host, port) if target is None else _host_port(target, port)

    def to_options(self) -> dict[str, str]:
        """Return options of Spark's ``format("pravega")``, without defaults, with paths instead of secrets.

        Credentials that came as an argument or from the environment are left out.
        """
        options = {
            "ca_file": self.ca_file or "",
            "credentials_file": "" if self.is_own else self.credentials_file or "",
            "validate_host_name": "" if self.validate_host_name else "false",
            "rewrite": ",".join(f"{host}={target}" for host, target in self.rewrite),
            "plain_credentials": "true" if self.plain_credentials else "",
        }
        return {name: value for name, value in options.items() if value}

    def to_environment(self) -> dict[str, str]:
        """Return variables for a child process, credentials included. They are secret."""
        variables = {
            CA_VARIABLE: self.ca_file,
            FILE_VARIABLE: self.credentials_file,
            HOST_NAME_VARIABLE: None if self.validate_host_name else "false",
            REWRITE_VARIABLE: self.to_options().get("rewrite"),
            PLAIN_VARIABLE: "true" if self.plain_credentials else None,
        }
        if self.credentials is not None:
            variables[AUTH_PREFIX + "method"] = self.credentials.method
            variables[AUTH_PREFIX + "token"] = self.credentials.token
        return {name: value for name, value in variables.items() if value}

    def _from_file(self, path: str) -> Credentials | None:
        try:
            changed_ns = Path(path).stat().st_mtime_ns
        except OSError as error:
            if self.is_own:  # the store was closed: the call finds that by itself, and knows what is in doubt
                return next(iter(self._read.values()), None)
            raise unreadable(path, error) from None
        if changed_ns not in self._read:
            found = Credentials.from_file(path)
            self._read.clear()
            self._read[changed_ns] = found
        return self._read[changed_ns]


def safe_to_print(options: AccessOptions) -> AccessOptions:
    """Return the options with a ``(user, password)`` replaced by `Credentials`. Raises `BadInputError`."""
    if "credentials" not in options:
        return options
    return {**options, "credentials": credentials_of(options["credentials"])}


def add_access_arguments(parser: ArgumentParser) -> None:
    """Add the flags of every command that takes the address of a cluster. `access_from` reads them."""
    group = parser.add_argument_group("getting into a cluster")
    group.add_argument("--ca-file", metavar="PEM", help="certificate of the cluster's authority, for tls://")
    group.add_argument(
        "--credentials-file",
        metavar="FILE",
        help="lines username=… and password=…, or method=Bearer and token=…; else the environment's "
        "pravega_client_auth_method and companions",
    )
    group.add_argument(
        "--rewrite",
        metavar="HOST=HOST",
        action="append",
        default=[],
        help="connect to the second where the controller names the first (each maybe with :port); repeatable",
    )
    group.add_argument(
        "--no-host-name-check",
        action="store_true",
        help="take any host whose certificate the authority signed",
    )
    group.add_argument(
        "--plain-credentials",
        action="store_true",
        help="send credentials over tcp:// to other machines, where the network can read them",
    )


def access_from(args: Namespace) -> AccessOptions:
    """Return the keywords for the flags of `add_access_arguments`: ``connect(uri, **access_from(args))``.

    Raises:
        BadInputError: A rewrite that is no ``HOST=HOST``.
    """
    found: AccessOptions = {}
    if args.ca_file:
        found["ca_file"] = args.ca_file
    if args.credentials_file:
        found["credentials_file"] = args.credentials_file
    if args.rewrite:
        found["rewrite"] = rewrites_from(",".join(args.rewrite))
    if args.no_host_name_check:
        found["validate_host_name"] = False
    if args.plain_credentials:
        found["plain_credentials"] = True
    return found


def rewrites_from(text: str) -> dict[str, str]:
    """Return ``host=host,host:port=host:port`` as a mapping. Raises `BadInputError`."""
    rules = {}
    for rule in (part.strip() for part in text.split(",") if part.strip()):
        host, equals, target = (part.strip() for part in rule.partition("="))
        if not (host and equals and target):
            raise BadInputError(
                f"rewrite {rule!r} is not HOST=HOST. Write advertised=reachable, each maybe with :port"
            )
        rules[host] = target
    return rules


def _rewrites(rules: Any) -> tuple[tuple[str, str], ...]:
    if not isinstance(rules, Mapping):
        raise BadInputError(
            f"rewrite={rules!r}: give a mapping, as in rewrite={{'advertised-host': 'reachable-host'}}"
        )
    for host, target in rules.items():
        for place in (host, target):
            if not isinstance(place, str) or not place or "/" in place:
                raise BadInputError(
                    f"rewrite: {place!r} is no host; write a name or an address, maybe with :port"
                )
            _host_port(place, 0)
    return tuple(sorted(rules.items()))


def _host_port(place: str, port: int) -> tuple[str, int]:
    host, colon, digits = place.rpartition(":")
    if not colon or (":" in host and not host.endswith("]")):  # no port, or a bare IPv6 address
        return place.strip("[]"), port
    if not digits.isdigit() or not 0 < int(digits) < 65536:
        raise BadInputError(f"rewrite: {place!r} has no port between 1 and 65535 after its colon")
    return host.strip("[]"), int(digits)


def _switch(given: bool | None, environ: Mapping[str, str], variable: str, default: bool) -> bool:
    if given is not None:
        return bool(given)
    text = environ.get(variable, str(default)).lower()
    if text not in ("true", "false"):
        raise BadInputError(f"{variable} is {text!r}; it is true or false")
    return text == "true"
