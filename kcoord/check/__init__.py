"""How a broker keeps the group protocol, judged rule by rule: `kcoord check HOST:PORT`.

A rule is a sentence, where it comes from, and a script: a conversation with a broker, with `assert` where the broker
has to keep the rule. `rule` tells how they are written, `rules` lists them, `runner` runs them against a broker, and
`report` tells what came of it. Nothing here knows a server: it has an address, or a stream.

Modules of this package are loaded by `asserts`, so that an assertion that fails can tell the values on both sides.
"""

from kcoord.check import asserts

asserts.install()
