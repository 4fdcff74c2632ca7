"""Why the demo cannot go on. The text names the value, the limit and what helps."""


class Refusal(Exception):
    pass
