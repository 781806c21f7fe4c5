"""The errors a user can meet, each a sentence that names the offending value and the fix."""


class DiptychError(Exception):
    """Base of every error raised on purpose; the command line prints it without a traceback."""


class DataError(DiptychError):
    """Something is wrong with a file or a value that came from outside."""


class ConfigError(DiptychError):
    """An option, parameter or name is unknown or out of range."""


class NotFittedError(DiptychError):
    """A method was asked to embed or to be saved before it was fitted."""


class BackendUnavailableError(DiptychError):
    """A database or another process that is needed does not answer now; the same request may succeed later.

    Its message names no address. A server answers 503 with `Retry-After`.

    Attributes:
        details: the same for the operator, with the address; None where the message says it all.
    """

    def __init__(self, message: str, details: str | None = None) -> None:
        super().__init__(message)
        self.details = details


class TimeLimitError(DiptychError):
    """A query took longer than the operator allows and was cancelled in the engine."""


class FitError(DiptychError):
    """A method cannot be fitted on this data, or its fit broke down."""
