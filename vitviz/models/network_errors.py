"""Describe failures of a download in one sentence: certificate, DNS, rate limit, timeout, sign-in page."""

import re

_CERTIFICATE = re.compile(r"certificate|CERTIFICATE_VERIFY_FAILED|SSLError|\bTLS\b|\[SSL", re.IGNORECASE)
_DNS = re.compile(
    r"name or service not known|name resolution|getaddrinfo failed|nodename nor servname|failed to resolve"
    r"|no address associated",
    re.IGNORECASE,
)
_TIMEOUT = re.compile(r"timed out|timeout", re.IGNORECASE)
_RATE_LIMIT = re.compile(r"\b(?:error |: )429\b|too many requests", re.IGNORECASE)
_DISK = re.compile(r"no space left|disk quota exceeded", re.IGNORECASE)


def describe_failure(host: str, text: str) -> str:
    """Return why a host could not deliver a file, from an error's text, without a full stop.

    Args:
        host: name of the host, or of another source such as 'the package index'.
        text: texts of all errors that were raised or printed.
    """
    if _RATE_LIMIT.search(text):
        return describe_rate_limit(host, None)
    if _CERTIFICATE.search(text):
        return (
            f"the TLS certificate of {host} could not be verified: a proxy may replace it, or the clock of this"
            " machine is wrong"
        )
    if _DNS.search(text):
        return f"the name of {host} could not be resolved (DNS): check the network connection"
    if _TIMEOUT.search(text):
        return f"{host} did not answer in time"
    return f"{host} cannot be reached"


def describe_rate_limit(host: str, retry_after: str | None) -> str:
    """Return that a host limits requests and when to try again, from its header Retry-After."""
    if retry_after and retry_after.isdecimal():
        when = f"in {int(retry_after):,} s"
    elif retry_after:
        when = f"after {retry_after}"
    else:
        when = "in a few minutes"
    return f"{host} limits the rate of requests (429): try again {when}"


def describe_sign_in_page(host: str) -> str:
    return (
        f"{host} answered with a web page instead of the file: the network may require a sign-in; open any website in"
        " a browser of that machine first"
    )


def is_web_page(content_type: str, start: bytes) -> bool:
    """Return True if an answer is HTML by its header or its first bytes; no weights file begins like that."""
    return content_type.partition(";")[0].strip().lower() == "text/html" or start.lstrip()[:1] == b"<"


def is_full_disk(text: str) -> bool:
    return _DISK.search(text) is not None
