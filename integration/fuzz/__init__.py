"""Two brokers are asked the same, by several members of a group at random, and must answer alike.

`operations` says what is done, as data; `strategies` draws it; `requests` makes requests of it, out of what `actors`
have learned; `side` is one broker, and `masking` takes out of its answers what no two brokers share; `playing` plays
a sequence against two of them, step by step; `known` are the differences that are meant; `schedule` keeps requests
away from moments at which a timer may fire; `campaign` plays many sequences side by side and confirms what differs;
`shrinking` makes a sequence that shows a difference small; `tally` counts what was reached; `brokers` starts both;
`swapped` is one that a run must find fault with.
"""
