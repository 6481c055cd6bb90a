"""The control of a running server over HTTP: the application, its server, and clients of it.

`kcoord.web.app` needs Starlette and `kcoord.web.http` needs h11, which come with the extra `kcoord[web]`; what asks
such a server (`client`, `remote`, `commands`) needs neither.
"""
