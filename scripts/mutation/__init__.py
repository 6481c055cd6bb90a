"""Mutation testing of kcoord/core, for scripts/mutate.py.

making     the mutants of a module, found in its syntax tree
applying   a mutant put in the place of the code that is loaded
selecting  which tests run which line, found once
judging    each mutant before the tests that run its line, in a process of its own
cold       the same for what a module does when it is imported, in a fresh interpreter
listed     the mutants that no test catches, with the reason of each

mutmut, the tool that is best kept, leaves out properties, constants of modules and removed statements, and knows only
which tests call a function, not which run a line: a survivor would cost most of the suite. cosmic-ray starts pytest
anew for each mutant.
"""
