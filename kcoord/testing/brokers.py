"""The logical brokers of a server, in the hands of a test."""

from kcoord.control.brokers import BrokerView
from kcoord.testing.refusals import is_refusal
from kcoord.testing.runs import AwaitsRun, Runs

__tracebackhide__ = is_refusal


class Brokers:
    """The brokers, by their node ids: see `kcoord.control.brokers.BrokersControl`."""

    def __init__(self, kcoord: Runs) -> None:
        self._kcoord = kcoord

    def list(self) -> tuple[BrokerView, ...]:
        """Return all brokers as they stand."""
        return self._kcoord.run(lambda control: control.brokers.list())

    def get(self, node_id: int) -> BrokerView:
        """Return a broker as it stands. Raises NotFound."""
        return self._kcoord.run(lambda control: control.brokers.get(node_id))

    def stop(self, node_id: int, *, elect: bool = True) -> BrokerView:
        """Stop a broker; without `elect` nobody leads what it led until it is back. Raises NotFound, Impossible."""
        return self._kcoord.run_async(lambda control: control.brokers.stop(node_id, elect=elect))

    def start(self, node_id: int) -> BrokerView:
        """Start a broker again, at its addresses. Raises NotFound, Impossible."""
        return self._kcoord.run_async(lambda control: control.brokers.start(node_id))

    def move(self, group_id: str, to: int | None = None, *, loading: float = 0.0) -> BrokerView:
        """Let another broker coordinate a group; it loads for so many seconds. Raises NotFound, Impossible."""
        return self._kcoord.run_async(lambda control: control.brokers.move(group_id, to, loading=loading))

    def loading(self, group_id: str, seconds: float) -> None:
        """Let a group's coordinator load for so long, on the server's clock. Raises Impossible."""
        self._kcoord.run_async(lambda control: control.brokers.loading(group_id, seconds))

    def reset(self) -> None:
        """Let every broker run, and lead what it led at first. Raises Impossible."""
        self._kcoord.run_async(lambda control: control.brokers.reset())


class AsyncBrokers:
    """The same, to be awaited on asyncio or trio."""

    def __init__(self, kcoord: AwaitsRun) -> None:
        self._kcoord = kcoord

    async def list(self) -> tuple[BrokerView, ...]:
        """Return all brokers as they stand."""
        return await self._kcoord.run(lambda control: control.brokers.list())

    async def get(self, node_id: int) -> BrokerView:
        """Return a broker as it stands. Raises NotFound."""
        return await self._kcoord.run(lambda control: control.brokers.get(node_id))

    async def stop(self, node_id: int, *, elect: bool = True) -> BrokerView:
        """Stop a broker; without `elect` nobody leads what it led until it is back. Raises NotFound, Impossible."""
        return await self._kcoord.run_async(lambda control: control.brokers.stop(node_id, elect=elect))

    async def start(self, node_id: int) -> BrokerView:
        """Start a broker again, at its addresses. Raises NotFound, Impossible."""
        return await self._kcoord.run_async(lambda control: control.brokers.start(node_id))

    async def move(self, group_id: str, to: int | None = None, *, loading: float = 0.0) -> BrokerView:
        """Let another broker coordinate a group; it loads for so many seconds. Raises NotFound, Impossible."""
        return await self._kcoord.run_async(lambda control: control.brokers.move(group_id, to, loading=loading))

    async def loading(self, group_id: str, seconds: float) -> None:
        """Let a group's coordinator load for so long, on the server's clock. Raises Impossible."""
        await self._kcoord.run_async(lambda control: control.brokers.loading(group_id, seconds))

    async def reset(self) -> None:
        """Let every broker run, and lead what it led at first. Raises Impossible."""
        await self._kcoord.run_async(lambda control: control.brokers.reset())
