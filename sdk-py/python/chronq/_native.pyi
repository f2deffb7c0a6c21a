from collections.abc import Awaitable, Iterable, Mapping
from typing import Any, Final, final

from chronq._contract import Dialect, KeyMatch

__all__ = ["Claims", "Client", "Receiver", "__version__"]

__version__: Final[str]

@final
class Client:
    def __new__(cls, options: str) -> Client: ...
    @property
    def url(self) -> str: ...
    def call(self, name: str, options: str) -> tuple[bool, str]: ...
    def call_async(self, name: str, options: str) -> Awaitable[tuple[bool, str]]: ...

@final
class Claims:
    __match_args__: Final = ("iss", "sub", "exp", "nbf", "iat", "jti", "body", "key")
    @property
    def iss(self) -> str | None: ...
    @property
    def sub(self) -> str | None: ...
    @property
    def exp(self) -> int: ...
    @property
    def nbf(self) -> int: ...
    @property
    def iat(self) -> int | None: ...
    @property
    def jti(self) -> str | None: ...
    @property
    def body(self) -> str | None: ...
    @property
    def key(self) -> KeyMatch: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Receiver:
    def __new__(
        cls,
        current_signing_key: str | None = None,
        next_signing_key: str | None = None,
        *,
        dialect: Dialect | str | None = None,
        clock_tolerance: int | None = None,
    ) -> Receiver: ...
    def verify(
        self,
        *,
        signature: str | bytes | list[str] | list[bytes] | None,
        body: str | bytes | bytearray | memoryview,
        url: str | None = None,
        clock_tolerance: int | None = None,
        now: int | None = None,
    ) -> Claims: ...
    def verify_headers(
        self,
        headers: Mapping[str, Any] | Iterable[tuple[str, str]] | Iterable[tuple[bytes, bytes]],
        body: str | bytes | bytearray | memoryview,
        url: str | None = None,
        *,
        clock_tolerance: int | None = None,
        now: int | None = None,
    ) -> Claims: ...
    @property
    def dialect(self) -> Dialect: ...
    @property
    def clock_tolerance(self) -> int: ...
