"""Every session key that is not a widget's own, declared once; widget keys are `page.control`."""

KEPT = "_kept"  # dict: control key -> its last value; survives pages that do not draw the control
INCOMING = (
    "_incoming"  # dict: query parameters of this run that the address changed, until a control takes them
)
OUTGOING = "_outgoing"  # dict: query parameters that this run's nouns and controls stand for
WRITTEN = "_written"  # dict: the query parameters that this session wrote last
SUPERSEDED = "_superseded"  # list of (time, dict): what WRITTEN was before, for a moment
LIMITS = "_limits"  # dict: control key -> the options or limits that it was last drawn with
DEFAULTS = (
    "_defaults"  # dict: control key -> the default that it was last drawn with, where it follows a default
)
NOUNS = "_nouns"  # nouns.Nouns: what is chosen in this run
NOTICE = "_notice"  # str: one sentence about the picture, shown once
WANTED = "_wanted"  # dict: what a page asks of nouns and controls that this run has drawn already
