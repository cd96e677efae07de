"""``Thread``, ``Event`` and ``Condition`` of `threading`; in a browser, tasks that take turns.

A browser has no threads. What a thread runs there is a step of the page's event loop. It is suspended while
it waits: for an `Event` or a `Condition` of this module, in ``time.sleep``, and for a coroutine in
`run_here`. Nothing else interrupts it. The browser has to be able to suspend WebAssembly (JSPI), as Chromium
does since version 137.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .alone import IS_BROWSER
from .page_threads import run_here

if TYPE_CHECKING or not IS_BROWSER:
    from threading import Condition, Event, Thread
else:
    from .page_threads import Condition, Event, Thread

__all__ = ["Condition", "Event", "Thread", "run_here"]
