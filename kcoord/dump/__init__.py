"""Reading frames: what clients and brokers say to each other, field by field; recorded, played again and compared.

| module | |
|---|---|
| `frames` | what a frame is here, and how a stream of bytes is cut into frames |
| `names`, `api_names` | which API is meant, and what APIs are called |
| `explain`, `inside` | from a frame to rows: field, offset, value; and what rides inside bytes |
| `show` | rows as text for people, or as JSON for machines |
| `sources`, `pcap`, `tcp`, `session` | where frames come from: hex text, raw bytes, captures, sessions |
| `rewriting` | addresses in answers, changed to that of the proxy |
| `plain`, `learning`, `fields`, `compare` | answers as plain values, what differs for good reason, and what else does |
| `proxy`, `taps`, `replay` | the parts that wait: on trio |
| `commands` | the command line |

Nothing here trusts what it reads: a size is a claim, a capture may be garbage, a broker may hang.
"""
