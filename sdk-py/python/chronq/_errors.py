"""Every exception of the package, below one base; the native module raises these."""

import json
from datetime import timedelta
from typing import Any, ClassVar

from chronq._contract import ErrorCode, MessageState, SignatureErrorCode, UrlDifference


class ChronqError(Exception):
    """A call or a verification failed. The message is a sentence for people and never holds a secret."""

    _code: ClassVar[str] = ErrorCode.PROTOCOL

    code: str
    """What went wrong, in one word."""
    status: int | None
    """Status of the answer, where there was one."""
    retry_after: timedelta | None
    """How long the server asks to wait."""
    attempts: int
    """Attempts made; 0 where the call was refused before the network."""
    may_have_been_sent: bool
    """Whether the server may have acted on the call although no answer came."""
    reason: str | None
    """The server's finer word."""
    detail: str | None
    """The server's sentence."""

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        status: int | None = None,
        retry_after: timedelta | None = None,
        attempts: int = 0,
        may_have_been_sent: bool = False,
        reason: str | None = None,
        detail: str | None = None,
    ) -> None:
        super().__init__(message)
        self.code = self._code if code is None else code
        self.status = status
        self.retry_after = retry_after
        self.attempts = attempts
        self.may_have_been_sent = may_have_been_sent
        self.reason = reason
        self.detail = detail


class InvalidInput(ChronqError):
    """An option or argument that the contract refuses, before the network or by a 400."""

    _code = ErrorCode.INVALID_INPUT

    option: str | None
    """The option's name."""
    value: str | None
    """The refused value, unless it was secret."""
    index: int | None
    """The entry of a batch, from 0."""

    def __init__(
        self,
        message: str,
        *,
        option: str | None = None,
        value: str | None = None,
        index: int | None = None,
        **context: Any,
    ) -> None:
        super().__init__(message, **context)
        self.option = option
        self.value = value
        self.index = index


class Unauthorized(ChronqError):
    """No token, or one that is not known (401)."""

    _code = ErrorCode.UNAUTHORIZED


class Forbidden(ChronqError):
    """The token's access level is too low (403)."""

    _code = ErrorCode.FORBIDDEN


class NotFound(ChronqError):
    """No such thing (404)."""

    _code = ErrorCode.NOT_FOUND


class Conflict(ChronqError):
    """The thing is in a state that does not allow the call (409)."""

    _code = ErrorCode.CONFLICT

    state: MessageState | None
    """What stands in the way."""

    def __init__(self, message: str, *, state: MessageState | None = None, **context: Any) -> None:
        super().__init__(message, **context)
        self.state = state


class TooLarge(ChronqError):
    """Over a size limit (413)."""

    _code = ErrorCode.PAYLOAD_TOO_LARGE


class Throttled(ChronqError):
    """Asked to slow down (429); see retry_after."""

    _code = ErrorCode.RATE_LIMITED


class Unavailable(ChronqError):
    """The server cannot answer now (5xx); see retry_after."""

    _code = ErrorCode.UNAVAILABLE


class QuotaExceeded(ChronqError):
    """The pending-timer quota is exhausted (403)."""

    _code = ErrorCode.TIMERS_QUOTA_EXCEEDED


class HorizonExceeded(ChronqError):
    """A timer beyond the horizon in force (403)."""

    _code = ErrorCode.TIMER_HORIZON_EXCEEDED


class FeatureGated(ChronqError):
    """Not on the plan (403)."""

    _code = ErrorCode.FEATURE_GATED


class Transport(ChronqError):
    """No answer came: connection, DNS, TLS, timeout; see may_have_been_sent."""

    _code = ErrorCode.TRANSPORT


class Protocol(ChronqError):
    """An answer that the contract does not know."""

    _code = ErrorCode.PROTOCOL


class SignatureError(ChronqError):
    """A delivery that must not be trusted. The message names the cause and the cure."""

    _code = SignatureErrorCode.SIGNATURE_MALFORMED

    claim: str | None
    """The claim at fault, with claim_missing and claim_invalid."""
    seconds: int | None
    """With expired and not_yet_valid: by how many seconds it misses, the tolerance taken off."""
    difference: UrlDifference | None
    """With url_mismatch: how the URL differs from the one that was signed."""

    def __init__(
        self,
        message: str,
        *,
        claim: str | None = None,
        seconds: int | None = None,
        difference: UrlDifference | None = None,
        **context: Any,
    ) -> None:
        super().__init__(message, **context)
        self.claim = claim
        self.seconds = seconds
        self.difference = difference


BY_KIND: dict[str, type[ChronqError]] = {
    kind.__name__: kind
    for kind in (
        InvalidInput,
        Unauthorized,
        Forbidden,
        NotFound,
        Conflict,
        TooLarge,
        Throttled,
        Unavailable,
        QuotaExceeded,
        HorizonExceeded,
        FeatureGated,
        Transport,
        Protocol,
        SignatureError,
    )
}
"""The class of each kind of the core."""


def signature_error(
    message: str, code: str, claim: str | None, seconds: int | None, difference: str | None
) -> SignatureError:
    """Make the exception of a refused verification."""
    return SignatureError(
        message,
        code=SignatureErrorCode(code),
        claim=claim,
        seconds=seconds,
        difference=None if difference is None else UrlDifference(difference),
    )


def from_json(text: str) -> ChronqError:
    """Make the exception of an error as the core writes it."""
    said = json.loads(text)
    kind = BY_KIND[said["kind"]]
    if kind is SignatureError:
        return signature_error(
            said["message"], said["code"], said["claim"], said["seconds"], said["difference"]
        )
    wait = said["retryAfter"]
    context: dict[str, Any] = {
        "code": ErrorCode(said["code"]),
        "status": said["status"],
        "retry_after": None if wait is None else timedelta(seconds=wait),
        "attempts": said["attempts"],
        "may_have_been_sent": said["mayHaveBeenSent"],
        "reason": said["reason"],
        "detail": said["detail"],
    }
    if kind is InvalidInput:
        return InvalidInput(
            said["message"],
            option=said.get("option"),
            value=said.get("value"),
            index=said.get("index"),
            **context,
        )
    if kind is Conflict:
        state = said["state"]
        return Conflict(said["message"], state=None if state is None else MessageState(state), **context)
    return kind(said["message"], **context)
