"""The error of every call."""


class ServalError(Exception):
    """A call that failed. `code` names the kind, such as "InvalidArgument" or "ModelInvalid"; the
    page of errors in Serval's documentation has a paragraph for each."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code

    def __reduce__(self):
        return ServalError, (self.code, str(self))


def invalid(message):
    return ServalError("InvalidArgument", message)
